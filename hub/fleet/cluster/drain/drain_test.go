package drain

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

func TestNeeds(t *testing.T) {
	t.Parallel()
	task := func(mode policyv1alpha1.PurgeMode, suppress *bool) *workv1alpha2.ResourceBindingSpec {
		return &workv1alpha2.ResourceBindingSpec{
			Clusters:              []workv1alpha2.TargetCluster{{Name: "edge-2"}},
			GracefulEvictionTasks: []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-1", PurgeMode: mode, SuppressDeletion: suppress}},
		}
	}
	tests := map[string]struct {
		spec      *workv1alpha2.ResourceBindingSpec
		abandoned bool
		want      bool
	}{
		"a binding that is elsewhere":            {spec: &workv1alpha2.ResourceBindingSpec{}},
		"a target":                               {spec: &workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "edge-1"}}}, abandoned: true, want: true},
		"a copy that waits for its replacement":  {spec: task(policyv1alpha1.PurgeGracefully, nil), want: true},
		"the same, of which nobody takes care":   {spec: task(policyv1alpha1.PurgeGracefully, nil), abandoned: true},
		"a copy that goes at once":               {spec: task(policyv1alpha1.PurgeDirectly, nil)},
		"a copy that stays until it is released": {spec: task(policyv1alpha1.PurgeNever, nil)},
		"a copy that somebody keeps":             {spec: task(policyv1alpha1.PurgeGracefully, new(true))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Needs(tc.spec, "edge-1", tc.abandoned)).To(Equal(tc.want))
		})
	}
}

func TestAbandoned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := builder.MakeCluster("edge-1").Obj()
	g.Expect(Abandoned(c, false)).To(BeTrue(), "it was never heard from")
	c.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	g.Expect(Abandoned(c, false)).To(BeFalse())
	g.Expect(Abandoned(c, true)).To(BeTrue())
	c.Annotations = map[string]string{contract.RetiredAnnotation: "{}"}
	g.Expect(Abandoned(c, false)).To(BeTrue())
}
