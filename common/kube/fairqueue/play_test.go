package fairqueue_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/fairqueue"
)

// play is a controller with a queue. Requests with "large" in their name need a slot, and hold it for a second.
type play struct {
	*fairqueue.Queue

	end func()

	mu sync.Mutex
	// looks counts the reconciles of each request, done has the finished ones, and with counts those with workers, by
	// namespace.
	looks map[string]int
	done  []string
	with  map[string]int
	// most is the maximum of with, by namespace.
	most map[string]int
	// does is called in each reconcile; nil does nothing.
	does func(name string) error
}

// begin starts a controller with that many workers in a synctest bubble, until end is called.
func begin(t *testing.T, workers int, does func(name string) error) *play {
	t.Helper()
	g := NewWithT(t)
	p := &play{
		Queue: fairqueue.New(fairqueue.SlotsOf(workers)), does: does, looks: map[string]int{}, with: map[string]int{}, most: map[string]int{},
	}
	options := kube.ControllerOptions(workers)
	options.NewQueue, options.SkipNameValidation = p.Start, new(true)
	options.Reconciler = kube.QuietConflicts(reconcile.Func(p.reconcile))
	c, err := controller.NewUnmanaged(strings.ToLower(t.Name()), options)
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	synctest.Wait()
	p.end = func() {
		cancel()
		g.Expect(<-ended).To(Succeed())
		synctest.Wait() // a goroutine that is still running makes the bubble panic
	}
	return p
}

func (p *play) reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	name := req.String()
	p.note(func() { p.looks[name]++ })
	if strings.Contains(name, "large") {
		if err := p.TakeSlot(req); err != nil {
			return reconcile.Result{}, fmt.Errorf("taking a slot: %w", err)
		}
		p.note(func() {
			p.with[req.Namespace]++
			p.most[req.Namespace] = max(p.most[req.Namespace], p.with[req.Namespace])
		})
		defer p.note(func() { p.with[req.Namespace]-- })
		time.Sleep(time.Second)
	}
	if p.does != nil {
		if err := p.does(name); err != nil {
			return reconcile.Result{}, err
		}
	}
	p.note(func() { p.done = append(p.done, name) })
	return reconcile.Result{}, nil
}

func (p *play) note(what func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	what()
}

func (p *play) addAll(names ...string) {
	for _, name := range names {
		p.Add(requestOf(name))
	}
}

// finished returns the requests finished since the last call.
func (p *play) finished() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.done
	p.done = nil
	return out
}

// tried returns how often a request was reconciled.
func (p *play) tried(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.looks[name]
}

func requestOf(name string) reconcile.Request {
	namespace, rest, _ := strings.Cut(name, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: rest}}
}

func numbered(prefix string, count int) []string {
	out := make([]string, count)
	for i := range out {
		out[i] = fmt.Sprintf("%s-%02d", prefix, i)
	}
	return out
}
