package execution

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// Deps are the dependencies of the stage.
type Deps struct {
	// Namespace is the execution namespace, on the hub.
	Namespace string
	// Cluster is the name of the member; its Cluster object may limit deletions. If it is empty, there is no limit.
	Cluster string
	// MemberClient reads and writes objects of the member, uncached. If Account is not empty, it accesses namespaced
	// objects as the ServiceAccount of that name.
	MemberClient client.Client
	// Account is the name of these ServiceAccounts; empty if the agent applies with its own rights.
	Account string
	// MemberReader reads objects of the member, uncached, with the agent's own rights; nil means MemberClient.
	MemberReader client.Reader
	// MemberCache watches unstructured objects of the member that have the managed label, transforms them with Slim,
	// and returns them without copying. The stage starts and stops its informers.
	MemberCache cache.Cache
	// Confined are caches like MemberCache, one per namespace, if the agent may see no other namespaces. Then nothing
	// in other namespaces, and nothing cluster-scoped, is read or written.
	Confined map[string]cache.Cache
	// Watches tells which kinds these caches cannot watch; nil if they can watch all.
	Watches Watches
	// NamespacedKinds lists the namespaced kinds of the member.
	NamespacedKinds NamespacedKinds
	// Discovery discovers what the member serves.
	Discovery Discovery
	// Interpreter tells which fields of an object belong to the member.
	Interpreter interpreter.Interpreter
	// Rules tells whether the interpreter has the hub's rules; nil if it has.
	Rules Rules
	// Reporter receives the results.
	Reporter Reporter
	// Events receives the events.
	Events eventsink.Sink
	// HubReader reads Works from the hub, uncached. A Work is read with it before anything is deleted for it; nil
	// skips that.
	HubReader client.Reader
	// Refused returns since when the hub refuses this agent, zero if it does not or is silent, and whether the
	// refusal is lasting; nil means never.
	Refused func() (since time.Time, lasts bool)
	// Clock is replaced in tests.
	Clock clock.Clock
	// Registry receives the metrics.
	Registry prometheus.Registerer
	// Journal stores Works so that they outlast the process; nil stores none.
	Journal Journal
	// AnewFrom is the earliest time at which the stage may end with a KindChangedError.
	AnewFrom time.Time
	// Kept are the Works that the journal had at the start, and PastKinds the kinds that were ever applied.
	Kept      []Kept
	PastKinds []schema.GroupVersionKind
	// Deletions are the objects whose deletion was pending when the previous agent stopped: kinds, names and UIDs,
	// since when (DeletionTimestamp), and for which Works (in annotations).
	Deletions []metav1.PartialObjectMetadata
	// HubTimeout is how long to wait for the hub at the start before using the journal; 0 means the default.
	HubTimeout time.Duration
	// Workers is the number of concurrent reconciles; 0 means the default.
	Workers int
	// StuckAfter is how long a deletion may take before it is reported; 0 means the default.
	StuckAfter time.Duration
}

