package disruption

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Watch records since when a stage has heard from each cluster. It is kept in memory only: a stage that starts goes by the Clusters'
// conditions. It is safe for use by many goroutines.
type Watch struct {
	mu    sync.Mutex
	began time.Time
	// ticked, like all that is compared here, is by the wall clock: the monotonic one stands still while a machine is suspended.
	ticked   time.Time
	clusters map[string]heard
}

// maxPause is after how long without a tick a process had been stopped.
const maxPause = 5 * time.Second

// TickInterval is how often a stage is to call Tick, if it does.
const TickInterval = maxPause / 5

// heard is how a cluster was when it was heard from last.
type heard struct {
	uid types.UID
	// status is the status of its condition Ready, at when that says it became so, and since the same without the time for which
	// lines were lost since.
	status    metav1.ConditionStatus
	at, since time.Time
	// lost is when its line was seen to be lost, by the clock of who looks; zero if it is heard from.
	lost time.Time
}

// Began returns since when the stage follows the clusters: since it was asked first, or since its process was stopped for the last
// time, as with a machine that is suspended, if it ticks.
func (w *Watch) Began(now time.Time) time.Time {
	now = now.Round(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(now)
	if w.began.IsZero() {
		w.began = now
	}
	return w.began
}

// Tick notes that the process runs.
func (w *Watch) Tick(now time.Time) {
	now = now.Round(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(now)
	w.ticked = now
}

// Restart has the stage follow the clusters from now on only, as when the API did not answer: nobody was heard meanwhile.
func (w *Watch) Restart(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = now.Round(0)
}

// look sees whether the process was stopped since the last tick, maybe before the first one after that. A hub that waits for its turn
// ticks, too, and follows nobody yet. What a clock that was ahead said, and was put back since, is no later than now.
func (w *Watch) look(now time.Time) {
	if w.began.After(now) {
		w.began = now
	}
	if w.ticked.IsZero() || now.Sub(w.ticked) <= maxPause {
		return
	}
	w.ticked = now
	if !w.began.IsZero() {
		w.began = now
	}
}

// Observe takes over how a cluster is now, given after how much silence the hub gives up members that have nothing but their
// lease. What is told of one cluster is told in the order in which it happened.
func (w *Watch) Observe(c *clusterv1alpha1.Cluster, silence time.Duration, now time.Time) {
	now = now.Round(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.clusters == nil {
		w.clusters = map[string]heard{}
	}
	next := w.clusters[c.Name].next(c, silence, now)
	if next == (heard{}) {
		delete(w.clusters, c.Name)
		return
	}
	w.clusters[c.Name] = next
}

// Gone forgets a cluster.
func (w *Watch) Gone(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clusters, name)
}

// HeardSince says since when a cluster is as its condition Ready says, which is not Unknown. A line that was lost for less
// than it takes to give up a member is no end of that, but that time does not count; zero if nothing is said.
func (w *Watch) HeardSince(c *clusterv1alpha1.Cluster) time.Time {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	if ready == nil || ready.Status == metav1.ConditionUnknown {
		return time.Time{}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.clusters[c.Name]; ok && known.is(c.UID, ready) {
		return known.since
	}
	return ready.LastTransitionTime.Time
}

func (h heard) is(uid types.UID, ready *metav1.Condition) bool {
	return h.uid == uid && h.status == ready.Status && h.at.Equal(ready.LastTransitionTime.Time)
}

// next returns the record after another look at the Cluster.
func (h heard) next(c *clusterv1alpha1.Cluster, silence time.Duration, now time.Time) heard {
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	switch {
	case ready == nil, ready.Status == metav1.ConditionUnknown && (!disconnected(c) || h.uid != c.UID):
		return heard{}
	case ready.Status == metav1.ConditionUnknown:
		if h.lost.IsZero() {
			h.lost = now
		}
		return h
	}
	out := heard{uid: c.UID, status: ready.Status, at: ready.LastTransitionTime.Time, since: ready.LastTransitionTime.Time}
	switch gap := now.Sub(h.lost); {
	case h.uid != c.UID || h.status != ready.Status:
	case h.lost.IsZero() && h.at.Equal(out.at):
		out.since = h.since
	case !h.lost.IsZero() && gap < silence:
		out.since = h.since.Add(max(gap, 0))
	}
	return out
}
