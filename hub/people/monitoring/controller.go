package monitoring

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/monitoring/series"
	"fairlead.dev/hub/people/view/clusters"
)

// Deps are the dependencies of the package.
type Deps struct {
	// Registry takes the metrics.
	Registry metrics.RegistererGatherer
	// Clock is the clock.
	Clock clock.PassiveClock
}

// Monitor measures durations as changes happen, and collects states when scraped.
type Monitor struct {
	hubClient   client.Reader
	clock       clock.PassiveClock
	describe    descriptions
	propagation prometheus.Histogram

	mu      sync.Mutex
	changes *series.Tracker[types.NamespacedName]
	// heard is when the lease of a cluster was last seen to be renewed, or first seen by this process.
	heard map[string]heartbeat
	// memo caches the state of each application between two scrapes.
	memo memo
	// last has the metrics of the last count, and the time of that count.
	last   []prometheus.Metric
	lastAt time.Time
}

// heartbeat is a renewal of a lease, and the time at which it was seen.
type heartbeat struct {
	renewed, seen time.Time
	// rarely says that the lease is renewed rarely, because the agent's line counts as its heartbeat.
	rarely bool
}

// age returns how long ago an agent was last heard from. If it was already silent when this hub became leader, the
// condition set by the previous leader says since when.
func (h heartbeat) age(c *clusters.Cluster, now time.Time) time.Duration {
	isSilent := c.Ready == string(metav1.ConditionUnknown) && c.Since != nil
	switch {
	case !h.rarely && isSilent:
		return max(now.Sub(h.seen), now.Sub(*c.Since))
	case !h.rarely:
		return now.Sub(h.seen)
	case isSilent:
		return now.Sub(*c.Since)
	default:
		return max(0, now.Sub(h.seen)-contract.RestingLease-time.Minute)
	}
}

// Register adds the monitor to a manager.
func Register(mgr manager.Manager, deps Deps) error {
	if deps.Registry == nil || deps.Clock == nil {
		return errors.New("registering the monitor: it needs a registry and a clock")
	}
	m := &Monitor{
		hubClient: mgr.GetClient(), clock: deps.Clock, describe: describe(),
		changes: series.NewTracker[types.NamespacedName](), heard: map[string]heartbeat{},
	}
	var err error
	if m.propagation, err = registered(deps.Registry, newPropagation()); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return m.run(ctx, mgr, deps.Registry) })); err != nil {
		return fmt.Errorf("adding the monitor: %w", err)
	}
	return nil
}

// run measures and collects while this hub is the leader.
func (m *Monitor) run(ctx context.Context, mgr manager.Manager, registry metrics.RegistererGatherer) error {
	stop, err := m.watch(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	if err := registry.Register(m); err != nil {
		// Only in tests: another hub of this process has registered it.
		if _, twice := errors.AsType[prometheus.AlreadyRegisteredError](err); !twice {
			return fmt.Errorf("registering metrics: %w", err)
		}
	} else {
		defer registry.Unregister(m)
	}
	<-ctx.Done()
	return stop()
}

// kinds returns the kinds that are watched to measure durations.
func kinds() []client.Object {
	return []client.Object{&workv1alpha2.ResourceBinding{}, &workv1alpha2.ClusterResourceBinding{}, &coordinationv1.Lease{}}
}
