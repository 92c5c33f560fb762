package execution

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
)

// Deps are what the stage needs.
type Deps struct {
	// Namespace is the execution namespace, on the hub.
	Namespace string
	// Cluster is the name of the member, whose Cluster may bound deletions; if it is empty,
	// nothing does.
	Cluster string
	// MemberClient reads and writes objects of the member, uncached. What is in a namespace it
	// reads and writes as the ServiceAccount of that name there, if Account is not empty.
	MemberClient client.Client
	// Account is the name of these accounts; empty if the agent applies with its own rights.
	Account string
	// MemberReader reads objects of the member, uncached, with the agent's own rights; nil is
	// MemberClient.
	MemberReader client.Reader
	// MemberCache watches unstructured objects of the member that carry the managed
	// label, transforms them by Slim, and does not copy what it returns. The stage starts
	// and ends its informers.
	MemberCache cache.Cache
	// Confined are caches like MemberCache, of one namespace each, by its name, if the agent
	// may see objects of no others.
	Confined map[string]cache.Cache
	// Watches says which kinds these caches cannot watch; nil if they can watch all.
	Watches Watches
	// NamespacedKinds lists what may be in a namespace of the member.
	NamespacedKinds NamespacedKinds
	// Discovery asks the member what it serves.
	Discovery Discovery
	// Interpreter knows what of an object belongs to the member.
	Interpreter interpreter.Interpreter
	// Rules says whether the interpreter has the rules of the hub; nil if it has.
	Rules Rules
	// Reporter is told what comes of it.
	Reporter Reporter
	// Events takes what people are told.
	Events kube.EventSink
	// HubReader reads Works at the hub, uncached. It is asked for a Work before anything is
	// deleted for it; nil asks nobody.
	HubReader client.Reader
	// Refused says since when the hub refuses this agent, zero if it does not or says nothing, and whether that lasts; nil is never.
	Refused func() (since time.Time, lasts bool)
	// Clock tells the time.
	Clock clock.Clock
	// Registry takes the metrics.
	Registry prometheus.Registerer
	// Journal keeps Works where they outlast the process; nil keeps none.
	Journal Journal
	// Kept are the Works that the journal had at start.
	Kept []Kept
	// HubTimeout is how long to wait for the hub at start before going by them; 0 is a
	// sensible time.
	HubTimeout time.Duration
	// Workers is how many Works are dealt with at a time; 0 is a sensible number.
	Workers int
	// StuckAfter is how long an object that was deleted may take to go before people
	// are told; 0 is a sensible time.
	StuckAfter time.Duration
}

// Reconciler applies Works.
type Reconciler struct {
	hubClient    client.Client
	hubReader    client.Reader // uncached; nil asks nobody
	memberClient client.Client
	// account is as which ServiceAccounts the client acts; empty if as the agent. The reader
	// has the agent's rights in any case.
	account string
	reader  client.Reader
	// namespacedKinds lists what may be in a namespace of the member.
	namespacedKinds NamespacedKinds
	// discovery asks the member what it serves.
	discovery Discovery
	// swept are the Works that a sweep ends; nil if this is none.
	swept       map[types.NamespacedName]*workv1alpha1.Work
	interpreter interpreter.Interpreter
	reporter    Reporter
	events      kube.EventSink
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
	// drifts counts what was put back.
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
	if deps.Watches != nil {
		r.kinds.watches = deps.Watches
	}
	r.kinds.confined, r.kinds.mapper = deps.Confined, deps.MemberClient.RESTMapper()
	return r, nil
}

// Newest returns the object of the member that is known to have changed last, with its
// resourceVersion; empty if none is.
func (r *Reconciler) Newest() (newest plan.Object, resourceVersion string) { return r.memory.Newest() }

// Furthest returns the kind of the member whose watch has come furthest, and to which version; empty if there is none. The watch may be of one
// namespace, which is returned then.
func (r *Reconciler) Furthest() (kind schema.GroupVersionKind, namespace, resourceVersion string) {
	return r.kinds.Furthest()
}

// Register adds the stage to the manager of the hub's connection, and returns it for
// others to ask.
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
	for _, watch := range []manager.RunnableFunc{r.watchDeletions, r.countUnclaimed} {
		if err := mgr.Add(watch); err != nil {
			return nil, fmt.Errorf("adding the look-out for objects that do not go or belong to nobody: %w", err)
		}
	}
	return r, nil
}
