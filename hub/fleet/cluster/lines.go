package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/hub/fleet/cluster/health"
)

// Lines reports on the lines that agents keep open to the hub. Its methods are safe for concurrent use, and answer from
// memory.
type Lines interface {
	// Line returns the latest report on the lines of a cluster; false if the cluster has had none.
	Line(cluster string) (health.LineReport, bool)
	// OnChange registers a function that is called with the name of a cluster whenever its Line changes, until stop is called. The function
	// must not block.
	OnChange(f func(cluster string)) (stop func())
	// Clusters returns the names of the clusters that have had a line.
	Clusters() []string
}

// noLines stands for a hub that accepts no lines.
type noLines struct{}

func (noLines) Line(string) (health.LineReport, bool) { return health.LineReport{}, false }
func (noLines) OnChange(func(string)) func()          { return func() {} }
func (noLines) Clusters() []string                    { return nil }

// lossesFor is how long the collected losses of all lines are cached.
const lossesFor = time.Second

// lineTracker keeps the history of each cluster's lines. Times of losses are by the clock of this process, since another replica that holds
// lines has another clock.
type lineTracker struct {
	lines Lines
	clock clock.PassiveClock

	mu        sync.Mutex
	histories map[string]health.LineHistory
	losses    health.LineLosses
	counted   time.Time
}

func newLineTracker(lines Lines, clk clock.PassiveClock) *lineTracker {
	if lines == nil {
		lines = noLines{}
	}
	return &lineTracker{lines: lines, clock: clk, histories: map[string]health.LineHistory{}}
}

// of returns the state of a cluster's line, and whether it was lost together with most others.
func (t *lineTracker) of(cluster string) (line health.Line, suspect bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line = t.see(cluster)
	if !line.Known || line.Up || line.Lost.IsZero() || line.Goodbye {
		return line, false
	}
	now := t.clock.Now()
	if now.Sub(t.counted) >= lossesFor || now.Before(t.counted) {
		all := make([]health.Line, 0, len(t.histories))
		for _, history := range t.histories {
			all = append(all, history.Line)
		}
		t.losses, t.counted = health.NewLineLosses(all), now
	}
	return line, t.losses.MostAt(line.Lost)
}

// see updates the history of a cluster's line and returns the line. The caller holds the lock.
func (t *lineTracker) see(cluster string) health.Line {
	seen, known := t.lines.Line(cluster)
	if !known {
		delete(t.histories, cluster)
		return health.Line{}
	}
	history := t.histories[cluster].Next(seen, t.clock.Now())
	t.histories[cluster] = history
	return history.Line
}

// follow enqueues the clusters whose lines change, until the context ends. It implements source.Func. A change costs a reconcile of one
// cluster, and no request.
func (t *lineTracker) follow(ctx context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	changed := func(cluster string) {
		t.mu.Lock()
		t.see(cluster)
		t.mu.Unlock()
		queue.Add(ctrl.Request{NamespacedName: types.NamespacedName{Name: cluster}})
	}
	stop := t.lines.OnChange(changed)
	context.AfterFunc(ctx, stop)
	for _, cluster := range t.lines.Clusters() {
		changed(cluster)
	}
	return nil
}
