package setup

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/binding"
	"fairlead.dev/hub/cluster"
	"fairlead.dev/hub/dependencies"
	"fairlead.dev/hub/detector"
	"fairlead.dev/hub/registration"
	"fairlead.dev/hub/scheduler"
	"fairlead.dev/hub/status"
)

// stage is one step of the flow.
type stage struct {
	name     string
	register func(manager.Manager, kube.EventSink) error
}

// stages lists the stages in the order in which data flows.
func stages(o Options, informers *kube.MetadataInformers, kinds interpreter.Interpreter) []stage {
	exclusions := selector.NewExclusions(o.ExecutionNamespacePrefix, o.SkippedNamespaces, o.SkippedKinds)
	return []stage{
		{"detector", func(mgr manager.Manager, events kube.EventSink) error {
			return detector.Register(mgr, detector.Deps{
				Exclusions: exclusions, Interpreter: kinds, Informers: informers, Events: events, Clock: o.Clock,
			})
		}},
		{"dependencies", func(mgr manager.Manager, events kube.EventSink) error {
			return dependencies.Register(mgr, dependencies.Deps{
				Exclusions: exclusions, Interpreter: kinds, Informers: informers, Events: events, Clock: o.Clock,
			})
		}},
		{"scheduler", func(mgr manager.Manager, events kube.EventSink) error {
			return scheduler.Register(mgr, scheduler.Deps{Events: events, Clock: o.Clock})
		}},
		{"binding", func(mgr manager.Manager, events kube.EventSink) error {
			return binding.Register(mgr, binding.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Interpreter: kinds, Events: events, Clock: o.Clock,
			})
		}},
		{"status", func(mgr manager.Manager, events kube.EventSink) error {
			return status.Register(mgr, status.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Interpreter: kinds, Events: events, Clock: o.Clock,
			})
		}},
		{"cluster", func(mgr manager.Manager, events kube.EventSink) error {
			return cluster.Register(mgr, cluster.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events, Clock: o.Clock,
				MonitorPeriod: o.ClusterMonitorPeriod, GracePeriod: o.ClusterMonitorGracePeriod, StartupGracePeriod: o.ClusterStartupGracePeriod,
			})
		}},
		{"registration", func(mgr manager.Manager, events kube.EventSink) error {
			return registration.Register(mgr, registration.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events, Clock: o.Clock,
			})
		}},
	}
}

// register registers all stages with the manager. Each tells its events under its own
// name.
func register(ctx context.Context, mgr manager.Manager, o Options) error {
	kinds, err := meanings(ctx, mgr)
	if err != nil {
		return err
	}
	for _, s := range stages(o, kube.NewMetadataInformers(mgr.GetCache()), kinds) {
		events := kube.NewEventSink(mgr.GetEventRecorder("fairlead-"+s.name), o.AllEvents)
		if err := s.register(mgr, events); err != nil {
			return fmt.Errorf("registering stage %q: %w", s.name, err)
		}
	}
	return nil
}

// meanings returns what knows what kinds mean: complete now, and kept up to date while
// the manager runs.
func meanings(ctx context.Context, mgr manager.Manager) (interpreter.Interpreter, error) {
	kinds := store.New(store.Options{Services: mgr.GetAPIReader(), BuiltIn: []interpreter.Interpreter{native.New()}})
	if err := kinds.Load(ctx, mgr.GetAPIReader()); err != nil {
		return nil, err
	}
	follow := runnable{run: func(ctx context.Context) error { return kinds.Follow(ctx, mgr.GetCache()) }}
	if err := mgr.Add(follow); err != nil {
		return nil, fmt.Errorf("following what kinds mean: %w", err)
	}
	return kinds, nil
}
