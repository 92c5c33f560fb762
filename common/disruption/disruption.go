package disruption

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

const (
	// together is the time within which members count as falling silent at once: the phase of their leases and the
	// hub's own period, twice.
	together = 2 * time.Minute
	// Wait is how long after a member fell silent it is known whether the others did too: their leases are at most
	// this much older or younger.
	Wait = 15 * time.Second
)

// DefaultSilence is the default silence after which the hub considers a member with only a lease lost.
const DefaultSilence = 40 * time.Second

// Respite is how long members that fell silent with most others have to come back, one after the other, after the hub
// no longer suspects itself.
const Respite = 2 * time.Minute

// Verdict says whether the hub suspects that it has lost its network, rather than that its members have failed.
type Verdict struct {
	// Silent are the clusters whose silence is not believed; empty if all is well.
	Silent sets.Set[string]
	// Of is how many clusters there were before.
	Of int
	// Awaited are the clusters that fell silent together with others that are back by now, and until when they have
	// time.
	Awaited map[string]time.Time
}

// Suspended returns whether nothing may be evicted from a cluster because of its silence.
func (v Verdict) Suspended(cluster string) bool {
	_, awaited := v.Awaited[cluster]
	return awaited || v.Silent.Has(cluster)
}

// Message explains why nothing is evicted from a cluster because of its silence; empty if it may be.
func (v Verdict) Message(cluster string) string {
	if v.Silent.Has(cluster) {
		return fmt.Sprintf("%d of %d clusters fell silent at once, so the hub suspects its own network and moves nothing away because they are silent. "+
			"If a cluster is really lost, run hub cordon --evict CLUSTER.", len(v.Silent), v.Of)
	}
	if _, awaited := v.Awaited[cluster]; awaited {
		return "Clusters that fell silent together with this one are back. It gets time to come back too, before anything is moved away from it."
	}
	return ""
}

// Reason returns the condition reason that belongs to Message.
func (v Verdict) Reason(cluster string) string {
	if v.Silent.Has(cluster) {
		return workv1alpha2.ReasonHubSuspectsItself
	}
	return workv1alpha2.ReasonOthersAreBack
}

type silence struct {
	name string
	at   time.Time
}

// Decide evaluates all clusters. Its earlier verdict is read from their condition EvictionSuspended.
func Decide(clusters []*clusterv1alpha1.Cluster, now time.Time) Verdict {
	var silences []silence
	members := 0
	for _, c := range clusters {
		ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
		if ready == nil || ready.Reason == clusterv1alpha1.ReasonClusterStatusNeverUpdated || !c.DeletionTimestamp.IsZero() {
			continue
		}
		members++
		if ready.Status == metav1.ConditionUnknown {
			silences = append(silences, silence{name: c.Name, at: ready.LastTransitionTime.Time})
		}
	}
	slices.SortFunc(silences, func(a, b silence) int { return a.at.Compare(b.at) })
	out := most(silences, members)
	for _, c := range clusters {
		if until, ok := awaited(c, now); ok && !out.Silent.Has(c.Name) {
			if out.Awaited == nil {
				out.Awaited = map[string]time.Time{}
			}
			out.Awaited[c.Name] = until
		}
	}
	return out
}

// most finds the clusters that fell silent at once and were most of those present. Any sufficiently short run of
// silences may be it; clusters that fell silent before it were gone already and do not count.
func most(silences []silence, members int) Verdict {
	// The end of a run only moves forward with its beginning, so each silence is visited twice.
	var from, to, of, last int
	for first := range silences {
		last = max(last, first)
		for last+1 < len(silences) && silences[last+1].at.Sub(silences[first].at) <= together {
			last++
		}
		fell, before := last-first+1, members-first
		if 2*fell > before && (fell > 1 || before <= 1) && fell > to-from {
			from, to, of = first, last+1, before
		}
	}
	if to == from {
		return Verdict{}
	}
	out := Verdict{Silent: sets.Set[string]{}, Of: of}
	for _, s := range silences[from:to] {
		out.Silent.Insert(s.name)
	}
	return out
}

// awaited returns until when a cluster has time whose silence was not believed before.
func awaited(c *clusterv1alpha1.Cluster, now time.Time) (time.Time, bool) {
	condition := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended)
	if condition == nil || condition.Status != metav1.ConditionTrue || Since(c).IsZero() {
		return time.Time{}, false
	}
	until := now.Add(Respite)
	if condition.Reason == workv1alpha2.ReasonOthersAreBack {
		until = condition.LastTransitionTime.Add(Respite)
	}
	return until, now.Before(until)
}

// Since returns when a cluster fell silent; zero if it is not silent.
func Since(c *clusterv1alpha1.Cluster) time.Time {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready == nil || ready.Status != metav1.ConditionUnknown {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}
