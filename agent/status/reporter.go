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

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
)

const (
	// defaultWorkers is how many Works are written at a time, and slowWorkers how many where each waits long for its answer.
	defaultWorkers = 8
	slowWorkers    = 32
	// firstDelay is how long a change waits for others of the same Work.
	firstDelay = 10 * time.Millisecond
	// streamDelay is the same if the Work was written within streamFor: something is
	// going on, a rollout say, and more is to come.
	streamDelay = 50 * time.Millisecond
	streamFor   = time.Second
	// streamFree is how many writes in a row are made at that pace. What goes on for longer,
	// such as the rollout of thousands of pods, is told more and more slowly: the delay
	// doubles with each write up to lastDelay, until nothing was written for calm.
	streamFree = 8
	lastDelay  = time.Second
	calm       = 2 * time.Second
	// trustWritten is for how long what we wrote outweighs a cache that shows an older
	// version. A cache that is further behind than this is right: the hub was restored.
	trustWritten = 5 * time.Second
	// askAgainAfter is how long after a question had no answer it is asked again. Nothing
	// else would do so: an object that is well does not change.
	askAgainAfter = 30 * time.Second
	firstRetry    = 20 * time.Millisecond
	lastRetry     = time.Minute
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Namespace is the execution namespace, on the hub.
	Namespace string
	// Cluster is the name of the member, for the text of events.
	Cluster string
	// Interpreter knows what the status of an object says.
	Interpreter interpreter.Interpreter
	// Known says whether the interpreter has the rules of the hub; nil if it has. Before, what the hub was told of objects stays.
	Known func() bool
	// PodReasons says why pods of an object of the member are not ready; not known while they
	// were not read. It must not wait for anything.
	PodReasons func(*unstructured.Unstructured) (reasons []workv1alpha1.PodReason, known bool)
	// Events takes what people are told.
	Events kube.EventSink
	// Clock tells the time.
	Clock clock.WithTicker
	// Registry gets the metrics; that of the process if nil.
	Registry prometheus.Registerer
	// Workers is how many Works are written at a time; 0 is a sensible number, which is larger while IsSlow says so.
	Workers int
	// IsSlow says whether the network to the hub is slow; nil if it is not.
	IsSlow func() bool
}

// Reporter writes the status of Works. It is safe for use by many goroutines.
type Reporter struct {
	hubClient   client.Client
	interpreter interpreter.Interpreter
	known       func() bool
	podReasons  func(*unstructured.Unstructured) ([]workv1alpha1.PodReason, bool)
	events      kube.EventSink
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

// New returns a reporter. The hub's client reads Works from a cache.
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

func newQueue(clk clock.WithTicker) workqueue.TypedRateLimitingInterface[types.NamespacedName] {
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstRetry, lastRetry),
		workqueue.TypedRateLimitingQueueConfig[types.NamespacedName]{Name: "status", Clock: clk},
	)
}

// Register adds the stage to the manager of the hub's connection and returns the
// reporter for others to tell.
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

// Report takes over the conditions of a Work and the names of its manifests. Live has the
// object of each manifest, and nil where there is no news of it.
func (r *Reporter) Report(work *workv1alpha1.Work, conditions []metav1.Condition, manifests []workv1alpha1.ResourceIdentifier, live []*unstructured.Unstructured) {
	name := client.ObjectKeyFromObject(work)
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.factsOf(name)
	f.report(work, conditions, manifests)
	for i, obj := range live {
		if obj != nil {
			f.observe(manifests[i], obj)
		}
	}
	r.soon(name, f)
}

// Observe takes over what the member shows of an object of a Work.
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

// Gone says that the member no longer has an object of a Work.
func (r *Reporter) Gone(work types.NamespacedName, last *unstructured.Unstructured) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[work]; ok {
		f.gone(identify(last), last.GetUID())
		if !f.reported && len(f.objects) == 0 {
			delete(r.works, work) // the Work went before its objects did
		}
		r.soon(work, f)
	}
}

// Unseen says that an object of a Work can be neither watched nor read. What was reported of it is Unknown from now on, until it is seen again.
func (r *Reporter) Unseen(work types.NamespacedName, object workv1alpha1.ResourceIdentifier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, ok := r.works[work]; ok {
		f.lose(object)
		r.soon(work, f)
	}
}

// Reinterpret asks again about the objects of kinds that mean something else now.
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

// soon has a Work written when what changes together has had time to do so.
func (r *Reporter) soon(name types.NamespacedName, f *facts) {
	if !f.reported || !f.changed {
		return
	}
	if f.unsentSince.IsZero() {
		f.unsentSince = r.clock.Now()
	}
	r.queue.AddAfter(name, delay(f.written.inRow, r.clock.Since(f.written.at)))
}

// delay is how long a change of a Work waits for others, after so many writes in a row the
// last of which was so long ago.
func delay(inRow int, since time.Duration) time.Duration {
	switch {
	case since >= calm, since >= streamFor && inRow < streamFree:
		return firstDelay
	case inRow < streamFree:
		return streamDelay
	default:
		return min(lastDelay, streamDelay<<min(inRow-streamFree+1, 10))
	}
}

// Run writes until the context ends.
func (r *Reporter) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range r.mostWorkers() {
		workers.Go(func() {
			for r.next(ctx) {
			}
		})
	}
	r.followPods(ctx)
	r.queue.ShutDown()
	workers.Wait()
}

// next writes one Work. It returns false when there is nothing more to do, ever.
func (r *Reporter) next(ctx context.Context) bool {
	name, quit := r.queue.Get()
	if quit {
		return false
	}
	defer r.queue.Done(name)
	r.writes.acquire(r.allowed)
	defer r.writes.release()
	if err := r.write(ctx, name); err != nil {
		if ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Writing the status of a Work failed; it is tried again", "Work", name)
			r.queue.AddRateLimited(name)
		}
		return true
	}
	r.queue.Forget(name)
	return true
}
