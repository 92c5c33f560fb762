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
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/adjust/quotas/parts"
)

// Deps are the dependencies of the stage.
type Deps struct {
	// ExecutionNamespacePrefix plus a cluster's name is its execution namespace.
	ExecutionNamespacePrefix string
	// Events receives the events of the stage.
	Events eventsink.Sink
}

// Reconciler reconciles FederatedResourceQuotas.
type Reconciler struct {
	hubClient client.Client
	// liveReader reads Works with their manifests, which are not in the cache.
	liveReader client.Reader
	events     eventsink.Sink
	prefix     string

	mu sync.Mutex
	// checked are the Works that are known to have the desired manifests.
	checked map[types.NamespacedName]check
	// reports caches the members' reports per FederatedResourceQuota. A quota is reconciled by one worker at a time.
	reports map[types.NamespacedName]*parts.Reports
	// warned has the last warning about each FederatedResourceQuota.
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

// Reconcile propagates the parts of one FederatedResourceQuota to its clusters, and records how much of it is used.
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

// hold adds or removes the finalizer of a FederatedResourceQuota.
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

// remove deletes the Works of a FederatedResourceQuota that is being deleted. The finalizer is removed once all of them
// are being deleted: a Work left over would belong to nobody, and its ResourceQuota would stay in the member for ever.
func (r *Reconciler) remove(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota) error {
	works, err := r.works(ctx, q)
	if err != nil {
		return err
	}
	if err := errors.Join(r.delete(ctx, q, works)...); err != nil {
		return err
	}
	if !controllerutil.ContainsFinalizer(q, contract.QuotaFinalizer) {
		return nil
	}
	if err := r.confirmNoneStays(ctx, q); err != nil {
		return err
	}
	return client.IgnoreNotFound(r.hold(ctx, q, false))
}

// record writes the status if it has changed.
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
	s.quota.Status = *status.DeepCopy() // the API server's response must not overwrite the cached reports
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerQuotas); err != nil {
		return fmt.Errorf("recording how much of %q is used: %w", s.quota.Name, err)
	}
	ctrl.LoggerFrom(ctx).V(1).Info("Recorded how much of a quota is used")
	for _, e := range collected(s.quota) {
		r.events(e)
	}
	return nil
}

// tell emits a warning once per problem. A conflict is not reported, because the retry will tell.
func (r *Reconciler) tell(s *scope, failure error) {
	r.tellPreserving(s)
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
		r.warned.Resolved(key, reasonFailed)
		return
	}
	if note := strings.Join(notes, " "); r.warned.IsNew(key, reasonFailed, note) {
		r.events(warning(s.quota, failure, len(over) > 0, note))
	}
}

// tellPreserving tells, once, which policies leave in the members what the quota does not count. Admission refuses them to whoever may not change
// the quota, but lets all pass while the API server has yet to find out which quotas there are, and those that were there before.
func (r *Reconciler) tellPreserving(s *scope) {
	key := client.ObjectKeyFromObject(s.quota)
	if len(s.preserving) == 0 {
		r.warned.Resolved(key, reasonPreserved)
		return
	}
	if e := preserved(s.quota, s.preserving); r.warned.IsNew(key, reasonPreserved, e.Note) {
		r.events(e)
	}
}
