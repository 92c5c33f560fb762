package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"fairlead.dev/agent/outage"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter/store"
)

const (
	// cacheSyncTimeout is how long the controllers wait for the hub at the start: practically for ever.
	cacheSyncTimeout = 365 * 24 * time.Hour
	// readyTimeout is how long a readiness probe waits for the caches.
	readyTimeout = 100 * time.Millisecond
	// shutdownTimeout is the default time that running work has to finish.
	shutdownTimeout = 5 * time.Second
)

// Asking wraps a configuration that reaches the hub: it asks for short answers, and for compressed ones when that is
// wanted. away is told whether the hub answers, and isSlow returns whether the network to it is slow, judged by the
// latency of its answers.
func Asking(hub *rest.Config, compress Compression, away *outage.Outage, c clock.PassiveClock) (config *rest.Config, isSlow func() bool) {
	times := &answerTimes{}
	hub = brief(tuned(hub))
	hub.Wrap(away.Watch)
	return compress.compressing(timed(hub, times, c), times), times.isSlow
}

// newManager returns the manager for the hub. Its cache holds the Works of one namespace and one Cluster, which is
// all that an agent may read.
func newManager(ctx context.Context, o Options, scheme *runtime.Scheme, namespace string) (manager.Manager, error) {
	disabled := func(address string) string {
		if address == "" {
			return "0"
		}
		return address
	}
	restored := newRestores()
	mgr, err := ctrl.NewManager(o.Hub, manager.Options{
		Scheme:         scheme,
		Logger:         ctrl.LoggerFrom(ctx),
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return hubMapper(), nil },
		NewClient: func(config *rest.Config, options client.Options) (client.Client, error) {
			options.HTTPClient = bounded(options.HTTPClient, answerTimeout)
			return client.New(config, options)
		},
		Cache: cache.Options{
			ByObject: map[client.Object]cache.ByObject{
				// Works are large, since they contain their manifests. Whoever changes one copies it first.
				&workv1alpha1.Work{}:       {Namespaces: map[string]cache.Config{namespace: {}}, UnsafeDisableDeepCopy: new(true)},
				&clusterv1alpha1.Cluster{}: {Field: fields.OneTermEqualSelector("metadata.name", o.Cluster)},
			},
			DefaultTransform: cache.TransformStripManagedFields(),
			NewInformer:      NewSources(o.Clock, restored.tell).informers,
			// Only these kinds are optional for an agent: without rights to any other kind it cannot work.
			DefaultWatchErrorHandler: store.NewRefusals(ctrl.LoggerFrom(ctx), o.Clock).WatchFailed,
		},
		Metrics:                 metricsserver.Options{BindAddress: disabled(o.MetricsBindAddress)},
		HealthProbeBindAddress:  disabled(o.HealthProbeBindAddress),
		GracefulShutdownTimeout: new(cmp.Or(o.ShutdownTimeout, shutdownTimeout)),
		BaseContext:             func() context.Context { return context.WithoutCancel(ctx) },
		// Agents of several members may run in one process, as in tests.
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true), CacheSyncTimeout: cacheSyncTimeout},
	})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	if err := mgr.Add(restored); err != nil {
		return nil, fmt.Errorf("adding what looks whether the hub was restored: %w", err)
	}
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := mgr.AddReadyzCheck("hub", worksRead(mgr.GetCache())); err != nil {
		return nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	return mgr, nil
}

// worksRead is ready once the Works were read from the hub. Other reads may be refused for good, and the agent works
// without them.
func worksRead(from cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), readyTimeout)
		defer cancel()
		if works, err := from.GetInformer(ctx, &workv1alpha1.Work{}); err != nil || !works.HasSynced() {
			return errors.New("the Works have not been read from the hub yet")
		}
		return nil
	}
}

// hubMapper maps the kinds that an agent uses on the hub without discovery.
func hubMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{
		workv1alpha1.GroupVersion, clusterv1alpha1.GroupVersion, configv1alpha1.GroupVersion, coordinationv1.SchemeGroupVersion, corev1.SchemeGroupVersion,
	})
	mapper.Add(workv1alpha1.GroupVersion.WithKind("Work"), meta.RESTScopeNamespace)
	mapper.Add(workv1alpha1.GroupVersion.WithKind("WorkList"), meta.RESTScopeNamespace) // needed when the cache lists them
	mapper.Add(clusterv1alpha1.GroupVersion.WithKind("Cluster"), meta.RESTScopeRoot)
	mapper.Add(configv1alpha1.GroupVersion.WithKind(configv1alpha1.KindResourceInterpreterCustomization), meta.RESTScopeRoot)
	mapper.Add(configv1alpha1.GroupVersion.WithKind(configv1alpha1.KindResourceInterpreterWebhookConfiguration), meta.RESTScopeRoot)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	return mapper
}
