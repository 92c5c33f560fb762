package decide_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// TestMemoChangesNoDecision decides on random applications while clusters change, join and leave. It compares each decision that uses a
// Memo with the same decision without one.
func TestMemoChangesNoDecision(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			g, w := NewWithT(t), &changing{Rand: rand.New(rand.NewPCG(seed, 1))}
			for range 12 {
				w.join()
			}
			memo, outcomes := &decide.Memo{}, sets.Set[decide.Outcome]{}
			for range 300 {
				w.change()
				in := w.input()
				want := decide.Decide(in)
				in.Memo = memo
				got := decide.Decide(in)
				for _, d := range []*decide.Decision{&want, &got} {
					for i := range d.Attempts {
						d.Attempts[i].Verdicts = nil
					}
				}
				g.Expect(got).To(BeComparableTo(want))
				outcomes.Insert(got.Outcome)
				if d := got; d.Outcome == decide.Scheduled {
					w.spec.Clusters = d.Targets // the next decision may be about the same application
				}
			}
			g.Expect(outcomes.HasAll(decide.Keep, decide.Scheduled, decide.NoClusterFit, decide.Unschedulable)).To(BeTrue())
		})
	}
}

// TestMemoReleasesReplacedClusters places applications of many sizes, each twice, so that the Memo caches their capacities. Then all
// clusters are replaced and one more application is placed. No replaced cluster may stay in memory.
func TestMemoReleasesReplacedClusters(t *testing.T) {
	t.Parallel()
	g, memo := NewWithT(t), &decide.Memo{}
	const many = 50
	clusters := func() (out []*clusterv1alpha1.Cluster) {
		for i := range many {
			out = append(out, member(fmt.Sprintf("edge-%03d", i), func(c *clusterv1alpha1.Cluster) {
				c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: room("16", "64Gi")}
			}))
		}
		return out
	}
	place := func(among []*clusterv1alpha1.Cluster, cpu string) {
		for range 2 {
			in := input(with(), byRoom)
			in.Spec.Replicas, in.Clusters, in.Memo = 10, among, memo
			in.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
			g.Expect(decide.Decide(in).Outcome).To(Equal(decide.Scheduled))
		}
	}
	var before []weak.Pointer[clusterv1alpha1.Cluster]
	for i := range 10 {
		among := clusters()
		for _, c := range among {
			before = append(before, weak.Make(c))
		}
		place(among, fmt.Sprintf("%dm", 100+i))
	}
	now := clusters()
	place(now, "1")
	runtime.GC()
	runtime.GC()
	stay := 0
	for _, c := range before {
		if c.Value() != nil {
			stay++
		}
	}
	g.Expect(stay).To(BeZero(), "of %d", len(before))
	runtime.KeepAlive(now)
	runtime.KeepAlive(memo)
}

// changing holds clusters that change at random.
type changing struct {
	*rand.Rand

	clusters []*clusterv1alpha1.Cluster
	spec     *workv1alpha2.ResourceBindingSpec
	applied  string
	n        int
}

func (w *changing) oneOf(names ...string) string { return names[w.IntN(len(names))] }

// join adds a cluster, keeping the clusters sorted by name.
func (w *changing) join() {
	w.n++
	w.clusters = append(slices.Clone(w.clusters), w.as(fmt.Sprintf("%s-%d", w.oneOf("a", "b", "c"), w.n)))
	slices.SortFunc(w.clusters, func(a, b *clusterv1alpha1.Cluster) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// as returns a cluster of that name in a random state.
func (w *changing) as(name string) *clusterv1alpha1.Cluster {
	return member(name, func(c *clusterv1alpha1.Cluster) {
		c.Labels = map[string]string{"site": w.oneOf("shop", "shop", "ship")}
		c.Spec.Region = w.oneOf("", "north", "south")
		if w.IntN(5) == 0 {
			c.Spec.Taints = []corev1.Taint{{Key: w.oneOf("k", "other"), Effect: corev1.TaintEffectNoSchedule}}
		}
		if w.IntN(6) == 0 {
			c.Status.APIEnablements = nil
			c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue})
		}
		if w.IntN(8) == 0 {
			c.DeletionTimestamp = new(metav1.Now())
		}
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: room(w.oneOf("1", "2", "8"), "8Gi")}
		if w.IntN(4) == 0 {
			c.Status.NamespaceQuotas = []clusterv1alpha1.NamespaceQuota{{Namespace: w.oneOf("ns-0", "ns-1"), Free: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.oneOf("0", "500m"))}}}
		}
	})
}

