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

// DefaultGrace is how long an old copy waits for the new one if nothing else is said.
const DefaultGrace = 10 * time.Minute

// Input is what is known of one binding. Nothing of it is changed.
type Input struct {
	// Now is the time.
	Now time.Time
	// Generation of the binding.
	Generation int64
	// Namespaced says that it is a ResourceBinding.
	Namespaced bool
	// Unscheduled says that no scheduler finds other clusters for it: it has lost its policy,
	// or its scheduling is suspended.
	Unscheduled bool
	// Spec and Status of the binding.
	Spec   *workv1alpha2.ResourceBindingSpec
	Status *workv1alpha2.ResourceBindingStatus
	// Tolerations are the tolerations of the placement that was applied.
	Tolerations []corev1.Toleration
	// Clusters are the clusters that the binding names and that exist, by name.
	Clusters map[string]*clusterv1alpha1.Cluster
	// Works are the clusters that have a Work of the binding, be it about to go.
	Works map[string]Work
	// HasHealthRule says that the health of the kind is told by a rule, and not by conventions
	// only: then it counts.
	HasHealthRule bool
	// Suspended are the clusters whose silence is no reason to leave them, and what to
	// say of each.
	Suspended map[string]Suspension
	// ByCondition are the keys of the NoExecute taints that policies put on clusters by
	// their conditions: others were put there by people, who are believed.
	ByCondition sets.Set[string]
	// BySilence are the keys of those taints that policies put on clusters because these are
	// not Ready. Without a word of the policy they are tolerated for DefaultToleration.
	BySilence sets.Set[string]
	// Expiring are the keys of those of ByCondition that are about to go, by cluster.
	Expiring map[string]sets.Set[string]
	// SeenFor is for how long this process has seen those taints that came to clusters since it follows them, by cluster and key. That
	// is by a clock which nobody sets, unlike what taints say.
	SeenFor map[string]map[string]time.Duration
	// Past is what the binding remembers of evictions.
	Past []workv1alpha2.Eviction
	// Began is since when this process follows the clusters: whose line was lost before gets time anew. The zero value is for ever.
	Began time.Time
	// HeardSince is since when the clusters are heard from, by name, without moments for which their lines were lost.
	HeardSince map[string]time.Time
	// Memory is what the last decision left.
	Memory Memory
	// CouldPlaceWithout says whether the scheduler would find a place if the application were
	// none of these clusters' any more.
	CouldPlaceWithout func(without []string) bool
	// WouldReturn says whether the scheduler would choose a cluster again that is being left: then
	// it takes back the eviction itself.
	WouldReturn func(cluster string) bool
	// Unproven says whether a cluster has a revision that is being rolled out and is not stable: how the
	// application fares there is for the rollout to judge, or failures would move rather than count.
	Unproven func(cluster string) bool
	// RateLimit says how long the rate limit of its zone makes the application wait before it
	// leaves a cluster because of a taint; 0 is not at all.
	RateLimit func(cluster string) time.Duration
	// State reads what is to go along from a cluster; nil rules are none.
	State func(cluster string, rules []policyv1alpha1.StatePreservationRule) (map[string]string, error)
	// Options are what the hub was started with.
	Options Options

	// items are the items of the status by cluster, once they were asked for.
	items map[string]*workv1alpha2.AggregatedStatusItem
	// least is how many replicas clusters had at least before the evictions under way, by name, and unknown says that it
	// is not known what was before one; once they were asked for.
	least   map[string]int32
	unknown bool
}

// Options are for all bindings.
type Options struct {
	// Grace is how long an old copy waits for the new one.
	Grace time.Duration
	// PurgeMode is the mode of taints where the policy says nothing.
	PurgeMode policyv1alpha1.PurgeMode
	// Silence is after how much of it the hub gives up members that have nothing but their lease; 0 is the default.
	Silence time.Duration
}

// Work is what matters of a Work.
type Work struct {
	// Observed says that the cluster has reported on it as it is.
	Observed bool
}

// Suspension is why the silence of a cluster is no reason to leave it.
type Suspension struct {
	// Reason is one word, Message a sentence.
	Reason, Message string
}

// Memory is what is to be remembered of a binding between two decisions, as long as the
// hub runs.
type Memory struct {
	// Unhealthy is since when the application is not healthy, by cluster, and Template the
	// version of the template that this is about: another one begins anew.
	Unhealthy map[string]time.Time
	Template  string
	// Unheard is since when nobody knows whether it still is so, by cluster: that time does not count.
	Unheard map[string]time.Time
	// Resumed is since when what takes the place of copies is sent again, by the cluster that is left; zero while
	// dispatching is suspended. The grace period is counted from then.
	Resumed map[string]time.Time
}

// Empty says that there is nothing to remember.
func (m Memory) Empty() bool { return len(m.Unhealthy)+len(m.Resumed) == 0 }

// Eviction is a cluster to leave.
type Eviction struct {
	Cluster string
	Task    workv1alpha2.GracefulEvictionTask
}

// Ended is a task that is over.
type Ended struct {
	Cluster string
	// How is one of the Eviction constants of the API.
	How string
	// Replicas that are put back where they were, if it is EvictionReturned.
	Replicas int32
}

// Decision is what to do about a binding.
type Decision struct {
	// Evictions and Ended are sorted by cluster.
	Evictions []Eviction
	Ended     []Ended
	// Withdrawn are the replicas that targets lose again because the copy that they were to
	// replace stays, by cluster; 0 is all there is of what is not divided.
	Withdrawn map[string]int32
	// RestsOn are the clusters by whose state tasks end: those that were left, and those that have what takes the place of a
	// copy, or are to have it no more.
	RestsOn sets.Set[string]
	// Started are tasks of others that are told since when they are there.
	Started bool
	// Condition is what to say on the binding; nil to say nothing.
	Condition *metav1.Condition
	// Memory is what to remember.
	Memory Memory
	// RecheckAfter is when to decide again if nothing happens until then; zero if
	// there is no need.
	RecheckAfter time.Duration
}

// Changes says whether the spec of the binding is to be written.
func (d *Decision) Changes() bool { return len(d.Evictions)+len(d.Ended) > 0 || d.Started }

// recheck notes that there will be something to decide at a time.
func (d *Decision) recheck(now, at time.Time) {
	wait := max(at.Sub(now), time.Millisecond)
	if d.RecheckAfter == 0 || wait < d.RecheckAfter {
		d.RecheckAfter = wait
	}
}
