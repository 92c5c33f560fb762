package setup

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/execution"
	"fairlead.dev/common/contract"
)

// member is the connection to the member.
type member struct {
	config *rest.Config
	http   *http.Client
	client client.Client
	// managed watches objects that carry our label.
	managed cache.Cache
	// confined are caches like managed, of a namespace each, if the agent may see no others.
	confined []cache.Cache
	// workload reads and watches nodes and pods.
	workload client.WithWatch
}

// connect makes the clients and caches of the member. It asks the member nothing, which
// may be down.
func connect(config *rest.Config, namespaces []string, scheme *runtime.Scheme, cl clock.Clock) (*member, error) {
	config = tuned(config)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	asking := bounded(httpClient, answerPatience)
	mapper, err := apiutil.NewDynamicRESTMapper(config, asking)
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	m := &member{config: config, http: httpClient}
	if m.client, err = client.New(config, client.Options{HTTPClient: asking, Scheme: scheme, Mapper: mapper}); err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	shared := true
	options := cache.Options{
		HTTPClient:                   waiting(httpClient, cl, dialAgain),
		Scheme:                       scheme,
		Mapper:                       mapper,
		DefaultLabelSelector:         labels.SelectorFromSet(labels.Set{contract.ManagedLabel: contract.LabelTrue}),
		DefaultTransform:             execution.Slim,
		DefaultUnsafeDisableDeepCopy: &shared,
	}
	if m.managed, err = cache.New(config, options); err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	for _, namespace := range namespaces {
		options.DefaultFieldSelector = fields.OneTermEqualSelector("metadata.namespace", namespace) // it asks for no other then
		one, err := cache.New(config, options)
		if err != nil {
			return nil, fmt.Errorf("connecting to the member: %w", err)
		}
		m.confined = append(m.confined, one)
	}
	m.workload, err = client.NewWithWatch(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: workloadMapper()})
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	return m, nil
}

// addTo has the caches run with the manager. They are not the manager's caches, so that
// nothing waits for a member that is down.
func (m *member) addTo(mgr manager.Manager) error {
	for _, c := range append([]cache.Cache{m.managed}, m.confined...) {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return c.Start(ctx) })); err != nil {
			return fmt.Errorf("adding the member's caches: %w", err)
		}
	}
	return nil
}

// workloadMapper knows nodes and pods without asking.
func workloadMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	return mapper
}

// tuned returns a copy of a configuration with what all our connections have.
func tuned(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent = contract.FieldManagerAgent
	config.QPS = -1 // our queues pace us; a limiter would only queue once more
	return config
}
