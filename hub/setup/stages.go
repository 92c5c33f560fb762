package setup

import (
	"context"
	"fmt"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime/schema"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"fairlead.dev/common/disruption"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/adjust/cronscaling"
	"fairlead.dev/hub/adjust/failover"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/hub/adjust/quotas"
	"fairlead.dev/hub/adjust/rebalance"
	"fairlead.dev/hub/adjust/replicas"
	"fairlead.dev/hub/fleet/cluster"
	"fairlead.dev/hub/fleet/registration"
	"fairlead.dev/hub/fleet/remedy"
	"fairlead.dev/hub/flow/binding"
	"fairlead.dev/hub/flow/binding/storage"
	"fairlead.dev/hub/flow/dependencies"
	"fairlead.dev/hub/flow/detector"
	"fairlead.dev/hub/flow/rollout"
	"fairlead.dev/hub/flow/scheduler"
	"fairlead.dev/hub/flow/status"
	"fairlead.dev/hub/machinery/customizations"
)

// stage is one step of the flow.
type stage struct {
	name     string
	register func(manager.Manager, eventsink.Sink) error
}

// stages lists the stages in the order in which data flows.
func stages(ctx context.Context, o Options, informers *watchset.MetadataInformers, known interpreters, open *allLines, stored *storage.Ledger) []stage {
	exclusions := o.Exclusions()
	var placing *scheduler.Scheduler
	reconnects := &disruption.Reconnects{}
	// Status that the scheduler and the dependencies stage defer to the status stage.
	scheduled, needed := kube.NewDeferredStatus(o.Clock), kube.NewDeferredStatus(o.Clock)
	seen := edits.NewSeen(o.Clock)
	program, err := programHash()
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Every template is read after each start, for it is not known whether this program renders like the one before")
	}
	return []stage{
		{"customizations", func(mgr manager.Manager, events eventsink.Sink) error {
			return customizations.Register(mgr, customizations.Deps{Compiler: known.compiler, Failures: known.failures, Events: events})
		}},
		{"detector", func(mgr manager.Manager, events eventsink.Sink) error {
			return detector.Register(mgr, detector.Deps{
				Exclusions: exclusions, Interpreter: known.kinds, Informers: informers, Seen: seen, Events: events, Clock: o.Clock,
			})
		}},
		{"dependencies", func(mgr manager.Manager, events eventsink.Sink) error {
			return dependencies.Register(mgr, dependencies.Deps{
				Exclusions: exclusions, Interpreter: known.kinds, Informers: informers, Events: events, Clock: o.Clock, AllNamespaces: o.AllNamespaces,
				Deferred: needed, Program: program,
				RulesNow: func(ctx context.Context, kind schema.GroupVersionKind) (string, error) {
					return known.kinds.VersionNow(ctx, mgr.GetAPIReader(), kind)
				},
			})
		}},
		{"scheduler", func(mgr manager.Manager, events eventsink.Sink) error {
			var err error
			placing, err = scheduler.Register(mgr, scheduler.Deps{Events: events, Clock: o.Clock, Deferred: scheduled})
			return err
		}},
		{"rollout", func(mgr manager.Manager, events eventsink.Sink) error {
			return rollout.Register(mgr, rollout.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Interpreter: known.kinds, Events: events, Clock: o.Clock, Registry: o.Registry,
				Silence: o.ClusterMonitorGracePeriod, Reconnects: reconnects, Seen: seen,
				Renderer: binding.NewRenderer(mgr.GetClient(), known.kinds, o.ExecutionNamespacePrefix),
			})
		}},
		{"binding", func(mgr manager.Manager, events eventsink.Sink) error {
			return binding.Register(mgr, binding.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Interpreter: known.kinds, Events: events, Clock: o.Clock, Program: program,
				Stored: stored, Seen: seen,
			})
		}},
		{"status", func(mgr manager.Manager, events eventsink.Sink) error {
			return status.Register(mgr, status.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Interpreter: known.kinds, Events: events, Clock: o.Clock, Registry: o.Registry,
				Deferred: []*kube.DeferredStatus{scheduled, needed}, Program: program,
			})
		}},
		{"cluster", func(mgr manager.Manager, events eventsink.Sink) error {
			return cluster.Register(mgr, cluster.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events, Clock: o.Clock,
				MonitorPeriod: o.ClusterMonitorPeriod, GracePeriod: o.ClusterMonitorGracePeriod, StartupGracePeriod: o.ClusterStartupGracePeriod,
				Lines: open, Reconnects: reconnects,
			})
		}},
		{"failover", func(mgr manager.Manager, events eventsink.Sink) error {
			return failover.Register(mgr, failover.Deps{
				Events: events, Clock: o.Clock, Scheduler: placing, Rate: o.EvictionRate, Reconnects: reconnects,
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix,
				HasHealthRule:            func(kind schema.GroupVersionKind) bool { return known.kinds.Has(kind, interpreter.InterpretHealth) },
				Options:                  evict.Options{Grace: o.EvictionGrace, PurgeMode: o.EvictionPurgeMode, Silence: o.ClusterMonitorGracePeriod},
			})
		}},
		{"rebalance", func(mgr manager.Manager, events eventsink.Sink) error {
			return rebalance.Register(mgr, rebalance.Deps{Events: events, Clock: o.Clock})
		}},
		{"remedy", func(mgr manager.Manager, events eventsink.Sink) error {
			return remedy.Register(mgr, remedy.Deps{Events: events})
		}},
		{"replicas", func(mgr manager.Manager, events eventsink.Sink) error {
			return replicas.Register(mgr, replicas.Deps{Interpreter: known.kinds, Informers: informers, Events: events})
		}},
		{"quotas", func(mgr manager.Manager, events eventsink.Sink) error {
			return quotas.Register(ctx, mgr, quotas.Deps{ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events})
		}},
		{"cronscaling", func(mgr manager.Manager, events eventsink.Sink) error {
			return cronscaling.Register(mgr, cronscaling.Deps{Events: events, Clock: o.Clock})
		}},
		{"registration", func(mgr manager.Manager, events eventsink.Sink) error {
			return registration.Register(ctx, mgr, registration.Deps{
				ExecutionNamespacePrefix: o.ExecutionNamespacePrefix, Events: events, Clock: o.Clock, ManualApproval: o.ManualApproval,
			})
		}},
	}
}

