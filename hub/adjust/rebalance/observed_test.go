package rebalance

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
)

func deployment(name string) appsv1alpha1.ObjectReference {
	return appsv1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name}
}

func open(name string) appsv1alpha1.ObservedWorkload {
	return appsv1alpha1.ObservedWorkload{Workload: deployment(name)}
}

func done(name string) appsv1alpha1.ObservedWorkload {
	return appsv1alpha1.ObservedWorkload{Workload: deployment(name), Result: appsv1alpha1.RebalanceSuccessful}
}

func failed(name string) appsv1alpha1.ObservedWorkload {
	return appsv1alpha1.ObservedWorkload{
		Workload: deployment(name), Result: appsv1alpha1.RebalanceFailed, Reason: appsv1alpha1.ReferencedBindingNotFound,
	}
}

type (
	named    = []appsv1alpha1.ObjectReference
	observed = []appsv1alpha1.ObservedWorkload
)

func TestObserve(t *testing.T) {
	t.Parallel()
	role := appsv1alpha1.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "a"}
	tests := map[string]struct {
		named  named
		before observed
		want   observed
	}{
		"new ones, sorted":                          {named{role, deployment("b"), deployment("a")}, nil, observed{open("a"), open("b"), {Workload: role}}},
		"one that is named twice is one":            {named{deployment("a"), deployment("a")}, observed{done("a")}, observed{done("a")}},
		"what came of them stays":                   {named{deployment("c"), deployment("b"), deployment("a")}, observed{done("a"), failed("b")}, observed{done("a"), failed("b"), open("c")}},
		"what was done stays when it is not named":  {named{deployment("c")}, observed{done("a"), done("c")}, observed{done("a"), done("c")}},
		"what failed goes when it is not named":     {named{deployment("c")}, observed{failed("a"), done("c")}, observed{done("c")}},
		"what nothing came of goes with its naming": {named{deployment("c")}, observed{open("a")}, observed{open("c")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := observe(tt.named, tt.before)
			g.Expect(got).To(BeComparableTo(tt.want))
			g.Expect(observe(tt.named, got)).To(BeComparableTo(got), "looking again changes nothing")
		})
	}
}

func TestConclude(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before   observed
		finished bool
		after    observed
		want     float64 // seconds after noon; -1 for not finished
	}{
		"all are dealt with":                 {nil, false, observed{done("a"), failed("b")}, 9},
		"one is open":                        {nil, false, observed{done("a"), open("b")}, -1},
		"one more is open than before":       {observed{done("a")}, true, observed{done("a"), open("b")}, -1},
		"the last one is dealt with":         {observed{done("a"), open("b")}, false, observed{done("a"), done("b")}, 9},
		"one more is dealt with":             {observed{done("a")}, true, observed{done("a"), done("b")}, 9},
		"nothing came of anything since":     {observed{done("a")}, true, observed{done("a")}, 1},
		"what failed is not asked for again": {observed{done("a"), failed("b")}, true, observed{done("a")}, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			status := appsv1alpha1.WorkloadRebalancerStatus{ObservedWorkloads: tt.before}
			if tt.finished {
				status.FinishTime = after(1)
			}
			conclude(&status, 3, tt.after, after(9).Time)
			g.Expect(status.ObservedWorkloads).To(BeComparableTo(tt.after))
			g.Expect(status.ObservedGeneration).To(Equal(int64(3)))
			if tt.want < 0 {
				g.Expect(status.FinishTime).To(BeNil())
			} else {
				g.Expect(status.FinishTime).To(BeComparableTo(after(tt.want)))
			}
		})
	}
}

func TestExpires(t *testing.T) {
	t.Parallel()
	r := &appsv1alpha1.WorkloadRebalancer{}
	r.Status.FinishTime = after(0)
	expires := func(now float64) (time.Duration, bool) { return expiry(r, after(now).Time) }
	g := NewWithT(t)
	_, ok := expires(1e6)
	g.Expect(ok).To(BeFalse(), "it stays for ever if nothing is said")
	r.Spec.TTLSecondsAfterFinished = new(int32(10))
	left, ok := expires(3)
	g.Expect(ok).To(BeTrue())
	g.Expect(left).To(Equal(7 * time.Second))
	left, _ = expires(10)
	g.Expect(left).To(BeZero())
	r.Generation = 2
	_, ok = expires(99)
	g.Expect(ok).To(BeFalse(), "there is a newer spec to act upon")
	r.Generation, r.Status.FinishTime = 0, nil
	_, ok = expires(99)
	g.Expect(ok).To(BeFalse(), "it is not finished")
}
