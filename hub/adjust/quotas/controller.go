package quotas

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/quotas/parts"
)

// Deps is what the stage needs.
type Deps struct {
	// ExecutionNamespacePrefix is followed by the name of a cluster.
	ExecutionNamespacePrefix string
	// Events gets what people are told.
	Events kube.EventSink
}

// Reconciler does the work of the stage.
type Reconciler struct {
	hubClient client.Client
	// liveReader reads Works with their manifests, which the cache does not have.
	liveReader client.Reader
	events     kube.EventSink
	prefix     string

	mu sync.Mutex
	// checked are the Works whose manifests are known to be ours.
	checked map[types.NamespacedName]check
	// reports are what was read of the Works of each FederatedResourceQuota. Only one reconcile at a time has them.
	reports map[types.NamespacedName]*parts.Reports
	// warned has the last bad news about each FederatedResourceQuota.
	warned kube.WarnOnce[types.NamespacedName]
}

// Register adds the stage to a manager.
func Register(ctx context.Context, mgr manager.Manager, deps Deps) error {
	if deps.Events == nil || deps.ExecutionNamespacePrefix == "" {
		return errors.New("registering the quotas stage: it needs an event sink and the prefix of execution namespaces")
	}
	r := &Reconciler{
		hubClient: mgr.GetClient(), liveReader: mgr.GetAPIReader(), events: deps.Events, prefix: deps.ExecutionNamespacePrefix,
		checked: map[types.NamespacedName]check{}, reports: map[types.NamespacedName]*parts.Reports{},
	}
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return fmt.Errorf("registering the quotas stage: %w", err)
	}
	if err := r.watch(kube.NewController(mgr, "quotas", 1)).Complete(kube.QuietConflicts(r)); err != nil {
		return fmt.Errorf("registering the quotas stage: %w", err)
	}
	return nil
}

// Reconcile brings the parts of one FederatedResourceQuota to its clusters, and says how
// much of it is used.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	q := &policyv1alpha1.FederatedResourceQuota{}
	if err := r.hubClient.Get(ctx, req.NamespacedName, q); err != nil {
		if apierrors.IsNotFound(err) {
			r.warned.Forget(req.NamespacedName)
			delete(r.reports, req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !q.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.remove(ctx, q)
	}
	s, err := r.gather(ctx, q)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.hold(ctx, q, len(q.Spec.StaticAssignments) > 0 || len(s.works) > 0); err != nil {
		return reconcile.Result{}, err
	}
	failure := r.distribute(ctx, s)
	if err := r.record(ctx, s); err != nil {
		return reconcile.Result{}, errors.Join(failure, err)
	}
	r.tell(s, failure)
	return reconcile.Result{}, failure
}

// hold has a FederatedResourceQuota wait for us when it is deleted, or not.
func (r *Reconciler) hold(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota, yes bool) error {
	if controllerutil.ContainsFinalizer(q, contract.QuotaFinalizer) == yes {
		return nil
	}
	edit, err := kube.Begin(q)
	if err != nil {
		return err
	}
	if yes {
		controllerutil.AddFinalizer(q, contract.QuotaFinalizer)
	} else {
		controllerutil.RemoveFinalizer(q, contract.QuotaFinalizer)
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerQuotas); err != nil {
		return fmt.Errorf("setting the finalizers of %q: %w", q.Name, err)
	}
	return nil
}

// remove deletes the Works of a FederatedResourceQuota that is being deleted.
func (r *Reconciler) remove(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota) error {
	works, err := r.works(ctx, q)
	if err != nil {
		return err
	}
	if err := errors.Join(r.delete(ctx, q, works)...); err != nil {
		return err
	}
	return client.IgnoreNotFound(r.hold(ctx, q, false))
}

// record writes the status if it says something new.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.quota)
	if r.reports[key] == nil {
		r.reports[key] = &parts.Reports{}
	}
	status := r.reports[key].Status(s.quota, s.bindings, s.parts(r.prefix))
	if parts.Same(&s.quota.Status, &status) {
		return nil
	}
	edit, err := kube.Begin(s.quota)
	if err != nil {
		return err
	}
	s.quota.Status = *status.DeepCopy() // what is read of the answer does not go into what is remembered
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerQuotas); err != nil {
		return fmt.Errorf("recording how much of %q is used: %w", s.quota.Name, err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Recorded how much of a quota is used")
	for _, e := range collected(s.quota) {
		r.events(e)
	}
	return nil
}

// tell tells what is wrong, once. What comes of a conflict is known when it is looked at again.
func (r *Reconciler) tell(s *scope, failure error) {
	if apierrors.IsConflict(failure) {
		return
	}
	var notes []string
	if failure != nil {
		notes = append(notes, failure.Error())
	}
	if len(s.unknown) > 0 {
		notes = append(notes, "There is no Cluster "+strings.Join(s.unknown, ", ")+": correct spec.staticAssignments, or let it join.")
	}
	over := parts.Over(&s.quota.Status)
	if len(over) > 0 {
		notes = append(notes, "More is used than is allowed: "+strings.Join(over, ", ")+". Nothing more is scheduled until less is used, or spec.overall is raised.")
	}
	key := client.ObjectKeyFromObject(s.quota)
	if len(notes) == 0 {
		r.warned.Forget(key)
		return
	}
	if note := strings.Join(notes, " "); r.warned.IsNew(key, reasonFailed, note) {
		r.events(warning(s.quota, failure, len(over) > 0, note))
	}
}
