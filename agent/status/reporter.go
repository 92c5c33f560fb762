package status

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube/eventsink"
)

const (
	// defaultWorkers is how many Works are written concurrently, and slowWorkers the same where each answer takes
	// long.
	defaultWorkers = 8
	slowWorkers    = 32
	// firstDelay is how long a change waits for others of the same Work.
	firstDelay = 10 * time.Millisecond
	// streamDelay is the same if the Work was written within streamFor: during a rollout, for instance, more changes
	// will follow.
	streamDelay = 50 * time.Millisecond
	streamFor   = time.Second
	// streamFree is how many consecutive writes are made at that pace. A longer series, such as the rollout of
	// thousands of pods, is written more and more slowly: the delay doubles with each write up to lastDelay, until
	// nothing was written for calm.
	streamFree = 8
	lastDelay  = time.Second
	calm       = 2 * time.Second
	// trustWritten is how long our last write outweighs a cache that shows an older version. If the cache still shows
	// it afterwards, it is right: the hub was restored.
	trustWritten = 5 * time.Second
	// askAgainAfter is the delay before an unanswered interpretation is retried. Nothing else would trigger it: a
	// healthy object does not change.
	askAgainAfter = 30 * time.Second
	firstRetry    = 20 * time.Millisecond
	lastRetry     = time.Minute
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Namespace is the execution namespace, on the hub.
	Namespace string
	// Cluster is the name of the member, for events.
	Cluster string
	// Interpreter interprets the status of objects.
	Interpreter interpreter.Interpreter
	// Known returns whether the interpreter has the hub's rules; nil means that it has. Until then, the hub keeps the
	// statuses of objects that it has.
	Known func() bool
	// PodReasons returns why pods of an object are not ready; known is false until pods were read. It must not block.
	PodReasons func(*unstructured.Unstructured) (reasons []workv1alpha1.PodReason, known bool)
	// Events receives the events.
	Events eventsink.Sink
	// Clock is replaced in tests.
	Clock clock.WithTicker
	// Registry receives the metrics; nil means that of the process.
	Registry prometheus.Registerer
	// Workers is how many Works are written concurrently; 0 picks a number, which is larger while IsSlow returns
	// true.
	Workers int
	// IsSlow returns whether the network to the hub is slow; nil means that it is not.
	IsSlow func() bool
}

// Reporter writes the status of Works. It is safe for concurrent use.
type Reporter struct {
	hubClient   client.Client
	interpreter interpreter.Interpreter
	known       func() bool
	podReasons  func(*unstructured.Unstructured) ([]workv1alpha1.PodReason, bool)
	events      eventsink.Sink
	clock       clock.WithTicker
	namespace   string
	cluster     string
	workers     int
	isSlow      func() bool
	writes      writeLimiter

	queue workqueue.TypedRateLimitingInterface[types.NamespacedName]
	took  prometheus.Observer

	mu    sync.Mutex
	works map[types.NamespacedName]*facts
}

// New returns a Reporter. The hub's client reads Works from a cache.
func New(hubClient client.Client, deps Deps) (*Reporter, error) {
	switch {
	case hubClient == nil, deps.Interpreter == nil, deps.PodReasons == nil, deps.Events == nil, deps.Clock == nil:
		return nil, errors.New("status: a dependency is missing")
	case deps.Namespace == "":
		return nil, errors.New("status: the execution namespace is not known")
	}
	if deps.Known == nil {
		deps.Known = func() bool { return true }
	}
	return &Reporter{
		known:       deps.Known,
		hubClient:   hubClient,
		interpreter: deps.Interpreter,
		podReasons:  deps.PodReasons,
		events:      deps.Events,
		clock:       deps.Clock,
		namespace:   deps.Namespace,
		cluster:     deps.Cluster,
		workers:     deps.Workers,
		isSlow:      deps.IsSlow,
		queue:       newQueue(deps.Clock),
		took:        newReportTime(deps.Registry),
		works:       map[types.NamespacedName]*facts{},
	}, nil
}

// Register adds the stage to the manager for the hub and returns the Reporter, to which other stages report.
func Register(mgr manager.Manager, deps Deps) (*Reporter, error) {
	r, err := New(mgr.GetClient(), deps)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		informer, err := mgr.GetCache().GetInformer(ctx, &workv1alpha1.Work{})
		if err != nil {
			return fmt.Errorf("watching Works: %w", err)
		}
		registration, err := informer.AddEventHandler(r.workHandler())
		if err != nil {
			return fmt.Errorf("watching Works: %w", err)
		}
		r.Run(ctx)
		if err := informer.RemoveEventHandler(registration); err != nil {
			return fmt.Errorf("ending the watch of Works: %w", err)
		}
		return nil
	})); err != nil {
		return nil, fmt.Errorf("adding the status stage: %w", err)
	}
	return r, nil
}

// Report records the conditions of a Work and the identifiers of its manifests. live has the object of each manifest,
// nil if there is no news of it. silent marks those about which the member does not answer for now.
func (r *Reporter) Report(
	work *workv1alpha1.Work, conditions []metav1.Condition, manifests []workv1alpha1.ResourceIdentifier, live []*unstructured.Unstructured, silent []bool,
) {
	name := client.ObjectKeyFromObject(work)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.factsOf(name)
	f.report(work, conditions, manifests)
	f.silence(silent)
	for i, obj := range live {
		if obj != nil {
			f.observe(manifests[i], obj)
		}
	}
	r.soon(name, f)
}

// Observe records an object of a Work as the member shows it.
func (r *Reporter) Observe(work types.NamespacedName, live *unstructured.Unstructured) {
	if work.Namespace != r.namespace {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.factsOf(work)
	f.observe(identify(live), live)
	f.share(identify(live), live)
	if f.changed && f.unseen.IsZero() {
		f.unseen = r.clock.Now()
	}
	r.soon(work, f)
}

// Gone records that the member no longer has an object of a Work.
func (r *Reporter) Gone(work types.NamespacedName, last *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[work]; ok {
		f.gone(identify(last), last.GetUID())
		if !f.reported && len(f.objects) == 0 {
			delete(r.works, work) // the Work was deleted before its objects
		}
		r.soon(work, f)
	}
}

// Unseen records that an object of a Work can be neither watched nor read. Its health is Unknown until it is seen
// again.
func (r *Reporter) Unseen(work types.NamespacedName, object workv1alpha1.ResourceIdentifier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[work]; ok {
		f.lose(object)
		r.soon(work, f)
	}
}

// Reinterpret repeats the interpretation of the kinds whose rules have changed.
func (r *Reporter) Reinterpret(affects func(schema.GroupVersionKind) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, f := range r.works {
		for _, o := range f.objects {
			if o.last != nil && affects(o.last.GroupVersionKind()) {
				o.live, f.changed = o.last, true
			}
		}
		r.soon(name, f)
	}
}

// factsOf returns the facts of a Work, new ones if there are none.
func (r *Reporter) factsOf(name types.NamespacedName) *facts {
	f, ok := r.works[name]
	if !ok {
		f = newFacts()
		r.works[name] = f
	}
	return f
}
