package evict

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// DefaultGrace is the grace period of an eviction if nothing else is set.
const DefaultGrace = 10 * time.Minute

// Input is what the hub knows about one binding. Decide does not change it.
type Input struct {
	// Now is the present time.
	Now time.Time
	// Generation is that of the binding.
	Generation int64
	// Namespaced says whether it is a ResourceBinding.
	Namespaced bool
	// Unscheduled says that the scheduler will not find other clusters for it: it has lost its policy, or its
	// scheduling is suspended.
	Unscheduled bool
	// Spec and Status are those of the binding.
	Spec   *workv1alpha2.ResourceBindingSpec
	Status *workv1alpha2.ResourceBindingStatus
	// Tolerations are the tolerations of the placement that was applied.
	Tolerations []corev1.Toleration
	// Clusters are the clusters that the binding names and that exist, by name.
	Clusters map[string]*clusterv1alpha1.Cluster
	// Works has the clusters with a Work of the binding, including those whose Work is being deleted.
	Works map[string]Work
	// HasHealthRule says that a rule, and not only conventions, determines the health of the kind: only then it counts.
	HasHealthRule bool
	// Suspended are the clusters whose silence is not a reason to evict, and why.
	Suspended map[string]Suspension
	// ByCondition are the keys of the NoExecute taints that policies add by conditions. All others were added by
	// people, and count in any case.
	ByCondition sets.Set[string]
	// BySilence are the keys of those taints that policies add because a cluster is not Ready. Unless the policy of the
	// application says otherwise, they are tolerated for DefaultToleration.
	BySilence sets.Set[string]
	// Expiring are, by cluster, the keys of those in ByCondition that are about to be removed.
	Expiring map[string]sets.Set[string]
	// SeenFor is, by cluster and key, for how long this process has seen the taints that were added since it started.
	// It is measured with the monotonic clock, unlike a taint's timeAdded.
	SeenFor map[string]map[string]time.Duration
	// Past is the eviction history of the binding.
	Past []workv1alpha2.Eviction
	// Began is since when this process follows the clusters: members whose line was lost before that get a new grace
	// period. The zero value means forever.
	Began time.Time
	// HeardBy is when that new grace period ends, if members are still coming back to a hub that started: see
	// disruption.HeardBy.
	HeardBy time.Time
	// Patience is, by name, how long the leases of targets allow them to be silent, if longer than usual.
	Patience map[string]time.Duration
	// HeardSince is, by name, since when the clusters are heard from, ignoring momentary losses of their lines.
	HeardSince map[string]time.Time
	// Memory is the memory of the previous decision.
	Memory Memory
	// CouldPlaceWithout says whether the scheduler could place the application without these clusters.
	CouldPlaceWithout func(without []string) bool
	// WouldReturn says whether the scheduler would choose a cluster again that is being left: then it takes back the
	// eviction itself.
	WouldReturn func(cluster string) bool
	// Unproven says whether a cluster has a revision of a rollout that is not stable yet. The rollout judges the health
	// there: if the application were moved, its failures would not be counted.
	Unproven func(cluster string) bool
	// RateLimit returns how long the rate limit of a cluster's zone delays an eviction because of a taint; 0 means not
	// at all.
	RateLimit func(cluster string) time.Duration
	// State reads the state that a replacement gets from a cluster; without rules there is none.
	State func(cluster string, rules []policyv1alpha1.StatePreservationRule) (map[string]string, error)
	// Options are the settings of the hub.
	Options Options

	// items are the items of the status by cluster; computed on first use.
	items map[string]*workv1alpha2.AggregatedStatusItem
	// least is, by cluster, the least number of replicas before the evictions in progress; unknown says that it is not
	// recorded for one of them. Computed on first use.
	least   map[string]int32
	unknown bool
}

// Options apply to all bindings.
type Options struct {
	// Grace is the grace period of an eviction.
	Grace time.Duration
	// PurgeMode is the purge mode of evictions by taints if the policy does not say.
	PurgeMode policyv1alpha1.PurgeMode
	// Silence is how long a member with nothing but its lease may be silent before the hub gives it up; 0 is the
	// default.
	Silence time.Duration
}

// Work is what the decision needs of a Work.
type Work struct {
	// Observed says whether the cluster has reported on the current generation.
	Observed bool
	// Created is when the Work was created.
	Created time.Time
}

// Suspension is why the silence of a cluster is not a reason to evict.
type Suspension struct {
	// Reason is one word, and Message a sentence.
	Reason, Message string
}

// Memory is what the hub keeps in memory of a binding between two decisions.
type Memory struct {
	// Unhealthy is since when the application is unhealthy, by cluster, and Template the version of the template that
	// this is about: with another version it starts over.
	Unhealthy map[string]time.Time
	Template  string
	// Unheard is since when it is unknown, by cluster, whether the application is still unhealthy. That time does not
	// count.
	Unheard map[string]time.Time
	// Resumed is, by the cluster that is being left, since when replacements are dispatched again; zero while
	// dispatching is suspended. The grace period counts from then.
	Resumed map[string]time.Time
}

// Empty says whether there is nothing to remember.
func (m Memory) Empty() bool { return len(m.Unhealthy)+len(m.Resumed) == 0 }

// Eviction is a cluster to leave.
type Eviction struct {
	Cluster string
	Task    workv1alpha2.GracefulEvictionTask
}

// Ended is a task that has ended.
type Ended struct {
	Cluster string
	// How is one of the Eviction constants of the API.
	How string
	// Replicas are the replicas that the cluster gets back if How is EvictionReturned.
	Replicas int32
}

// Decision is the decision about a binding.
type Decision struct {
	// Evictions and Ended are sorted by cluster.
	Evictions []Eviction
	Ended     []Ended
	// Withdrawn are, by cluster, the replicas that targets lose again because the copy that they were to replace stays;
	// 0 if replicas are not divided, which removes the whole target.
	Withdrawn map[string]int32
	// RestsOn are the clusters whose state the end of tasks depends on: those that were left, and those that have the
	// replacements or are to lose them again.
	RestsOn sets.Set[string]
	// Started says that tasks which others created without a creation time get one.
	Started bool
	// Condition is the condition to set on the binding; nil for none.
	Condition *metav1.Condition
	// Memory is the state to pass to the next decision.
	Memory Memory
	// RecheckAfter is the delay until the next decision if nothing happens before; zero if none is needed.
	RecheckAfter time.Duration
}

// Changes says whether the spec of the binding must be written.
func (d *Decision) Changes() bool { return len(d.Evictions)+len(d.Ended) > 0 || d.Started }

// recheck requests another decision at a time.
func (d *Decision) recheck(now, at time.Time) {
	wait := max(at.Sub(now), time.Millisecond)
	if d.RecheckAfter == 0 || wait < d.RecheckAfter {
		d.RecheckAfter = wait
	}
}