// register registers all stages with the manager. Each emits its events under its own name.
func register(ctx context.Context, mgr manager.Manager, watches *watchset.WatchErrors, o Options, open *allLines, stored *storage.Ledger) error {
	known, err := newInterpreters(ctx, mgr)
	if err != nil {
		return err
	}
	recorder, err := eventsink.NewRecorders(mgr, nil)
	if err != nil {
		return err
	}
	informers := watchset.NewMetadataInformers(mgr.GetCache())
	watches.OnRemoved(func(context.Context) { go dropUnserved(ctx, mgr, informers) })
	for _, s := range stages(ctx, o, informers, known, open, stored) {
		events := eventsink.New(recorder("fairlead-"+s.name), o.AllEvents)
		if err := s.register(mgr, events); err != nil {
			return fmt.Errorf("registering stage %q: %w", s.name, err)
		}
	}
	return nil
}

// dropUnserved stops the watches of kinds whose definitions were removed.
func dropUnserved(ctx context.Context, mgr manager.Manager, informers *watchset.MetadataInformers) {
	if err := informers.DropUnserved(ctx, mgr.GetAPIReader()); err != nil {
		mgr.GetLogger().V(1).Info("Could not tell which kinds are still served, the next watch that fails asks again", "reason", err.Error())
	}
}

// interpreters is how the hub interprets kinds: the store of customizations, with the compiler and the failures of their scripts.
type interpreters struct {
	kinds    *store.Store
	compiler *lua.Compiler
	failures *customizations.Failures
}

// newInterpreters returns the interpreters. The store is loaded now, and follows changes while the manager runs.
func newInterpreters(ctx context.Context, mgr manager.Manager) (interpreters, error) {
	m := interpreters{failures: customizations.NewFailures()}
	scripts := vm.Options{Limiter: vm.NewLimiter(debug.SetMemoryLimit(-1))}
	builtIn, err := store.BuiltIn(scripts)
	if err != nil {
		return m, err
	}
	if m.compiler, err = lua.NewCompiler(lua.Options{Options: scripts, Failed: m.failures.Record}); err != nil {
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
