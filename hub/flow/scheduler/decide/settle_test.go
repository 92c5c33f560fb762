package decide_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// TestPlacementsSettle checks, for random placements, that deciding again once the pods run moves nothing, except to preferred clusters, in
// two steps at most; and that no cluster gets more than fits.
func TestPlacementsSettle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(11, 12))
	placed, returned := 0, 0
	for n := range 3000 {
		in := randomPlacement(random)
		for round := range 4 {
			in.Spec.Replicas = 1 + random.Int32N(12)
			was := in.Spec.Clusters
			d := decide.Decide(in)
			if d.Outcome != decide.Scheduled && d.Outcome != decide.Keep {
				continue
			}
			placed++
			at := fmt.Sprintf("case %d, round %d, placement %s, from %v", n, round, d.Placement, was)
			run(in.Clusters, was, d.Targets)
			for _, c := range in.Clusters {
				g := NewWithT(t)
				if shared(in.Spec) {
					g.Expect(free(c)).To(BeNumerically(">=", 0), at)
				}
			}
			in.Spec.Clusters, in.ObservedAffinity = d.Targets, d.Affinity
			in.AppliedPlacement, in.LastScheduled = d.Placement, &metav1.Time{}
			again := decide.Decide(in)
			for steps := 0; again.Trigger == decide.TriggerPreferred && steps < 2; steps++ { // replicas added by scaling may fit into preferred clusters
				run(in.Clusters, d.Targets, again.Targets)
				in.Spec.Clusters, in.ObservedAffinity = again.Targets, again.Affinity
				returned++
				d, again = again, decide.Decide(in)
			}
			NewWithT(t).Expect(again.Targets).To(BeComparableTo(d.Targets), at)
		}
	}
	NewWithT(t).Expect(placed).To(BeNumerically(">", 1000))
	NewWithT(t).Expect(returned).To(BeNumerically(">", 30))
}

// run adds the pods that a decision moves to the reports of the clusters.
func run(clusters []*clusterv1alpha1.Cluster, before, after targets) {
	change := map[string]int64{}
	for _, t := range before {
		change[t.Name] -= int64(t.Replicas)
	}
	for _, t := range after {
		change[t.Name] += int64(t.Replicas)
	}
	for _, c := range clusters {
		pods := c.Status.ResourceSummary.Allocated[corev1.ResourcePods]
		c.Status.ResourceSummary.Allocated = corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(pods.Value()+change[c.Name], resource.DecimalSI),
		}
	}
}

func free(c *clusterv1alpha1.Cluster) int64 {
	all, used := c.Status.ResourceSummary.Allocatable[corev1.ResourcePods], c.Status.ResourceSummary.Allocated[corev1.ResourcePods]
	return all.Value() - used.Value()
}

func shared(spec *workv1alpha2.ResourceBindingSpec) bool {
	s := spec.Placement.ReplicaScheduling
	return s != nil && (s.ReplicaDivisionPreference == policyv1alpha1.Aggregated || s.WeightPreference != nil && s.WeightPreference.DynamicWeight != "")
}

func randomPlacement(random *rand.Rand) decide.Input {
	in := input(with())
	for i := range 1 + random.IntN(7) {
		c := member(fmt.Sprintf("m-%d", i))
		c.Spec.Region, c.Spec.Provider = fmt.Sprintf("r%d", random.IntN(3)), fmt.Sprintf("p%d", random.IntN(2))
		c.Spec.Zones = []string{fmt.Sprintf("z%d", random.IntN(3)), fmt.Sprintf("z%d", random.IntN(3))}
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{
			Allocatable: corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(random.Int64N(9), resource.DecimalSI)},
		}
		in.Clusters = append(in.Clusters, c)
	}
	p := in.Spec.Placement
	switch random.IntN(4) {
	case 0:
		divided(&in)
	case 1:
		byRoom(&in)
	case 2:
		p.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided, ReplicaDivisionPreference: policyv1alpha1.Aggregated}
	}
	if random.IntN(3) == 0 {
		p.ClusterAffinities = terms([]string{"m-0"}, []string{"m-1", "m-2"}, []string{"m-3"}, nil)
		if shared(in.Spec) && random.IntN(2) == 0 {
			p.ClusterAffinities[0].OverflowAffinities = []policyv1alpha1.OverflowAffinityTerm{{AffinityName: "more", ClusterAffinity: *names("m-4", "m-5")}}
		}
	}
	for _, field := range []policyv1alpha1.SpreadField{policyv1alpha1.SpreadByCluster, policyv1alpha1.SpreadByRegion, policyv1alpha1.SpreadByZone, policyv1alpha1.SpreadByProvider} {
		if random.IntN(3) == 0 {
			s := policyv1alpha1.SpreadConstraint{SpreadByField: field, MinGroups: 1 + random.IntN(2)}
			if random.IntN(2) == 0 {
				s.MaxGroups = s.MinGroups + random.IntN(2)
			}
			p.SpreadConstraints = append(p.SpreadConstraints, s)
		}
	}
	in.ReturnToPreferred, in.FailbackDue = random.IntN(4) == 0, true
	return in
}
