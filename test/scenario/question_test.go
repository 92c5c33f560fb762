package scenario

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/test/builder"
)

// asker is an application that is placed, and whose clusters are lost one after the other.
type asker struct {
	binding  *workv1alpha2.ResourceBinding
	clusters []*clusterv1alpha1.Cluster
	quotas   []policyv1alpha1.FederatedResourceQuota
	now      time.Time
}

// TestWhoIsToldThatThereIsAnotherPlaceGetsIt checks that an application which leaves a cluster, because the scheduler said that it has
// another place for it, is then placed. It tries every strategy, with and without quotas, with quotas that were lowered, and
// while the application leaves another cluster. Otherwise the application would leave its cluster for nothing.
func TestWhoIsToldThatThereIsAnotherPlaceGetsIt(t *testing.T) {
	t.Parallel()
	moved := map[string]int{}
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		a, strategy := newAsker(rng)
		if a.place().Outcome != decide.Scheduled {
			continue
		}
		if a.lower(rng) {
			strategy += ", of a quota that was lowered"
		}
		for range 2 {
			a.loseOne(rng)
			if !a.leave() {
				break
			}
			d := a.place()
			NewWithT(t).Expect(d.Outcome).To(Equal(decide.Scheduled), "seed %d, %s: %s", seed, strategy, d.Message)
			moved[strategy]++
		}
	}
	for _, strategy := range []string{"copied", "copied to groups", "components", "by weights", "by room", "packed"} {
		for _, bound := range []string{"", ", of a quota that was lowered"} {
			NewWithT(t).Expect(moved[strategy+bound]).To(BeNumerically(">", 50), "%s%s, of %v", strategy, bound, moved)
		}
	}
}

func newAsker(rng *rand.Rand) (a *asker, strategy string) {
	a = &asker{binding: &workv1alpha2.ResourceBinding{}, now: time.Unix(1000, 0)}
	for i := range 3 + rng.IntN(3) {
		c := builder.MakeCluster(fmt.Sprintf("c%d", i)).Obj()
		c.Status.APIEnablements = []clusterv1alpha1.APIEnablement{{GroupVersion: "apps/v1", Resources: []clusterv1alpha1.APIResource{{Kind: "Deployment"}}}}
		c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(int64(2+rng.IntN(12)), resource.DecimalSI), corev1.ResourceCPU: resource.MustParse("100"),
		}}
		a.clusters = append(a.clusters, c)
	}
	b, p := a.binding, &policyv1alpha1.Placement{}
	b.Namespace, b.Name, b.Annotations = "shop", "web", map[string]string{}
	b.Spec.Resource, b.Spec.Placement, b.Spec.Replicas = workv1alpha2.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, p, int32(2+rng.IntN(6))
	b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
	most := []policyv1alpha1.SpreadConstraint{{SpreadByField: policyv1alpha1.SpreadByCluster, MinGroups: 1, MaxGroups: 1 + rng.IntN(2)}}
	divided := &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Weighted}
	switch rng.IntN(6) {
	case 0:
		strategy, p.SpreadConstraints = "copied", most
	case 1:
		strategy = "copied to groups"
		for i := range 2 {
			p.ClusterAffinities = append(p.ClusterAffinities, policyv1alpha1.ClusterAffinityTerm{
				AffinityName: fmt.Sprint("group-", i), ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{fmt.Sprint("c", i)}},
			})
		}
	case 2:
		strategy, p.SpreadConstraints = "components", most
		b.Spec.Replicas, b.Spec.ReplicaRequirements = 0, nil
		for _, name := range []string{"head", "worker"} {
			b.Spec.Components = append(b.Spec.Components, workv1alpha2.Component{
				Name: name, Replicas: 1, ReplicaRequirements: &workv1alpha2.ComponentReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
			})
		}
	case 3:
		strategy, p.ReplicaScheduling = "by weights", divided
	case 4:
		strategy, p.ReplicaScheduling = "by room", divided
		divided.WeightPreference = &policyv1alpha1.ClusterPreferences{DynamicWeight: policyv1alpha1.DynamicWeightByAvailableReplicas}
	case 5:
		strategy, p.ReplicaScheduling = "packed", divided
		divided.ReplicaDivisionPreference = policyv1alpha1.Aggregated
	}
	if rng.IntN(4) > 0 {
		a.bound(int64(1 + rng.IntN(12)))
	}
	return a, strategy
}

// bound sets the quota of the namespace to a number of CPUs.
func (a *asker) bound(cpus int64) {
	q := policyv1alpha1.FederatedResourceQuota{Spec: policyv1alpha1.FederatedResourceQuotaSpec{Overall: corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI),
	}}}
	q.Namespace, q.Name = "shop", "all"
	a.quotas = []policyv1alpha1.FederatedResourceQuota{q}
}

// lower randomly lowers the quota below the used amount, and returns whether it did.
func (a *asker) lower(rng *rand.Rand) bool {
	if rng.IntN(2) == 0 {
		return false
	}
	a.bound(int64(rng.IntN(2)))
	return true
}

// place lets the scheduler decide, and applies the decision.
func (a *asker) place() decide.Decision {
	b := a.binding
	d := decide.Decide(a.input())
	if d.Outcome == decide.Scheduled || d.Outcome == decide.Keep {
		b.Spec.Clusters, b.Status.SchedulerObservedAffinityName = d.Targets, d.Affinity
		b.Annotations[contract.AppliedPlacementAnnotation], b.Annotations[contract.AdmittedRequestsAnnotation] = d.Placement, d.AdmittedRequests
		b.Status.LastScheduledTime = &metav1.Time{Time: a.now}
	}
	return d
}

func (a *asker) input() decide.Input {
	return decide.InputOf(a.binding, decide.World{Clusters: a.clusters, Quotas: a.quotas, Used: &quota.Account{}, Now: a.now})
}

// loseOne adds the taint of a policy to one of the application's clusters, which is silent.
func (a *asker) loseOne(rng *rand.Rand) {
	a.now = a.now.Add(time.Hour)
	lost := a.binding.Spec.Clusters[rng.IntN(len(a.binding.Spec.Clusters))].Name
	for i, c := range a.clusters {
		if c.Name == lost {
			c = c.DeepCopy()
			c.Spec.Taints = []corev1.Taint{{Key: "lost", Effect: corev1.TaintEffectNoExecute}}
			c.Status.Conditions[0].Status, c.Status.Conditions[0].LastTransitionTime = metav1.ConditionUnknown, metav1.NewTime(a.now.Add(-time.Minute))
			a.clusters[i] = c
		}
	}
}

// leave applies the decision of failover, and returns whether the application leaves a cluster.
func (a *asker) leave() bool {
	b := a.binding
	in := evict.Input{
		Now: a.now, Namespaced: true, Spec: &b.Spec, Status: &b.Status, Past: evictions.Of(b), ByCondition: sets.New("lost"), Clusters: map[string]*clusterv1alpha1.Cluster{},
		RateLimit: func(string) time.Duration { return 0 }, WouldReturn: func(string) bool { return false },
		CouldPlaceWithout: func(without []string) bool { return decide.CouldPlaceWithout(a.input(), without) },
	}
	for _, c := range a.clusters {
		in.Clusters[c.Name] = c
	}
	d := evict.Decide(in)
	past := evict.Remember(&in, &d)
	b.Spec.Clusters, b.Spec.GracefulEvictionTasks = evict.Apply(&b.Spec, &d, a.now)
	if err := evictions.Set(b, past); err != nil {
		panic(err)
	}
	return len(d.Evictions) > 0
}
