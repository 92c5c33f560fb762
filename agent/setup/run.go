package setup

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/agent/clusterstatus"
	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/status"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/kube"
)

// Run runs the agent of one member until the context ends, which is no error.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	scheme, err := kube.NewScheme()
	if err != nil {
		return err
	}
	asking := tuned(o.Hub)
	asking.Timeout = answerPatience
	hub, err := client.New(asking, client.Options{Scheme: scheme, Mapper: hubMapper()})
	if err != nil {
		return fmt.Errorf("connecting to the hub: %w", err)
	}
	namespace, err := executionNamespace(ctx, hub, o.Cluster, o.Clock)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // Told to stop while waiting for the hub.
	}
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Serving the cluster", "Cluster", o.Cluster, "namespace", namespace)

	m, err := connect(o.Member, scheme)
	if err != nil {
		return err
	}
	mgr, err := newManager(ctx, o, scheme, namespace)
	if err != nil {
		return err
	}
	if err := m.addTo(mgr); err != nil {
		return err
	}
	kinds, err := meanings(ctx, mgr, hub, m, o.Interpreter)
	if err != nil {
		return err
	}
	// In the order of the flow, from the end: each stage is handed what it tells.
	reporter, err := status.Register(mgr, status.Deps{
		Namespace:   namespace,
		Cluster:     o.Cluster,
		Interpreter: kinds,
		Events:      kube.NewEventSink(mgr.GetEventRecorder(contract.FieldManagerAgent), o.AllEvents),
		Clock:       o.Clock,
	})
	if err != nil {
		return err
	}
	kinds.Subscribe(func(c store.Change) { reporter.Reinterpret(c.Affects) })
	if err := execution.Register(mgr, execution.Deps{
		Namespace:    namespace,
		MemberClient: m.client,
		MemberCache:  m.managed,
		Interpreter:  kinds,
		Reporter:     reporter,
		Clock:        o.Clock,
		Registry:     ctrlmetrics.Registry,
	}); err != nil {
		return err
	}
	if err := clusterstatus.Register(ctx, mgr, clusterstatus.Deps{
		Cluster:            o.Cluster,
		MemberConfig:       m.config,
		MemberHTTP:         m.http,
		WorkloadCache:      m.workload,
		Clock:              o.Clock,
		Frequency:          o.StatusFrequency,
		LeaseDuration:      o.LeaseDuration,
		LeaseRenewFraction: o.LeaseRenewFraction,
	}); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the agent: %w", err)
	}
	return nil
}
