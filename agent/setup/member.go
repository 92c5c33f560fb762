package setup

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/agent/clusterstatus"
	"fairlead.dev/common/contract"
)

// member is the connection to the member.
type member struct {
	config *rest.Config
	http   *http.Client
	client client.Client
	// managed watches objects that carry our label; workload watches nodes and pods.
	managed, workload cache.Cache
}

// connect makes the clients and caches of the member. It asks the member nothing, which
// may be down.
func connect(config *rest.Config, scheme *runtime.Scheme) (*member, error) {
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
	m.managed, err = cache.New(config, cache.Options{
		HTTPClient:                   httpClient,
		Scheme:                       scheme,
		Mapper:                       mapper,
		DefaultLabelSelector:         labels.SelectorFromSet(labels.Set{contract.ManagedLabel: contract.LabelTrue}),
		DefaultTransform:             slim,
		DefaultUnsafeDisableDeepCopy: &shared,
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	m.workload, err = cache.New(config, cache.Options{
		HTTPClient: httpClient,
		Scheme:     scheme,
		Mapper:     workloadMapper(),
		ByObject:   clusterstatus.CacheOptions(),
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the member: %w", err)
	}
	return m, nil
}

// addTo has the caches run with the manager. They are not the manager's caches, so that
// nothing waits for a member that is down.
func (m *member) addTo(mgr manager.Manager) error {
	for _, c := range []cache.Cache{m.managed, m.workload} {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return c.Start(ctx) })); err != nil {
			return fmt.Errorf("adding the member's caches: %w", err)
		}
	}
	return nil
}

// slim strips from an object of the member what nobody reads.
func slim(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	u.SetManagedFields(nil)
	if metadata, ok := u.Object["metadata"].(map[string]any); ok {
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			delete(annotations, corev1.LastAppliedConfigAnnotation)
		}
	}
	return u, nil
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
