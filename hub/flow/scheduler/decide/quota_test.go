package decide_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/flow/scheduler/decide"
)

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

// requesting sets the CPU request of each replica.
func requesting(amount string) func(*decide.Input) {
	return func(in *decide.Input) {
		in.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: cpu(amount)}
	}
}

// worker gives the application a component of n replicas that request 1 CPU each.
func worker(replicas int32) func(*decide.Input) {
	return func(in *decide.Input) {
		in.Spec.Replicas, in.Spec.Components = 0, []workv1alpha2.Component{
			{Name: "worker", Replicas: replicas, ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: cpu("1")}},
		}
	}
}

// bounded limits the namespace to 4 CPUs.
func bounded(in *decide.Input) {
	in.Quotas = []quota.Quota{{Namespace: "shop", Name: "all", Overall: cpu("4")}}
}

// placed applies a decision to the input, as the scheduler does.
func placed(d decide.Decision) func(*decide.Input) {
	return func(in *decide.Input) {
		in.Spec.Clusters, in.AppliedPlacement, in.AdmittedRequests = d.Targets, d.Placement, d.AdmittedRequests
	}
}

func TestRequestsAreAdmittedLikeReplicas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, after func(*decide.Input)
		held          bool
	}{
		"requests that fit":                {requesting("500m"), requesting("1"), false},
		"requests that exceed the quota":   {requesting("500m"), requesting("2100m"), true},
		"requests that are lowered":        {requesting("1"), requesting("500m"), false},
		"components that fit":              {worker(1), worker(2), false},
		"components that exceed the quota": {worker(1), worker(3), true},
		"components instead of replicas":   {requesting("500m"), worker(3), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			// Duplicated placements are decided on every time, divided ones only when something triggers it.
			for _, placement := range []func(*decide.Input){func(*decide.Input) {}, divided} {
				first := decide.Decide(input(bounded, tt.before, placement))
				g.Expect(first.Outcome).To(Equal(decide.Scheduled), first.Message)
				before := input(tt.before)
				g.Expect(first.AdmittedRequests).To(Equal(quota.Admit(before.Spec)))

				again := decide.Decide(input(bounded, tt.after, placement, placed(first)))
				g.Expect(again.Targets).To(Equal(first.Targets), "the targets do not change")
				if !tt.held {
					g.Expect(again.Outcome).To(BeElementOf(decide.Keep, decide.Scheduled), again.Message)
					after := input(tt.after)
					g.Expect(again.AdmittedRequests).To(Equal(quota.Admit(after.Spec)))
					continue
				}
				g.Expect(again.Outcome).To(Equal(decide.OverQuota))
				g.Expect(again.Message).To(ContainSubstring("FederatedResourceQuota(shop/all) exceeded for resource cpu"))
				g.Expect(again.AdmittedRequests).To(Equal(first.AdmittedRequests))
				third := decide.Decide(input(bounded, tt.after, placement, placed(again)))
				g.Expect(third.Outcome).To(Equal(decide.OverQuota), "asking again does not admit the requests")
			}
		})
	}
}

func TestNothingIsAdmittedWithoutQuota(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first := decide.Decide(input(requesting("500m")))
	g.Expect(first.AdmittedRequests).To(BeEmpty())
	g.Expect(decide.Decide(input(requesting("50"), placed(first))).Outcome).NotTo(Equal(decide.OverQuota))
}
