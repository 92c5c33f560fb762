package setup

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"fairlead.dev/agent/clusterstatus"
	"fairlead.dev/agent/clusterstatus/pods"
	"fairlead.dev/agent/execution"
	"fairlead.dev/agent/presence"
	"fairlead.dev/agent/rules"
	"fairlead.dev/agent/status"
	"fairlead.dev/agent/upgrade"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/store"
	"fairlead.dev/common/kube/eventsink"
)

// stages holds what the agent's stages are built from.
type stages struct {
	Options

	mgr       manager.Manager
	hub       client.Client
	member    *member
	known     remembered
	namespace string
	kinds     *store.Store
	rules     *rules.Rules
	events    eventsink.Sink
	pods      *pods.Store
}

func newStages(ctx context.Context, mgr manager.Manager, hub client.Client, m *member, known remembered, namespace string, o Options) (*stages, error) {
	reading, done := ctx, func() {}
	if known.namespace != "" { // then the hub may be away, and there is work to do without it
		reading, done = context.WithTimeout(ctx, interpretersTimeout)
	}
	kinds, ruled, err := interpreters(reading, mgr, hub, m, known, o)
	done()
	if err != nil {
		return nil, err
	}
	recorders, err := eventsink.NewRecorders(mgr, newNumbered)
	if err != nil {
		return nil, err
	}
	return &stages{
		Options: o, mgr: mgr, hub: hub, member: m, known: known, namespace: namespace, kinds: kinds, rules: ruled,
		events: eventSink(recorders(contract.FieldManagerAgent), o.AllEvents, o.Clock),
		pods:   pods.New(o.Clock),
	}, nil
}

// register registers the stages with the manager, last stage of the flow first, since each stage is given the one
// that it reports to.
func (s *stages) register(ctx context.Context) error {
	reporter, err := status.Register(s.mgr, status.Deps{
		Namespace:   s.namespace,
		Cluster:     s.Cluster,
		IsSlow:      s.Line.isSlow,
		Interpreter: s.kinds,
		Known:       s.rules.Known,
		PodReasons:  s.pods.Of,
		Events:      s.events,
		Clock:       s.Clock,
	})
	if err != nil {
		return err
	}
	s.kinds.Subscribe(reporter.Reinterpret)
	if !s.rules.Known() {
		s.rules.Subscribe(func() { reporter.Reinterpret(func(schema.GroupVersionKind) bool { return true }) })
	}
	executor, err := execution.Register(s.mgr, s.known.deps(execution.Deps{
		Namespace:       s.namespace,
		Cluster:         s.Cluster,
		MemberClient:    s.member.applying,
		Account:         s.Account,
		MemberReader:    s.member.client,
		MemberCache:     s.member.managed,
		Confined:        s.member.confined,
		Watches:         s.member.watches,
		NamespacedKinds: s.member.namespacedKinds,
		Discovery:       s.member.discovery,
		Interpreter:     s.kinds,
		Rules:           s.rules,
		Reporter:        reporter,
		Events:          s.events,
		HubReader:       s.hub,
		Refused:         s.Refused,
		AnewFrom:        s.kindsAnewFrom,
		Clock:           s.Clock,
		Registry:        ctrlmetrics.Registry,
	}))
	if err != nil {
		return err
	}
	me := newHubContact(s.Options)
	me.reporter, me.executor = reporter, executor
	if err := me.addTo(s.mgr); err != nil {
		return err
	}
	if me.line, err = addLine(ctx, s.mgr, s.Options, me); err != nil {
		return err
	}
	if err := s.registerClusterStatus(me, executor); err != nil {
		return err
	}
	return s.registerPresence(me, executor)
}

// registerClusterStatus registers the stage that reports the member's state in its Cluster.
func (s *stages) registerClusterStatus(me *hubContact, executor *execution.Reconciler) error {
	requester, err := upgrade.NewRequester(s.Member, s.Self, me.isHeard, s.Clock)
	if err != nil {
		return err
	}
	return clusterstatus.Register(s.mgr, clusterstatus.Deps{
		Cluster:      s.Cluster,
		Namespaces:   executor.Namespaces,
		MemberConfig: s.member.config,
		MemberHTTP:   s.member.http,
		Workload:     s.member.workload,
		Pods:         s.pods,
		Unclaimed:    executor.Unclaimed,
		Held:         executor.Held,
		HeldChanged:  executor.HeldChanged(),
		Agent:        func() clusterv1alpha1.AgentReport { return me.counted(s.known.journal) },
		Upgrade:      requester.Upgrade,
		UpgradeDue:   requester.Due,
		Probed: func(ready metav1.Condition) {
			me.Probed(ready)
			s.member.watches.Probed(ready.Status == metav1.ConditionTrue)
		},
		Clock:     s.Clock,
		Frequency: s.StatusFrequency,
	})
}

// registerPresence registers the stage that renews the lease.
func (s *stages) registerPresence(me *hubContact, executor *execution.Reconciler) error {
	return presence.Register(s.mgr, presence.Deps{
		Cluster: s.Cluster,
		Version: s.Version,
		Trust:   s.trust(),
		Member:  s.member.client,
		Newest: func() (presence.Seen, bool) {
			object, resourceVersion := executor.Newest()
			return presence.Seen{Kind: object.GroupVersionKind, Name: object.NamespacedName, ResourceVersion: resourceVersion}, resourceVersion != ""
		},
		Furthest: func() (presence.Watch, bool) {
			kind, namespace, resourceVersion := executor.Furthest()
			return presence.Watch{Kind: kind, Namespace: namespace, ResourceVersion: resourceVersion}, resourceVersion != ""
		},
		Line:               LineOf(me.line),
		OutageEnds:         s.outage.Ended,
		Renewed:            me.Renewed,
		Heard:              me.Heard,
		Clock:              s.Clock,
		Frequency:          s.StatusFrequency,
		LeaseDuration:      min(s.LeaseDuration, contract.RestingLease-time.Second), // longer means: the line is the heartbeat
		LeaseRenewFraction: s.LeaseRenewFraction,
	})
}