// Reconciler applies Works.
type Reconciler struct {
	hubClient    client.Client
	hubReader    client.Reader // uncached; nil skips the check
	memberClient client.Client
	// account is the name of the ServiceAccounts as which memberClient acts; empty if it acts as the agent. reader
	// always has the agent's own rights.
	account string
	reader  client.Reader
	// namespaces are those of the member to which the agent is confined; empty means no confinement.
	namespaces []string
	// namespacedKinds lists the namespaced kinds of the member.
	namespacedKinds NamespacedKinds
	// discovery discovers what the member serves.
	discovery Discovery
	// kindChanged receives a kind that is served elsewhere than the clients' mapping says; the stage then ends, not
	// before anewFrom.
	kindChanged chan *KindChangedError
	anewFrom    time.Time
	// swept are the Works that a sweep ends; nil outside a sweep.
	swept       map[types.NamespacedName]*workv1alpha1.Work
	interpreter interpreter.Interpreter
	reporter    Reporter
	events      eventsink.Sink
	hubRefuses  func() (since time.Time, lasts bool)
	refusal     refusal
	clock       clock.Clock
	namespace   string
	stuckAfter  time.Duration
	hubTimeout  time.Duration
	journal     Journal

	works            *works
	kinds            *kinds
	memory           *memory
	prerequisites    *prerequisites
	pendingDeletions *pendingDeletions
	brake            *brake
	waits            *waits
	unclaimed        *unclaimed
	rules            *ruled
	metrics          *metrics
	// looked says that all Works were reconciled since the agent started.
	looked atomic.Bool
	// drifts counts the corrections.
	drifts  atomic.Int64
	backoff workqueue.TypedRateLimiter[reconcile.Request]
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// New returns the reconciler of a member. The hub's client reads Works from a cache.
func New(hubClient client.Client, deps Deps) (*Reconciler, error) {
	switch {
	case hubClient == nil, deps.MemberClient == nil, deps.MemberCache == nil, deps.NamespacedKinds == nil, deps.Discovery == nil,
		deps.Interpreter == nil, deps.Reporter == nil, deps.Events == nil, deps.Clock == nil, deps.Registry == nil:
		return nil, errors.New("execution: a dependency is missing")
	case deps.Namespace == "":
		return nil, errors.New("execution: the execution namespace is not known")
	}
	r := &Reconciler{
		hubClient: hubClient,
		account:   deps.Account, reader: deps.MemberReader, namespacedKinds: deps.NamespacedKinds,
		discovery:        deps.Discovery,
		interpreter:      deps.Interpreter,
		reporter:         deps.Reporter,
		events:           deps.Events,
		hubReader:        deps.HubReader,
		hubRefuses:       deps.Refused,
		kindChanged:      make(chan *KindChangedError, 1),
		anewFrom:         deps.AnewFrom,
		clock:            deps.Clock,
		namespace:        deps.Namespace,
		stuckAfter:       cmp.Or(deps.StuckAfter, defaultStuckAfter),
		hubTimeout:       cmp.Or(deps.HubTimeout, defaultHubTimeout),
		journal:          deps.Journal,
		works:            newWorks(hubClient, deps.Kept),
		memory:           newMemory(),
		prerequisites:    newPrerequisites(),
		pendingDeletions: newPendingDeletions(),
		brake:            newBrake(deps.Cluster != ""),
		waits:            newWaits(),
		unclaimed:        newUnclaimed(),
		rules:            newRuled(deps.Rules),
		metrics:          newMetrics(deps.Registry),
		backoff:          workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
	if r.reader == nil {
		r.reader = deps.MemberClient
	}
	slow := newSlowRequests(deps.Clock, cmp.Or(deps.Workers, defaultWorkers))
	r.memberClient, r.reader = boundedClient{Client: deps.MemberClient, slow: slow}, boundedReader{Reader: r.reader, slow: slow}
	if r.hubRefuses == nil {
		r.hubRefuses = func() (time.Time, bool) { return time.Time{}, false }
	}
	if r.journal == nil {
		r.journal = noJournal{}
	}
	r.kinds = newKinds(deps.MemberCache, r.memberHandler(), deps.Clock)
	r.kinds.past = newPastKinds(deps.PastKinds, r.journal.PutKinds)
	if deps.Watches != nil {
		r.kinds.watches = deps.Watches
	}
	r.kinds.confined, r.kinds.mapper = deps.Confined, deps.MemberClient.RESTMapper()
	r.namespaces = slices.Sorted(maps.Keys(deps.Confined))
	r.resumeDeletions(deps.Deletions) // those in these namespaces
	return r, nil
}

// Newest returns the object of the member that is known to have changed last, with its resourceVersion; empty if
// there is none.
func (r *Reconciler) Newest() (newest plan.Object, resourceVersion string) { return r.memory.Newest() }

// Furthest returns the kind whose watch has the highest resourceVersion, and that version; empty if there is none. If
// the watch is of one namespace, that is returned as well.
func (r *Reconciler) Furthest() (kind schema.GroupVersionKind, namespace, resourceVersion string) {
	return r.kinds.Furthest()
}

// Register adds the stage to the manager for the hub, and returns the Reconciler for others to query.
func Register(mgr manager.Manager, deps Deps) (*Reconciler, error) {
	r, err := New(mgr.GetClient(), deps)
	if err != nil {
		return nil, err
	}
	c, err := kube.NewTypedController(mgr, "execution", cmp.Or(deps.Workers, defaultWorkers), r,
		func(req reconcile.Request) []any { return []any{"Work", req.NamespacedName} })
	if err != nil {
		return nil, err
	}
	sources := []source.Source{r.hubSource(mgr.GetCache()), kube.RulesChanged(r.interpreter, r.rulesChanged), r.rulesSource(), r.watchesSource()}
	if deps.Cluster != "" {
		sources = append(sources, r.clusterSource(mgr.GetCache(), deps.Cluster))
	}
	for _, from := range sources {
		if err := c.Watch(from); err != nil {
			return nil, fmt.Errorf("adding the execution controller: %w", err)
		}
	}
	for _, watch := range []manager.RunnableFunc{r.watchDeletions, r.countUnclaimed, r.watchHold, r.awaitKindChange} {
		if err := mgr.Add(watch); err != nil {
			return nil, fmt.Errorf("adding what looks after the member and what is held: %w", err)
		}
	}
	return r, nil
}
