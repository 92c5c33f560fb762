package hollow

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/connect"
	"fairlead.dev/agent/outage"
	"fairlead.dev/agent/presence"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// agent is one agent of a fleet.
type agent struct {
	fleet           *Fleet
	name, namespace string
	// told is closed when the hub knows the status of the member.
	told     chan struct{}
	tellOnce sync.Once

	mu sync.Mutex
	// life is the current life of the agent; nil while it is silent.
	life *life
	// works are the member's Works as last seen on the watch; copy one before changing it.
	works   map[string]*workv1alpha1.Work
	cluster *clusterv1alpha1.Cluster
	room    corev1.ResourceList
	// used is the sum of the resource requests of each Work's pods.
	used map[string]corev1.ResourceList
}

// life is an agent from its start until it is silenced.
type life struct {
	ctx       context.Context //nolint:containedctx // It ends what the agent has under way.
	cancel    context.CancelFunc
	hubClient client.WithWatch
	running   sync.WaitGroup
	// outage notifies when the hub answers again, unheard when the lease is renewed again.
	outage, unheard *outage.Outage
	// connector keeps the line open; nil without lines.
	connector   *connect.Connector
	connections *connections
}

func newAgent(f *Fleet, name string) *agent {
	return &agent{
		fleet: f, name: name, namespace: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, name),
		told: make(chan struct{}), works: map[string]*workv1alpha1.Work{}, room: defaultRoom(), used: map[string]corev1.ResourceList{},
	}
}

// start makes the agent talk, if it does not already.
func (a *agent) start() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.life != nil {
		return nil
	}
	l := &life{outage: outage.New(), unheard: outage.New(), connections: newConnections(&a.fleet.traffic)}
	credentials, err := registration.OpenCredentials(registration.KeepOptions{
		StateDir: a.fleet.stateDir(a.name), Cluster: a.name, Clock: clock.RealClock{}, Random: rand.Float64,
		Connection: &rest.Config{Dial: l.connections.dial},
	})
	if err != nil {
		return fmt.Errorf("opening the credentials of %q: %w", a.name, err)
	}
	config := credentials.Config()
	config.Transport = a.fleet.traffic.requests.Wrap(config.Transport)
	config, _ = setup.Asking(config, setup.CompressSlow, l.outage, clock.RealClock{})
	if l.hubClient, err = client.NewWithWatch(config, client.Options{Scheme: a.fleet.scheme, Mapper: mapper()}); err != nil {
		return fmt.Errorf("connecting %q to the hub: %w", a.name, err)
	}
	l.ctx, l.cancel = context.WithCancel(a.fleet.ctx)
	renewer, err := a.renewer(l, credentials)
	if err != nil {
		l.cancel()
		return err
	}
	a.life, a.cluster = l, nil
	l.running.Go(func() { _ = credentials.Keep(l.ctx) }) // it ends with the life, or if the hub forgets the cluster
	l.running.Go(func() { _ = renewer.Start(l.ctx) })    // it ends with the life, or if the hub was restored, which is not measured
	if l.connector != nil {
		l.running.Go(func() { _ = l.connector.Start(l.ctx) }) // it ends with the life
	}
	// Restores of the hub are not measured.
	sources := setup.NewSources(clock.RealClock{}, func(*presence.RestoredError) {})
	for _, w := range a.watches() {
		l.running.Go(func() { w.run(l, a.namespace, sources) })
	}
	go func() {
		l.running.Wait()
		l.connections.cut()
	}()
	return nil
}

// stop makes the agent silent.
func (a *agent) stop() {
	a.mu.Lock()
	l := a.life
	a.life = nil
	a.mu.Unlock()
	if l != nil {
		l.connections.cut()
		l.cancel()
		l.running.Wait()
	}
}

// alive returns the life of the agent, or nil while it is silent.
func (a *agent) alive() *life {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.life
}

// watched is one of an agent's watches on the hub.
type watched struct {
	of    client.Object
	lists client.ObjectList
	store cache.ReflectorStore
	// selector limits it by name; namespaced limits it to the agent's own namespace.
	selector   fields.Selector
	namespaced bool
}

// watches returns the watches of a real agent.
func (a *agent) watches() []watched {
	return []watched{
		{of: &workv1alpha1.Work{}, lists: &workv1alpha1.WorkList{}, namespaced: true, store: &workStore{agent: a}},
		{
			of: &clusterv1alpha1.Cluster{}, lists: &clusterv1alpha1.ClusterList{},
			selector: fields.OneTermEqualSelector("metadata.name", a.name), store: &clusterStore{agent: a},
		},
		{of: &configv1alpha1.ResourceInterpreterCustomization{}, lists: &configv1alpha1.ResourceInterpreterCustomizationList{}, store: ignore{}},
		{of: &configv1alpha1.ResourceInterpreterWebhookConfiguration{}, lists: &configv1alpha1.ResourceInterpreterWebhookConfigurationList{}, store: ignore{}},
	}
}

// run lists and watches until the life ends, as the informers of a real agent do.
func (w watched) run(l *life, namespace string, sources *setup.Sources) {
	options := func(raw metav1.ListOptions) *client.ListOptions {
		out := &client.ListOptions{Raw: &raw, FieldSelector: w.selector}
		if w.namespaced {
			out.Namespace = namespace
		}
		return out
	}
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			list := w.lists.DeepCopyObject().(client.ObjectList) //nolint:errcheck,forcetypeassert // A copy is of the same type.
			return list, l.hubClient.List(ctx, list, options(raw))
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return l.hubClient.Watch(ctx, w.lists.DeepCopyObject().(client.ObjectList), options(raw)) //nolint:errcheck,forcetypeassert // A copy is of the same type.
		},
	}
	cache.NewReflectorWithOptions(sources.Of(source, w.of), w.of, w.store, cache.ReflectorOptions{}).RunWithContext(l.ctx)
}

// ignore is a store for objects that are watched but not used.
type ignore struct{}

func (ignore) Add(any) error               { return nil }
func (ignore) Update(any) error            { return nil }
func (ignore) Delete(any) error            { return nil }
func (ignore) Replace([]any, string) error { return nil }
func (ignore) Resync() error               { return nil }

// again queues all Works once more.
func (a *agent) again() {
	a.mu.Lock()
	names := slices.Collect(maps.Keys(a.works))
	a.mu.Unlock()
	for _, name := range names {
		a.fleet.queue.Add(task{agent: a, work: name})
	}
}

// mapper maps the kinds that an agent uses on the hub.
func mapper() meta.RESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{
		workv1alpha1.GroupVersion, clusterv1alpha1.GroupVersion, configv1alpha1.GroupVersion, coordinationv1.SchemeGroupVersion,
	})
	m.Add(workv1alpha1.GroupVersion.WithKind("Work"), meta.RESTScopeNamespace)
	m.Add(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster), meta.RESTScopeRoot)
	m.Add(configv1alpha1.GroupVersion.WithKind(configv1alpha1.KindResourceInterpreterCustomization), meta.RESTScopeRoot)
	m.Add(configv1alpha1.GroupVersion.WithKind(configv1alpha1.KindResourceInterpreterWebhookConfiguration), meta.RESTScopeRoot)
	m.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	return m
}
