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

// Query is the filters' input about the application.
type Query struct {
	// APIVersion and Kind are the template's.
	APIVersion, Kind string
	// Affinity selects clusters; its zero value selects all.
	Affinity selector.ClusterMatcher
	// Overflow selects the clusters for what does not fit into those of Affinity, by tier.
	Overflow []selector.ClusterMatcher
	// Tolerations are the taints that the application tolerates.
	Tolerations []corev1.Toleration
	// Allowance says which clusters the namespace of the application allows; nil means all.
	Allowance *selector.Allowance
	// Targets are the clusters that have the application. A target keeps it when a taint is added, when an API disappears from an
	// incomplete list, or when its kind is served only in another version; these reject other clusters.
	Targets bindings.Clusters
	// Leaving are the clusters from which the application is being evicted.
	Leaving sets.Set[string]
	// FailedIn are the clusters from which it was recently evicted because it was unhealthy there.
	FailedIn sets.Set[string]
	// Spread are the spread constraints, which need a property of each cluster.
	Spread []policyv1alpha1.SpreadConstraint
	// Peers are the workloads with affinity or anti-affinity to this one.
	Peers Peers
	// APIPending are the clusters to which this hub propagates the definition of the kind, and which may not have reported it yet.
	APIPending bindings.Clusters
	// Selector is the source of Affinity, for explanations.
	Selector *policyv1alpha1.ClusterAffinity
}

// Peers are other workloads that affect where a workload goes.
type Peers struct {
	// Together are those of the same affinity group, Apart those of the same anti-affinity group. Peers without clusters have no effect.
	Together, Apart []Peer
}

// Peer is another workload and the clusters that it has.
type Peer struct {
	Name     string
	Clusters bindings.Clusters
}

// NewQuery returns the query of a binding for clusters that an affinity selects. It shares the targets with the spec.
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

// Tier returns 0 for a cluster that the affinity selects, i+1 for one that the i-th overflow affinity is the first to select, and -1 if
// none does.
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

// Filter rejects clusters.
type Filter struct {
	// Name is the filter's name in explanations.
	Name string
	// Refuse returns why the cluster is rejected, in the words of conditions and events; empty if it passes.
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

// Filters returns the filters in the order in which they are applied: reasons in the policy come before reasons in the cluster.
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

// PeerFilters returns the filters that depend on the peers of an application. They are the last of Filters.
func PeerFilters() []Filter {
	return []Filter{{Name: WorkloadAffinity, Refuse: together}, {Name: WorkloadAntiAffinity, Refuse: apart}}
}

func affinity(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.Tier(c) >= 0 {
		return ""
	}
	return "cluster(s) did not match the placement cluster affinity constraint"
}

// allowance rejects clusters that the application's namespace does not allow, targets included.
func allowance(q *Query, c *clusterv1alpha1.Cluster) string {
	if q.Allowance.Allows(c) {
		return ""
	}
	return "cluster(s) may not be used: " + q.Allowance.Why()
}

// removal rejects a cluster that is being removed, unless it is a target: applications leave it by eviction, so that their replacement is
// healthy first.
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
