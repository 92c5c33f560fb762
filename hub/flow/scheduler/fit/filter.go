package fit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/selector"
)

// Query is what filters know of the application.
type Query struct {
	// APIVersion and Kind of the template.
	APIVersion, Kind string
	// Affinity picks clusters; its zero value picks all.
	Affinity selector.ClusterMatcher
	// Overflow picks the clusters for what does not fit into those.
	Overflow []selector.ClusterMatcher
	// Tolerations are the taints that the application accepts.
	Tolerations []corev1.Toleration
	// Allowance is which clusters the namespace of the application may use; nil is all.
	Allowance *selector.Allowance
	// Targets are the clusters that have the application. A cluster keeps it when a
	// taint is added, an API is no longer reported, or its kind is served in another version
	// only: those keep others away.
	Targets bindings.Clusters
	// Leaving are the clusters that the application is being evicted from.
	Leaving sets.Set[string]
	// FailedIn are those in which it was given up of late, because it was not healthy there.
	FailedIn sets.Set[string]
	// Spread are the constraints that need a property of each cluster.
	Spread []policyv1alpha1.SpreadConstraint
	// Peers are the workloads to stay with, and to stay away from.
	Peers Peers
	// APIPending are the clusters that get the API from this hub: its definition goes to them,
	// and they may not have reported it yet.
	APIPending bindings.Clusters
	// Selector is what Affinity was made of, for explanations.
	Selector *policyv1alpha1.ClusterAffinity
}

// Peers are other workloads that matter to where one goes.
type Peers struct {
	// Together are those of the same affinity group, Apart those of the same
	// anti-affinity group. Those that have no clusters yet do not matter.
	Together, Apart []Peer
}

// Peer is another workload and the clusters that it has.
type Peer struct {
	Name     string
	Clusters bindings.Clusters
}

// NewQuery returns the query of a binding for clusters that an affinity picks. The targets are shared with the spec.
func NewQuery(spec *workv1alpha2.ResourceBindingSpec, affinity selector.ClusterMatcher) *Query {
	q := &Query{
		APIVersion: spec.Resource.APIVersion,
		Kind:       spec.Resource.Kind,
		Affinity:   affinity,
		Targets:    bindings.ClustersOf(spec.Clusters),
		Leaving:    make(sets.Set[string], len(spec.GracefulEvictionTasks)),
	}
	if spec.Placement != nil {
		q.Tolerations = spec.Placement.ClusterTolerations
		q.Spread = spec.Placement.SpreadConstraints
	}
	for i := range spec.GracefulEvictionTasks {
		q.Leaving.Insert(spec.GracefulEvictionTasks[i].FromCluster)
	}
	return q
}

// Tier is 0 for a cluster that the affinity picks, and i+1 for one that only the
// i-th overflow picks; -1 if none does.
func (q *Query) Tier(c *clusterv1alpha1.Cluster) int {
	if q.Affinity.Matches(c) {
		return 0
	}
	for i := range q.Overflow {
		if q.Overflow[i].Matches(c) {
			return i + 1
		}
	}
	return -1
}

// Filter keeps clusters out.
type Filter struct {
	// Name of the filter, for explanations.
	Name string
	// Refuse returns why the cluster is kept out, in the words that conditions and
	// events use, or nothing if it passes.
	Refuse func(q *Query, c *clusterv1alpha1.Cluster) string
}

// Names of the filters.
const (
	Removal           = "ClusterRemoval"
	ClusterAffinity   = "ClusterAffinity"
	NamespaceClusters = "NamespaceClusters"
	ClusterEviction   = "ClusterEviction"
	TaintToleration   = "TaintToleration"
	APIEnablement     = "APIEnablement"

	SpreadConstraint     = "SpreadConstraint"
	WorkloadAffinity     = "WorkloadAffinity"
	WorkloadAntiAffinity = "WorkloadAntiAffinity"
)

// Filters returns the filters in the order in which they are asked: what the author of
// the policy said comes before what the cluster lacks.
func Filters() []Filter {
	return append([]Filter{
		{Name: ClusterAffinity, Refuse: affinity},
		{Name: NamespaceClusters, Refuse: allowance},
		{Name: Removal, Refuse: removal},
		{Name: ClusterEviction, Refuse: eviction},
		{Name: TaintToleration, Refuse: taints},
		{Name: APIEnablement, Refuse: api},
		{Name: SpreadConstraint, Refuse: property},
	}, PeerFilters()...)
}

// PeerFilters returns those of the filters that go by the peers of an application. They are asked last.
func PeerFilters() []Filter {
	return []Filter{{Name: WorkloadAffinity, Refuse: together}, {Name: WorkloadAntiAffinity, Refuse: apart}}
}

func affinity(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.Tier(c) >= 0 {
		return ""
	}
	return "cluster(s) did not match the placement cluster affinity constraint"
}

// allowance keeps an application out of clusters that its namespace may not use, be it there or not.
func allowance(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.Allowance.Allows(c) {
		return ""
	}
	return "cluster(s) may not be used: " + q.Allowance.Why()
}

// removal keeps an application out of a cluster that is being removed. One that is there
// leaves it as others leave a cluster: by eviction, so that its replacement is healthy
// first.
func removal(q *Query, c *clusterv1alpha1.Cluster) string {
	if c.DeletionTimestamp.IsZero() || q.Targets.Has(c.Name) {
		return ""
	}
	return "cluster(s) is being removed"
}

func eviction(q *Query, c *clusterv1alpha1.Cluster) string {
	switch {
	case q.Leaving.Has(c.Name):
		return "cluster(s) is in the process of eviction"
	case q.FailedIn.Has(c.Name) && !q.Targets.Has(c.Name):
		return "cluster(s) did not keep the application healthy"
	default:
		return ""
	}
}
