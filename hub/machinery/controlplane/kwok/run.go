package kwok

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/kwok/pkg/client/clientset/versioned"
	"sigs.k8s.io/kwok/pkg/kwok/controllers"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/client"
)

const (
	// identity is the holder of the nodes' leases. It stays the same across restarts, which need not wait for the
	// leases to expire.
	identity      = "fairlead-kwok"
	leaseSeconds  = 40
	fallbackCIDR  = "10.254.0.0/16"
	parallelism   = 8
	syncListPager = true
)

// Run simulates the kubelets until the context ends.
func Run(ctx context.Context, kubeconfig string, logs io.Writer) error {
	ctx = log.NewContext(ctx, log.NewLogger(logs, log.LevelInfo))
	cfg, err := controllerConfig(kubeconfig)
	if err != nil {
		return err
	}
	controller, err := controllers.NewController(cfg)
	if err != nil {
		return fmt.Errorf("setting up kwok: %w", err)
	}
	if err := controller.Start(ctx); err != nil {
		return fmt.Errorf("starting kwok: %w", err)
	}
	<-ctx.Done()
	return nil
}

func controllerConfig(kubeconfig string) (controllers.Config, error) {
	cfg := controllers.Config{
		Clock:                         clock.RealClock{},
		ManageAllNodes:                true,
		CIDR:                          fallbackCIDR,
		ID:                            identity,
		NodeLeaseDurationSeconds:      leaseSeconds,
		NodeLeaseParallelism:          parallelism,
		NodePlayStageParallelism:      parallelism,
		PodPlayStageParallelism:       parallelism,
		PodsOnNodeSyncParallelism:     1,
		EnablePodsOnNodeSyncListPager: syncListPager,
	}
	clients, err := client.NewClientset("", kubeconfig)
	if err != nil {
		return cfg, fmt.Errorf("reading kubeconfig %q: %w", kubeconfig, err)
	}
	restConfig, err := clients.ToRESTConfig()
	if err != nil {
		return cfg, fmt.Errorf("reading kubeconfig %q: %w", kubeconfig, err)
	}
	cfg.ImpersonatingDynamicClient = clients.ToImpersonatingDynamicClient()
	cfg.ImpersonatingTypedClient = clients.ToImpersonatingTypedClient()
	if cfg.LocalStages, err = stages(); err != nil {
		return cfg, err
	}
	if cfg.DynamicClient, err = clients.ToDynamicClient(); err == nil {
		cfg.RESTMapper, err = clients.ToRESTMapper()
	}
	if err == nil {
		cfg.RESTClient, err = rest.RESTClientFor(restConfig)
	}
	if err == nil {
		cfg.TypedClient, err = kubernetes.NewForConfig(restConfig)
	}
	if err == nil {
		cfg.TypedKwokClient, err = versioned.NewForConfig(restConfig)
	}
	if err != nil {
		return cfg, fmt.Errorf("making clients: %w", err)
	}
	return cfg, nil
}
