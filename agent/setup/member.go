package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/watches"
	"fairlead.dev/common/contract"
)

// member holds the clients and caches of the member.
type member struct {
	config *rest.Config
	http   *http.Client
	client client.Client
	// applying is client, or a client that reads and writes namespaced objects as the namespace's ServiceAccount
	// Account.
	applying client.Client
	// managed caches objects with the managed label.
	managed cache.Cache
	// confined are caches like managed, one per namespace, for an agent that may see no others.
	confined map[string]cache.Cache
	// watches knows the kinds that these caches cannot watch.
	watches *watches.Watches
	// discovery discovers what the member serves. It also lists the groups whose servers do not answer.
	discovery memberDiscovery
	// workload reads and watches nodes, pods and ResourceQuotas.
	workload client.WithWatch
}

// connectMember creates the clients and caches of the member. It makes no request, since the member may be down.
func connectMember(o Options, scheme *runtime.Scheme) (*member, error) {
	config := tuned(o.Member)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	asking := bounded(httpClient, answerTimeout)
	mapper, err := apiutil.NewDynamicRESTMapper(config, asking)
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	m := &member{config: config, http: httpClient, watches: watches.New(o.Clock)}
	if m.client, err = client.New(config, client.Options{HTTPClient: asking, Scheme: scheme, Mapper: mapper}); err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	if m.discovery.DiscoveryClient, err = discovery.NewDiscoveryClientForConfigAndClient(config, asking); err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	m.discovery.UseLegacyDiscovery = true // aggregated discovery omits, for a while, groups whose servers do not answer
	if m.applying, err = m.asAccounts(o.Account, asking, scheme); err != nil {
		return nil, err
	}
	shared := true
	options := cache.Options{
		HTTPClient:                   waiting(httpClient, o.Clock, dialAgain),
		Scheme:                       scheme,
		Mapper:                       mapper,
		DefaultLabelSelector:         labels.SelectorFromSet(labels.Set{contract.ManagedLabel: contract.LabelTrue}),
		DefaultTransform:             execution.Slim,
		DefaultUnsafeDisableDeepCopy: &shared,
		NewInformer:                  m.watches.Informers(""),
	}
	if m.managed, err = cache.New(config, options); err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	m.confined = make(map[string]cache.Cache, len(o.Namespaces))
	for _, namespace := range o.Namespaces {
		options.DefaultFieldSelector = fields.OneTermEqualSelector("metadata.namespace", namespace) // confines the watch
		options.NewInformer = m.watches.Informers(namespace)
		if m.confined[namespace], err = cache.New(config, options); err != nil {
			return nil, fmt.Errorf("connecting to the member: %w", err)
		}
	}
	m.workload, err = client.NewWithWatch(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: workloadMapper()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	return m, nil
}

// asAccounts returns the client that applies; the agent's own client if there is no account.
func (m *member) asAccounts(account string, asking *http.Client, scheme *runtime.Scheme) (client.Client, error) {
	if account == "" {
		return m.client, nil
	}
	acting, err := asAccounts(asking, m.config, account)
	if err != nil {
		return nil, err
	}
	out, err := client.New(m.config, client.Options{HTTPClient: acting, Scheme: scheme, Mapper: m.client.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	return out, nil
}

// namespacedKinds discovers the namespaced kinds of the member, except metrics, which are not stored, and kinds that
// cannot be deleted: Kubernetes leaves their objects as well when a namespace is deleted, since they only mirror
// others, as OpenShift's quotas of the cluster do. It fails if some API servers do not answer, since the result would
// be incomplete.
func (m *member) namespacedKinds(ctx context.Context) ([]schema.GroupVersionKind, error) {
	lists, err := m.discovery.ServerPreferredNamespacedResourcesWithContext(ctx)
	if err != nil && !ofMeasures(err) {
		return nil, err
	}
	var out []schema.GroupVersionKind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		if measures(group.Group) {
			continue
		}
		for i := range list.APIResources {
			out = append(out, group.WithKind(list.APIResources[i].Kind))
		}
	}
	return out, nil
}

// measures returns whether an API group contains only metrics of other objects.
func measures(group string) bool {
	return group == "metrics.k8s.io" || strings.HasSuffix(group, ".metrics.k8s.io")
}

// ofMeasures returns whether a discovery error is only about such groups: their servers are often broken, and they
// hold nothing that could be lost.
func ofMeasures(err error) bool {
	failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err)
	if !ok {
		return false
	}
	for group := range failed.Groups {
		if !measures(group.Group) {
			return false
		}
	}
	return true
}

// addTo runs the caches with the manager. They are not the manager's own caches, so that nothing waits for a member
// that is down.
func (m *member) addTo(mgr manager.Manager) error {
	for _, c := range slices.AppendSeq([]cache.Cache{m.managed}, maps.Values(m.confined)) {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return c.Start(ctx) })); err != nil {
			return fmt.Errorf("adding the member's caches: %w", err)
		}
	}
	return nil
}

// workloadMapper maps nodes, pods and ResourceQuotas without discovery.
func workloadMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ResourceQuota"), meta.RESTScopeNamespace)
	return mapper
}

// tuned returns a copy of a configuration with the settings of all the agent's connections.
func tuned(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent = contract.FieldManagerAgent
	config.QPS = -1 // the work queues limit the rate already
	return config
}
