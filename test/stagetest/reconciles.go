package stagetest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// What controller-runtime logs at the end of a reconcile that returned no error.
const (
	logSucceeded = "Reconcile successful"
	logRequeued  = "Reconcile done, requeueing after "
)

// Reconciles counts the reconciles of a manager that ended without an error. With that a test waits until a stage has looked
// at an object about which it has nothing to write. What the stage does about other objects says nothing of that: a stage
// that starts looks at new objects before it looks at those of its first list. The zero value is ready for concurrent use.
type Reconciles struct {
	mu    sync.Mutex
	ended map[reconcile]int
}

// reconcile tells reconciles apart that are counted together.
type reconcile struct {
	controller, namespace, name string
	requeued                    bool
}

// Count has the reconciles of a manager counted. It is an option of Manager and Start.
func (r *Reconciles) Count(o *manager.Options) { o.Logger = logr.New(reconcileLog{to: r}) }

// Succeeded returns how many reconciles of an object by a controller have ended with nothing left to do.
func (r *Reconciles) Succeeded(controller string, object client.ObjectKey) int {
	return r.count(reconcile{controller: controller, namespace: object.Namespace, name: object.Name})
}

// Requeued returns how many reconciles of an object by a controller have ended and are to be repeated after a time.
func (r *Reconciles) Requeued(controller string, object client.ObjectKey) int {
	return r.count(reconcile{controller: controller, namespace: object.Namespace, name: object.Name, requeued: true})
}

// AwaitQuiet waits until no reconcile of the manager has ended for Quiet, so that a request that comes late is counted too.
func (r *Reconciles) AwaitQuiet(t *testing.T) {
	t.Helper()
	last, since := r.total(), time.Now()
	gomega.NewWithT(t).Eventually(func() bool {
		if n := r.total(); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) >= Quiet
	}, Timeout, Poll).Should(gomega.BeTrue(), "reconciles still end")
}

func (r *Reconciles) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := 0
	for _, n := range r.ended {
		out += n
	}
	return out
}

func (r *Reconciles) count(of reconcile) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[of]
}

func (r *Reconciles) add(of reconcile) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.ended = map[reconcile]int{}
	}
	r.ended[of]++
}

// reconcileLog is a log that keeps only that reconciles ended.
type reconcileLog struct {
	to     *Reconciles
	values []any
}

var _ logr.LogSink = reconcileLog{}

// Init implements logr.LogSink.
func (reconcileLog) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink. The end of a reconcile is logged at level 5.
func (reconcileLog) Enabled(int) bool { return true }

// Info implements logr.LogSink.
func (l reconcileLog) Info(_ int, message string, _ ...any) {
	requeued := strings.HasPrefix(message, logRequeued)
	if requeued || message == logSucceeded {
		l.to.add(reconcile{controller: l.text("controller"), namespace: l.text("namespace"), name: l.text("name"), requeued: requeued})
	}
}

// Error implements logr.LogSink.
func (reconcileLog) Error(error, string, ...any) {}

// WithValues implements logr.LogSink.
func (l reconcileLog) WithValues(keysAndValues ...any) logr.LogSink {
	return reconcileLog{to: l.to, values: slices.Concat(l.values, keysAndValues)}
}

// WithName implements logr.LogSink.
func (l reconcileLog) WithName(string) logr.LogSink { return l }

// text returns the text that a key has; the empty one if it has none.
func (l reconcileLog) text(key string) string {
	out := ""
	for i := 0; i+1 < len(l.values); i += 2 {
		if text, ok := l.values[i+1].(string); ok && l.values[i] == key {
			out = text
		}
	}
	return out
}
