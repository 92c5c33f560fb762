package cluster

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/hub/fleet/cluster/health"
)

// pulse is a health.Pulse for many goroutines.
type pulse struct {
	clock   clock.WithTicker
	options health.Options

	mu    sync.Mutex
	pulse health.Pulse
}

// start has it beat until the context ends. It implements source.Func, and queues nothing.
func (p *pulse) start(ctx context.Context, _ workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	p.beat()
	ticker := p.clock.NewTicker(p.options.Period / 5)
	go func() {
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C():
				p.beat()
			}
		}
	}()
	return nil
}

func (p *pulse) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulse = p.pulse.Beat(p.clock.Now(), p.options.Period)
}

// awake says since when the hub has run without a stop.
func (p *pulse) awake() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulse = p.pulse.Look(p.clock.Now(), p.options.Period)
	return p.pulse.Awake
}

// answered notes that the API has answered what it was asked at some time.
func (p *pulse) answered(asked time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulse = p.pulse.Answered(asked, p.clock.Now(), p.options.Grace)
}
