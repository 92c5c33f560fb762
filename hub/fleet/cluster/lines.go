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

// Lines are the lines that agents keep open to the hub. Its methods are called from many goroutines and answer from
// memory.
type Lines interface {
	// Line says what is seen of the lines of a cluster now, and whether it has had one.
	Line(cluster string) (health.LineReport, bool)
	// OnChange has f called with the name of a cluster whenever what Line says of it has changed, until stop is called.
	// F does not block.
	OnChange(f func(cluster string)) (stop func())
	// Clusters names the clusters that have had a line.
	Clusters() []string
}

// noLines is a hub to which no agent opens a line.
type noLines struct{}

func (noLines) Line(string) (health.LineReport, bool) { return health.LineReport{}, false }
func (noLines) OnChange(func(string)) func()          { return func() {} }
func (noLines) Clusters() []string                    { return nil }

// lossesFor is for how long it is remembered how many lines were lost when.
const lossesFor = time.Second

// lineTracker remembers what became of the line of each cluster while the stage runs. When lines were lost is told by
// the clock of this process: another replica, which may have held them, has another clock.
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

// of says what is known of the line of a cluster, and whether it was lost together with most others.
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

// see brings the history of a cluster's line up to date and returns the line. The lock is held.
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

// follow queues the clusters whose lines change, until the context ends. It implements source.Func: a change costs a
// look at one cluster, and no request.
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
