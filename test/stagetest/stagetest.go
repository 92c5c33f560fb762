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
)

// How tests of stages wait.
const (
	// Timeout is how long what is to come may take, on a machine that has other work too.
	Timeout = time.Minute
	// Poll is how often is looked whether it has.
	Poll = 50 * time.Millisecond
	// Quiet is for how long nothing may come where nothing is to.
	Quiet = 300 * time.Millisecond
)

// ShutdownTimeout is how long what a manager, a hub or an agent runs may take to end in tests: on a busy machine that may be longer than
// controller-runtime, hubs and agents wait for it by themselves.
const ShutdownTimeout = 2 * time.Minute

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

// Intercept returns a configuration whose requests first says something of before they are sent. Those for which it returns an
// answer or an error are not sent.
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

// Change reads an object, changes it and writes it, until nobody else has written it meanwhile.
func Change(tb testing.TB, c client.Client, obj client.Object, change func()) {
	tb.Helper()
	write(tb, c, obj, change, func() error { return c.Update(tb.Context(), obj) })
}

// ChangeStatus does the same with its status.
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
