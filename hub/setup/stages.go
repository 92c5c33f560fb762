package setup

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/builtin"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/binding"
	"fairlead.dev/hub/cluster"
	"fairlead.dev/hub/dependencies"
	"fairlead.dev/hub/detector"
	"fairlead.dev/hub/failover"
	"fairlead.dev/hub/failover/evict"
	"fairlead.dev/hub/interpretation"
	"fairlead.dev/hub/quotas"
	"fairlead.dev/hub/rebalance"
	"fairlead.dev/hub/registration"
	"fairlead.dev/hub/remedy"
	"fairlead.dev/hub/replicas"
	"fairlead.dev/hub/scheduler"
	"fairlead.dev/hub/status"
)

// stage is one step of the flow.
type stage struct {
	name     string
	register func(manager.Manager, kube.EventSink) error
}

// stages lists the stages in the order in which data flows.
func stages(ctx context.Context, o Options, informers *kube.MetadataInformers, known meanings) []stage {
	exclusions := selector.NewExclusions(o.ExecutionNamespacePrefix, o.SkippedNamespaces, o.SkippedKinds)
	var placing *scheduler.Scheduler
	return []stage{
		{"interpretation", func(mgr manager.Manager, events kube.EventSink) error {
			return interpretation.Register(mgr, interpretation.Deps{Compiler: known.compiler, Failures: known.failures, Events: events})
		}},
		{"detector", func(mgr manager.Manager, events kube.EventSink) error {
			return detector.Register(mgr, detector.Deps{
				Exclusions: exclusions, Interpreter: known.kinds, Informers: informers, Events: events, Clock: o.Clock,
			})
		}},
		{"dependencies", func(mgr manager.Manager, events kube.EventSink) error {
			return dependencies.Register(mgr, dependencies.Deps{
				Exclusions: exclusions, Interpreter: known.kinds, Informers: informers, Events: events, Clock: o.Clock,
			})
		}},
		{"scheduler", func(mgr manager.Manager, events kube.EventSink) error {
			var err error
			placing, err = scheduler.Register(mgr, scheduler.Deps{Events: events, Clock: o.Clock})
			return err
		}},
		{"binding", func(mgr manager.Manager, events kube.EventSink) error {
			return binding.Register(mgr, binding.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Interpreter: known.kinds, Events: events, Clock: o.Clock,
			})
		}},
		{"status", func(mgr manager.Manager, events kube.EventSink) error {
			return status.Register(mgr, status.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Interpreter: known.kinds, Events: events, Clock: o.Clock, Registry: o.Registry,
			})
		}},
		{"cluster", func(mgr manager.Manager, events kube.EventSink) error {
			return cluster.Register(mgr, cluster.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events, Clock: o.Clock,
				MonitorPeriod: o.ClusterMonitorPeriod, GracePeriod: o.ClusterMonitorGracePeriod, StartupGracePeriod: o.ClusterStartupGracePeriod,
			})
		}},
		{"failover", func(mgr manager.Manager, events kube.EventSink) error {
			return failover.Register(mgr, failover.Deps{
				Events: events, Clock: o.Clock, Elsewhere: placing.Elsewhere, Rate: o.EvictionRate,
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix,
				Judged:                   func(kind schema.GroupVersionKind) bool { return known.kinds.Has(kind, interpreter.InterpretHealth) },
				Options:                  evict.Options{Grace: o.EvictionGrace, PurgeMode: o.EvictionPurgeMode},
			})
		}},
		{"rebalance", func(mgr manager.Manager, events kube.EventSink) error {
			return rebalance.Register(mgr, rebalance.Deps{Events: events, Clock: o.Clock})
		}},
		{"remedy", func(mgr manager.Manager, events kube.EventSink) error {
			return remedy.Register(mgr, remedy.Deps{Events: events})
		}},
		{"replicas", func(mgr manager.Manager, events kube.EventSink) error {
			return replicas.Register(mgr, replicas.Deps{Interpreter: known.kinds, Informers: informers, Events: events})
		}},
		{"quotas", func(mgr manager.Manager, events kube.EventSink) error {
			return quotas.Register(ctx, mgr, quotas.Deps{ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events})
		}},
		{"registration", func(mgr manager.Manager, events kube.EventSink) error {
			return registration.Register(mgr, registration.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events, Clock: o.Clock, ManualApproval: o.ManualApproval,
			})
		}},
	}
}

// register registers all stages with the manager. Each tells its events under its own
// name.
func register(ctx context.Context, mgr manager.Manager, o Options) error {
	known, err := newMeanings(ctx, mgr)
	if err != nil {
		return err
	}
	for _, s := range stages(ctx, o, kube.NewMetadataInformers(mgr.GetCache()), known) {
		events := kube.NewEventSink(mgr.GetEventRecorder("fairlead-"+s.name), o.AllEvents)
		if err := s.register(mgr, events); err != nil {
			return fmt.Errorf("registering stage %q: %w", s.name, err)
		}
	}
	return nil
}

// meanings is what knows what kinds mean.
type meanings struct {
	kinds    *store.Store
	compiler *lua.Compiler
	failures *interpretation.Failures
}

// newMeanings returns what knows what kinds mean: complete now, and kept up to date while
// the manager runs.
func newMeanings(ctx context.Context, mgr manager.Manager) (meanings, error) {
	m := meanings{failures: interpretation.NewFailures()}
	builtIn, err := builtin.New(vm.Options{})
	if err != nil {
		return m, err
	}
	if m.compiler, err = lua.NewCompiler(lua.Options{Failed: m.failures.Record}); err != nil {
		return m, fmt.Errorf("preparing Lua: %w", err)
	}
	m.kinds = store.New(store.Options{Compiler: m.compiler, Services: mgr.GetAPIReader(), BuiltIn: []interpreter.Interpreter{builtIn}})
	if err := m.kinds.Load(ctx, mgr.GetAPIReader()); err != nil {
		return m, err
	}
	follow := runnable{run: func(ctx context.Context) error { return m.kinds.Follow(ctx, mgr.GetCache()) }}
	if err := mgr.Add(follow); err != nil {
		return m, fmt.Errorf("following what kinds mean: %w", err)
	}
	return m, nil
}
