package stagetest

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"

	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// Timings of tests of stages.
const (
	// Timeout is how long to wait for an expected change, on a machine that does other work too.
	Timeout = time.Minute
	// Poll is the polling interval.
	Poll = 50 * time.Millisecond
	// Quiet is how long to check that nothing happens.
	Quiet = 300 * time.Millisecond
)

// ShutdownTimeout is how long a manager, a hub or an agent may take to shut down in tests: on a busy machine that may
// take longer than the defaults of controller-runtime, hubs and agents.
const ShutdownTimeout = 2 * time.Minute

// Manager returns a manager for the stages of one test: it serves no metrics, logs nothing, and allows duplicate
// controller names in the process.
func Manager(tb testing.TB, cfg *rest.Config, change ...func(*manager.Options)) manager.Manager {
	tb.Helper()
	scheme, err := kube.NewScheme()
	if err != nil {
		tb.Fatal(err)
	}
	o := manager.Options{
		Scheme: scheme, NewClient: kube.NewClient, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(ShutdownTimeout),
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

// Run runs a manager until stop is called or the test ends, which waits for it.
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

// Start runs a stage until stop is called or the test ends, which waits for it: in a manager with a hub's indexes and
// whatever register adds.
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

// Intercept returns a configuration that passes each request to first before it is sent. If first returns a response or
// an error, the request is not sent.
func Intercept(cfg *rest.Config, first func(*http.Request) (*http.Response, error)) *rest.Config {
	out := rest.CopyConfig(cfg)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper { return interceptor{next: next, first: first} })
	return out
}

type interceptor struct {
	next  http.RoundTripper
	first func(*http.Request) (*http.Response, error)
}

// RoundTrip implements http.RoundTripper.
func (i interceptor) RoundTrip(req *http.Request) (*http.Response, error) {
	if answer, err := i.first(req); answer != nil || err != nil {
		return answer, err
	}
	return i.next.RoundTrip(req)
}

// Change reads an object, changes and writes it, and retries on conflicts.
func Change(tb testing.TB, c client.Client, obj client.Object, change func()) {
	tb.Helper()
	write(tb, c, obj, change, func() error { return c.Update(tb.Context(), obj) })
}

// ChangeStatus does the same with the status.
func ChangeStatus(tb testing.TB, c client.Client, obj client.Object, change func()) {
	tb.Helper()
	write(tb, c, obj, change, func() error { return c.Status().Update(tb.Context(), obj) })
}

func write(tb testing.TB, c client.Client, obj client.Object, change func(), update func() error) {
	tb.Helper()
	gomega.NewWithT(tb).Eventually(func() error {
		if err := c.Get(tb.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change()
		return update()
	}, Timeout, Poll).Should(gomega.Succeed())
}

// Events records the events of a stage. The zero value is ready for concurrent use.
type Events struct {
	mu  sync.Mutex
	all []eventsink.Event
}

// Record keeps an event.
func (e *Events) Record(event eventsink.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
}

// All returns the events so far.
func (e *Events) All() []eventsink.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// Notes returns the notes of the events with a reason.
func (e *Events) Notes(reason string) []string {
	var out []string
	for _, event := range e.All() {
		if event.Reason == reason {
			out = append(out, event.Note)
		}
	}
	return out
}
