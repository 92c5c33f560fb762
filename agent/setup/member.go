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

// member is the connection to the member.
type member struct {
	config *rest.Config
	http   *http.Client
	client client.Client
	// applying is client, or one that reads and writes what is in a namespace as the
	// ServiceAccount there that the agent is to act as.
	applying client.Client
	// managed watches objects that carry our label.
	managed cache.Cache
	// confined are caches like managed, of a namespace each, by its name, if the agent may see no others.
	confined map[string]cache.Cache
	// watches knows which kinds these caches cannot watch.
	watches *watches.Watches
	// discovery asks what the member serves. It lists also the groups whose servers do not answer.
	discovery memberDiscovery
	// workload reads and watches nodes, pods and ResourceQuotas.
	workload client.WithWatch
}

// connectMember makes the clients and caches of the member. It asks the member nothing, which
// may be down.
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
	m.discovery.UseLegacyDiscovery = true // what is aggregated leaves out, for a while, what the member could not ask for
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
		options.DefaultFieldSelector = fields.OneTermEqualSelector("metadata.namespace", namespace) // it asks for no other then
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

// asAccounts returns the client that applies; the agent's own if there is no account to act as.
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

// namespacedKinds asks the member of which kinds there can be objects in a namespace, but for
// what is measured and not kept, and for what nobody can delete: Kubernetes leaves that as well when a namespace goes, since
// it only shows something else, as OpenShift shows quotas of the cluster. If some of its API servers do not answer, what it would return
// is not all, and it fails.
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

// measures says whether an API group has only what is measured of other objects.
func measures(group string) bool {
	return group == "metrics.k8s.io" || strings.HasSuffix(group, ".metrics.k8s.io")
}

// ofMeasures says whether an error of discovery is only about such groups: their server is
// often broken, and there is nothing in them that could be lost.
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

// addTo has the caches run with the manager. They are not the manager's caches, so that
// nothing waits for a member that is down.
func (m *member) addTo(mgr manager.Manager) error {
	for _, c := range slices.AppendSeq([]cache.Cache{m.managed}, maps.Values(m.confined)) {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return c.Start(ctx) })); err != nil {
			return fmt.Errorf("adding the member's caches: %w", err)
		}
	}
	return nil
}

// workloadMapper knows nodes, pods and ResourceQuotas without asking.
func workloadMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ResourceQuota"), meta.RESTScopeNamespace)
	return mapper
}

// tuned returns a copy of a configuration with what all our connections have.
func tuned(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent = contract.FieldManagerAgent
	config.QPS = -1 // our queues pace us; a limiter would only queue once more
	return config
}
