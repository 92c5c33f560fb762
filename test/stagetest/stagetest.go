// Package stagetest is what the tests of single stages share: a manager that runs one on
// a real API server until the test ends, and what that stage tells people.
package stagetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/common/kube"
)

// shutdownTimeout is how long what a manager runs may take to end.
const shutdownTimeout = 2 * time.Minute

// Manager returns a manager for the stages of one test: it serves no metrics, logs nothing
// and lets others of the same process have controllers of the same names.
func Manager(tb testing.TB, cfg *rest.Config, change ...func(*manager.Options)) manager.Manager {
	tb.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		tb.Fatal(err)
	}
	o := manager.Options{
		Scheme: scheme, NewClient: kube.NewClient, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		// On a busy machine it takes more than the half a minute of controller-runtime to end what is under way.
		GracefulShutdownTimeout: new(shutdownTimeout),
	}
	for _, c := range change {
		c(&o)
	}
	mgr, err := manager.New(cfg, o)
	if err != nil {
		tb.Fatal(err)
	}
	return mgr
}

// Run runs a manager until the test ends, which waits for it, or until stop is called.
func Run(tb testing.TB, mgr manager.Manager) (stop func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			tb.Errorf("manager: %v", err)
		}
	})
	tb.Cleanup(stop)
	return stop
}

// Start runs a stage until the test ends, which waits for it, or until stop is called: a manager that has a hub's indexes
// and what register adds to it.
func Start(tb testing.TB, cfg *rest.Config, register func(manager.Manager) error, change ...func(*manager.Options)) (stop func()) {
	tb.Helper()
	mgr := Manager(tb, cfg, change...)
	if err := kube.Index(tb.Context(), mgr.GetCache()); err != nil {
		tb.Fatal(err)
	}
	if err := register(mgr); err != nil {
		tb.Fatalf("registering the stage: %v", err)
	}
	return Run(tb, mgr)
}

// Events keeps what a stage tells. The zero value is ready for use, by many goroutines.
type Events struct {
	mu  sync.Mutex
	all []kube.Event
}

// Record keeps an event.
func (e *Events) Record(event kube.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// All returns the events so far.
func (e *Events) All() []kube.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// Notes returns what was told for a reason.
func (e *Events) Notes(reason string) []string {
	var out []string
	for _, event := range e.All() {
		if event.Reason == reason {
			out = append(out, event.Note)
		}
	}
	return out
}
