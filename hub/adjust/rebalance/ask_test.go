package rebalance

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// after returns the time this many seconds after noon, when the WorkloadRebalancer was created.
func after(seconds float64) *metav1.Time {
	return &metav1.Time{Time: noon.Add(time.Duration(seconds * float64(time.Second)))}
}

func TestAt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		asked, decided *metav1.Time
		now            float64
		want           *metav1.Time
		answered       bool
	}{
		"what was decided before is asked for as of the creation":           {nil, after(-60), 5, after(0), false},
		"what was never decided is too":                                     {nil, nil, 5, after(0), false},
		"what others asked for before is asked for again":                   {after(-9), after(-8), 5, after(0), false},
		"what was asked for already is not asked for again":                 {after(0), after(-60), 5, nil, false},
		"nor what was decided upon that":                                    {after(0), after(2), 5, nil, false},
		"what was asked for and decided in the second of the creation":      {after(0), after(0), 0.5, after(1), false},
		"nor what others asked for since":                                   {after(3), after(-60), 5, nil, false},
		"what was decided since would not hear that":                        {nil, after(3), 5, after(5), false},
		"what was decided in the same second neither":                       {nil, after(0), 0.5, after(1), false},
		"a fraction of a second, which the API does not keep, is cut":       {nil, after(3), 5.7, after(5), false},
		"what was decided by a clock that is ahead is asked for after that": {nil, after(30), 5, after(31), false},
		"a wish of a time yet to come that was done before":                 {after(3600), after(-60), 5, after(0), true},
		"a wish of a time yet to come that was done, whenever that was":     {after(3600), after(3), 5, after(5), true},
		"a wish of a time yet to come that nobody has looked at":            {after(3600), after(-60), 5, nil, false},
		"its own wish by a clock that is ahead, which was done":             {after(0), after(-60), -50, nil, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := &workv1alpha2.ResourceBinding{}
			b.Spec.RescheduleTriggeredAt, b.Status.LastScheduledTime = tt.asked, tt.decided
			if tt.answered {
				b.Annotations = map[string]string{contract.RescheduleAnsweredAnnotation: tt.asked.UTC().Format(time.RFC3339)}
			}
			got := askAt(b, noon, after(tt.now).Time)
			g.Expect(got).To(BeComparableTo(tt.want))
			if got == nil {
				return
			}
			g.Expect(tt.decided == nil || tt.decided.Before(got)).To(BeTrue(), "the scheduler hears it")
			b.Spec.RescheduleTriggeredAt = got
			g.Expect(askAt(b, noon, after(tt.now).Time)).To(BeNil(), "once is enough")
		})
	}
}

func TestIsPlaced(t *testing.T) {
	t.Parallel()
	web := appsv1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	tests := map[string]struct {
		change func(*workv1alpha2.ResourceBinding)
		want   bool
	}{
		"one that a policy places":        {func(*workv1alpha2.ResourceBinding) {}, true},
		"one of another version":          {func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.APIVersion = "apps/v2" }, true},
		"one of another group":            {func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.APIVersion = "farm/v1" }, false},
		"one of another name":             {func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.Name = "Web" }, false},
		"one that only follows":           {func(b *workv1alpha2.ResourceBinding) { b.Spec.Placement = nil }, false},
		"one that is being deleted":       {func(b *workv1alpha2.ResourceBinding) { b.DeletionTimestamp = after(0) }, false},
		"one of an object somewhere else": {func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.Namespace = "farm" }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &workv1alpha2.ResourceBinding{}
			b.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
			b.Spec.Placement = &policyv1alpha1.Placement{}
			tt.change(b)
			NewWithT(t).Expect(isPlaced(b, web)).To(Equal(tt.want))
		})
	}
}
