package disruption

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Watch records since when a stage has heard from each cluster. It is kept in memory only: after a start, the
// Clusters' conditions are used. It is safe for concurrent use.
type Watch struct {
	mu    sync.Mutex
	began time.Time
	// ticked, like all times compared here, is wall-clock time: the monotonic clock stops while a machine is
	// suspended.
	ticked   time.Time
	clusters map[string]heard
}

// maxPause is the time without a tick after which the process counts as having been stopped.
const maxPause = 5 * time.Second

// tickInterval is the interval at which KeepTicking calls Tick.
const tickInterval = maxPause / 5

// heard is the state of a cluster when it was last heard from.
type heard struct {
	uid types.UID
	// status is the status of its condition Ready, at is the condition's transition time, and since is the same
	// without the time during which lines were lost.
	status    metav1.ConditionStatus
	at, since time.Time
	// lost is when the line was seen to be lost, by this process's clock; zero if the cluster is heard from.
	lost time.Time
}

// Began returns since when the stage has followed the clusters: since the first call, or since the process was last
// stopped, for instance because the machine was suspended, if it ticks.
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

// Tick records that the process is running.
func (w *Watch) Tick(now time.Time) {
	now = now.Round(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.look(now)
	w.ticked = now
}

// KeepTicking calls Tick at intervals until the context ends. It returns at once.
func (w *Watch) KeepTicking(ctx context.Context, c clock.WithTicker) {
	ticker := c.NewTicker(tickInterval)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
				w.Tick(c.Now())
			}
		}
	}()
}

// Restart makes the stage follow the clusters only from now on, for instance because the API did not answer: nobody
// was heard from meanwhile.
func (w *Watch) Restart(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.began = now.Round(0)
}

// look detects whether the process was stopped since the last tick, possibly before the first tick afterwards. A hub
// that waits for leadership ticks, too, and follows nobody yet. A time in the future, from before the clock was set
// back, counts as now.
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

// Observe records the present state of a cluster, given the silence after which the hub considers members with only a
// lease lost. The states of one cluster must be observed in order.
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

// Gone removes a cluster.
func (w *Watch) Gone(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.clusters, name)
}

// HeardSince returns since when a cluster has had its present status of Ready, which is not Unknown; zero if there is
// none. A line that was lost for less than the silence does not interrupt that, but the time of the loss does not
// count.
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