// change makes a random change to the clusters, or none.
func (w *changing) change() {
	w.clusters = slices.Clone(w.clusters)
	i := w.IntN(len(w.clusters))
	switch w.IntN(6) {
	case 0:
		w.join()
	case 1:
		if len(w.clusters) > 6 {
			w.clusters = slices.Delete(w.clusters, i, i+1)
		}
	case 2:
		for j := range min(3, len(w.clusters)-i) {
			w.clusters[i+j] = w.as(w.clusters[i+j].Name)
		}
	case 3:
		w.spec = nil // the next decision is about another application
	}
}

// elsewhere is a long list of sites that have no cluster.
var elsewhere = strings.Repeat("a-site-of-which-nobody-has-heard,", 10)

// input returns the input of a decision on a random application.
func (w *changing) input() decide.Input {
	in := input(with())
	if w.spec == nil {
		in.Spec.Resource.Namespace = fmt.Sprintf("ns-%d", w.IntN(4))
		in.Spec.Replicas = int32(w.IntN(12))
		in.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(w.oneOf("250m", "1"))}}
		switch w.IntN(5) {
		case 0:
			divided(&in)
		case 1:
			byRoom(&in)
		case 2:
			aggregated(&in)
		case 3:
			overRegions(&in)
		}
		in.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": w.oneOf("shop", "ship", "none")}}}
		if w.IntN(3) == 0 {
			in.Spec.Placement.ClusterAffinities = []policyv1alpha1.ClusterAffinityTerm{
				{AffinityName: "first", ClusterAffinity: *in.Spec.Placement.ClusterAffinity},
				{AffinityName: "second", OverflowAffinities: []policyv1alpha1.OverflowAffinityTerm{{AffinityName: "over", ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a-1", "b-2", "c-3"}}}}},
			}
			in.Spec.Placement.ClusterAffinity = nil
		}
		w.spec, w.applied = in.Spec, ""
		if w.IntN(2) == 0 {
			applied(&in)
			w.applied = in.AppliedPlacement
		}
	}
	in.Spec = w.spec.DeepCopy()
	in.Clusters, in.AppliedPlacement = w.clusters, w.applied
	some := func() string { return w.clusters[w.IntN(len(w.clusters))].Name }
	if w.IntN(4) == 0 {
		in.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: some(), Producer: workv1alpha2.ProducerTaintManager, Replicas: new(int32(1))}}
	}
	if w.IntN(4) == 0 {
		in.FailedIn = []string{some()}
	}
	switch w.IntN(6) {
	case 0:
		in.APIPending = bindings.ClustersOf([]workv1alpha2.TargetCluster{{Name: some()}, {Name: "gone"}})
	case 1: // the hub propagates the definition of the kind to all clusters
		var all []workv1alpha2.TargetCluster
		for _, c := range w.clusters {
			all = append(all, workv1alpha2.TargetCluster{Name: c.Name})
		}
		in.APIPending = bindings.ClustersOf(all)
	}
	if w.IntN(4) == 0 {
		in.Assumed = fit.NewReservations(&fit.Places{some(): 0}, []*fit.Assumed{{Amount: fit.Amount{Pods: 3, Resources: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}})
	}
	if w.IntN(5) == 0 {
		in.Peers.Together = []fit.Peer{{Name: "peer", Clusters: bindings.ClustersOf([]workv1alpha2.TargetCluster{{Name: some()}, {Name: some()}})}}
	}
	if w.IntN(5) == 0 {
		// Two of these selectors differ only after the part that messages quote.
		text := w.oneOf("site=shop", "site=ship", fmt.Sprintf("site in (%sshop)", elsewhere), fmt.Sprintf("site in (%sship)", elsewhere))
		in.Allowance = selector.AllowanceOf(&metav1.ObjectMeta{Name: in.Spec.Resource.Namespace, Annotations: map[string]string{contract.ClustersAnnotation: text}})
	}
	return in
}
