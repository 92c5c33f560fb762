package setup

import (
	"context"
	"errors"
	"fmt"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/agent/clusterstatus"
	"fairlead.dev/agent/clusterstatus/pods"
	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/presence"
	"fairlead.dev/agent/status"
	"fairlead.dev/agent/upgrade"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// Run runs the agent of one member until the context ends, which is no error. If the hub
// or the member was restored from an older snapshot it starts anew.
func Run(ctx context.Context, o Options) error {
	if err := o.Validate(); err != nil {
		return err
	}
	for {
		err := serve(ctx, o)
		restored := restoredIn(err)
		if ctx.Err() != nil || restored == nil {
			return err
		}
		ctrl.LoggerFrom(ctx).Info("Starting anew", "Cluster", o.Cluster, "reason", restored.Error())
	}
}

// restoredIn finds a RestoredError; nil if there is none. The manager joins it with its own
// error if something took too long to stop, in a way that errors.As does not look into. What
// still stops then has lost its context: it can only finish the request it is in, which
// names the version or the UID that it is about.
func restoredIn(err error) *presence.RestoredError {
	if restored, ok := errors.AsType[*presence.RestoredError](err); ok {
		return restored
	}
	if all, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		for _, one := range all.Errors() {
			if restored := restoredIn(one); restored != nil {
				return restored
			}
		}
	}
	return nil
}

// serve runs the agent once.
func serve(ctx context.Context, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scheme, err := kube.NewScheme()
	if err != nil {
		return err
	}
	times := &answerTimes{}
	o.Hub = o.Compress.compressing(timed(brief(o.Hub), times, o.Clock), times)
	o.Line.isSlow = times.isSlow
	asking := tuned(o.Hub)
	asking.Timeout = answerPatience
	hub, err := client.New(asking, client.Options{Scheme: scheme, Mapper: hubMapper()})
	if err != nil {
		return fmt.Errorf("connecting to the hub: %w", err)
	}
	known := remember(ctx, o)
	namespace, err := known.where(ctx, hub, o)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Serving the cluster", "Cluster", o.Cluster, "namespace", namespace, "journaled", len(known.works))

	m, err := connectMember(o, scheme)
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
	moved := ""
	if err := known.confirm(mgr, hub, o, &moved); err != nil {
		return err
	}
	if err := known.addTo(mgr); err != nil {
		return err
	}
	reading, done := ctx, func() {}
	if known.namespace != "" { // then the hub may be away, and there is something to do without
		reading, done = context.WithTimeout(ctx, interpretersPatience)
	}
	kinds, err := interpreters(reading, mgr, hub, m, o)
	done()
	if err != nil {
		return err
	}
	recorders, err := kube.NewEventRecorders(mgr, newNumbered)
	if err != nil {
		return err
	}
	events := eventSink(recorders(contract.FieldManagerAgent), o.AllEvents, o.Clock)
	unready := pods.New(o.Clock)
	// In the order of the flow, from the end: each stage is handed what it tells.
	reporter, err := status.Register(mgr, status.Deps{
		Namespace:   namespace,
		Cluster:     o.Cluster,
		IsSlow:      times.isSlow,
		Interpreter: kinds,
		PodReasons:  unready.Of,
		Events:      events,
		Clock:       o.Clock,
	})
	if err != nil {
		return err
	}
	kinds.Subscribe(reporter.Reinterpret)
	executor, err := execution.Register(mgr, known.deps(execution.Deps{
		Namespace:       namespace,
		Cluster:         o.Cluster,
		MemberClient:    m.applying,
		Account:         o.Account,
		MemberReader:    m.client,
		MemberCache:     m.managed,
		Confined:        m.confined,
		NamespacedKinds: m.namespacedKinds,
		Interpreter:     kinds,
		Reporter:        reporter,
		Events:          events,
		Confirm:         confirmation(hub, o.Cluster),
		Clock:           o.Clock,
		Registry:        ctrlmetrics.Registry,
	}))
	if err != nil {
		return err
	}
	me := newHubContact(o)
	me.reporter, me.executor = reporter, executor
	if err := me.addTo(mgr); err != nil {
		return err
	}
	if me.line, err = addLine(ctx, mgr, o, me); err != nil {
		return err
	}
	requester, err := upgrade.NewRequester(o.Member, o.Self, me.isHeard, o.Clock)
	if err != nil {
		return err
	}
	if err := clusterstatus.Register(mgr, clusterstatus.Deps{
		Cluster:      o.Cluster,
		Namespace:    namespace,
		MemberConfig: m.config,
		MemberHTTP:   m.http,
		Workload:     m.workload,
		Pods:         unready,
		Unclaimed:    executor.Unclaimed,
		Held:         executor.Held,
		Agent:        func() clusterv1alpha1.AgentReport { return me.counted(known.journal) },
		Upgrade:      requester.Upgrade,
		Probed:       me.Probed,
		Clock:        o.Clock,
		Frequency:    o.StatusFrequency,
	}); err != nil {
		return err
	}
	if err := presence.Register(mgr, presence.Deps{
		Cluster: o.Cluster,
		Version: o.Version,
		Trust:   o.trust(),
		Member:  m.client,
		Newest: func() (presence.Seen, bool) {
			object, resourceVersion := executor.Newest()
			return presence.Seen{Kind: object.GroupVersionKind, Name: object.NamespacedName, ResourceVersion: resourceVersion}, resourceVersion != ""
		},
		Line:               LineOf(me.line),
		Renewed:            me.Renewed,
		Heard:              me.Heard,
		Clock:              o.Clock,
		Frequency:          o.StatusFrequency,
		LeaseDuration:      o.LeaseDuration,
		LeaseRenewFraction: o.LeaseRenewFraction,
	}); err != nil {
		return err
	}
	err = mgr.Start(ctx)
	if moved != "" {
		known.journal.Begin(moved)
	}
	if err != nil {
		return fmt.Errorf("running the agent: %w", err)
	}
	return nil
}
