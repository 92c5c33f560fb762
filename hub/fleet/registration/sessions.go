package registration

import (
	"context"
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
)

// sessions detects several agents that renew one lease. Its memory is not stored: after a restart, the hub soon hears
// all sessions again.
type sessions struct {
	hubClient client.Client
	events    eventsink.Sink
	clock     clock.PassiveClock

	mu    sync.Mutex
	heard map[string]sessionMemory
}

func newSessions(hubClient client.Client, deps Deps) *sessions {
	return &sessions{hubClient: hubClient, events: deps.Events, clock: deps.Clock, heard: map[string]sessionMemory{}}
}

// register adds the controller to a manager. It is triggered when another session renews a lease.
func (s *sessions) register(mgr manager.Manager) error {
	err := kube.NewController(mgr, "sessions", 1).
		For(&coordinationv1.Lease{}, builder.WithPredicates(predicate.Funcs{
			UpdateFunc: func(e event.UpdateEvent) bool {
				return sessionOf(e.ObjectOld) != sessionOf(e.ObjectNew) && s.hear(e.ObjectNew)
			},
			CreateFunc: func(e event.CreateEvent) bool { return s.hear(e.Object) },
			DeleteFunc: func(e event.DeleteEvent) bool { s.forget(e.Object.GetName()); return false },
		})).
		Complete(kube.QuietConflicts(reconcile.AsReconciler(s.hubClient, s)))
	if err != nil {
		return fmt.Errorf("registering the sessions of agents: %w", err)
	}
	return nil
}

func sessionOf(lease client.Object) string {
	if lease.GetNamespace() != contract.ClusterNamespace {
		return ""
	}
	return lease.GetAnnotations()[contract.SessionAnnotation]
}

// hear records a session, and says whether there is something to report. It runs in the predicate, for every change,
// since the queue merges changes of one lease.
func (s *sessions) hear(lease client.Object) bool {
	heard := sessionOf(lease)
	if heard == "" {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.heard[lease.GetName()]
	after := before.hear(heard, s.clock.Now())
	s.heard[lease.GetName()] = after
	return after.Conflict || before.Conflict || before.Current == ""
}

func (s *sessions) forget(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.heard, cluster)
}

// Reconcile sets the condition SeveralAgents on the Cluster of a lease.
func (s *sessions) Reconcile(ctx context.Context, lease *coordinationv1.Lease) (ctrl.Result, error) {
	if lease.Namespace != contract.ClusterNamespace {
		return ctrl.Result{}, nil
	}
	s.mu.Lock()
	memory := s.heard[lease.Name].look(s.clock.Now())
	s.heard[lease.Name] = memory
	s.mu.Unlock()

	cluster := &clusterv1alpha1.Cluster{}
	if err := s.hubClient.Get(ctx, client.ObjectKey{Name: lease.Name}, cluster); err != nil {
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("reading cluster %q: %w", lease.Name, err)
		}
		return ctrl.Result{}, nil
	}
	was := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterSeveralAgents)
	if was == nil && !memory.Conflict {
		return ctrl.Result{}, nil
	}
	edit, err := kube.Begin(cluster)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("editing cluster %q: %w", cluster.Name, err)
	}
	condition := severalCondition(cluster, memory.Conflict)
	if meta.SetStatusCondition(&cluster.Status.Conditions, condition) {
		wrote, err := edit.Commit(ctx, s.hubClient, contract.FieldManagerRegistration)
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("recording the agents of cluster %q: %w", cluster.Name, err)
		}
		if wrote {
			ctrl.LoggerFrom(ctx).Info("Recording whether several agents pass for the cluster", "Cluster", cluster.Name, "several", memory.Conflict)
			s.events(severalAgents(cluster, condition))
		}
	}
	if memory.Conflict {
		return ctrl.Result{RequeueAfter: calm}, nil
	}
	return ctrl.Result{}, nil
}

// severalCondition returns the condition SeveralAgents.
func severalCondition(cluster *clusterv1alpha1.Cluster, several bool) metav1.Condition {
	if several {
		return metav1.Condition{
			Type: clusterv1alpha1.ClusterSeveralAgents, Status: metav1.ConditionTrue, ObservedGeneration: cluster.Generation,
			Reason: clusterv1alpha1.ReasonSeveralSessions,
			Message: fmt.Sprintf("Several agents pass for cluster %s at once: a machine was copied with the agent's identity, or the agent runs twice. "+
				"Stop all but one; give a copy another state directory, and have it join under its own name.", cluster.Name),
		}
	}
	return metav1.Condition{
		Type: clusterv1alpha1.ClusterSeveralAgents, Status: metav1.ConditionFalse, ObservedGeneration: cluster.Generation,
		Reason: clusterv1alpha1.ReasonOneSession, Message: "One agent is heard from.",
	}
}
