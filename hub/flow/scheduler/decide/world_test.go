package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// TestInputOf checks that the input has everything that a decision depends on.
func TestInputOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	binding := func(name string, replicas int32, clusters ...string) *workv1alpha2.ResourceBinding {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{}}}
		b.Spec.WorkloadAffinityGroups = &workv1alpha2.WorkloadAffinityGroups{AntiAffinityGroup: "app=x"}
		b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: cpu("1")}
		for _, c := range clusters {
			b.Spec.Clusters = append(b.Spec.Clusters, target(c, replicas))
		}
		return b
	}
	b, other := binding("web", 1, "a"), binding("api", 2, "b")
	b.Spec.Resource.ResourceVersion = "7"
	b.Annotations[contract.ReturnToPreferredAnnotation] = "true"
	b.Annotations[contract.AppliedPlacementAnnotation] = "{}"
	b.Annotations[contract.ReschedulePendingAnnotation] = "then"
	b.Annotations[contract.AdmittedRequestsAnnotation] = "requests"
	b.Status.SchedulerObservedAffinityName = "near"
	now := time.Unix(1000, 0)
	g.Expect(evictions.Set(b, []workv1alpha2.Eviction{{From: "c", At: metav1.NewTime(now), Reason: workv1alpha2.EvictionApplicationFailure, Template: "7"}})).To(Succeed())
	limit := policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}}
	limit.Spec.Overall = cpu("9")
	w := decide.World{Others: []workv1alpha2.Binding{b, other}, Quotas: []policyv1alpha1.FederatedResourceQuota{limit}, Now: now}

	in := decide.InputOf(b, w)
	g.Expect(in.Peers.Apart).To(Equal([]fit.Peer{{Name: "api", Clusters: bindings.ClustersOf(targets{target("b", 2)})}}))
	g.Expect(in.FailedIn).To(Equal([]string{"c"}))
	g.Expect(in.Quotas).To(HaveLen(1))
	used := in.Quotas[0].UsedByOthers
	g.Expect(used.Cpu().String()).To(Equal("2"), "the usage leaves out the binding itself")
	g.Expect([]any{in.ReturnToPreferred, in.StayInOverflow, in.AppliedPlacement, in.Pending, in.AdmittedRequests, in.ObservedAffinity}).
		To(Equal([]any{true, false, "{}", "then", "requests", "near"}))

	// A decision that is not written yet counts.
	w.Latest = func(workv1alpha2.Binding) ([]workv1alpha2.TargetCluster, string) { return targets{target("d", 5)}, "" }
	in = decide.InputOf(b, w)
	g.Expect(in.Peers.Apart[0].Clusters.First(2)).To(Equal([]string{"d"}))
	used = in.Quotas[0].UsedByOthers
	g.Expect(used.Cpu().String()).To(Equal("5"))
	g.Expect(in.AdmittedRequests).To(BeEmpty())

	g.Expect(decide.NeedsOthers(b, nil)).To(BeTrue())
	b.Spec.WorkloadAffinityGroups = nil
	g.Expect(decide.NeedsOthers(b, nil)).To(BeFalse())
	g.Expect(decide.NeedsOthers(b, w.Quotas)).To(BeTrue())
}
