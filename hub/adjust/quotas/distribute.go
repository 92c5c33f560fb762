package quotas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/adjust/quotas/parts"
)

// check is the state of a Work when it was last found or made to have the desired manifest.
type check struct {
	// generation is the generation of the Work.
	generation int64
	// quota and quotaGeneration identify the FederatedResourceQuota that it was compared with.
	quota           types.UID
	quotaGeneration int64
	// hash and id are the desired values of its annotation and its label.
	hash, id string
}

// distribute creates, updates and deletes the Works. An error for one does not block the others. The desired Work is
// rendered only if the FederatedResourceQuota or the Work has changed since the last comparison.
func (r *Reconciler) distribute(ctx context.Context, s *scope) error {
	have := make(map[string]*workv1alpha1.Work, len(s.works))
	for _, work := range s.works {
		have[work.Namespace] = work
	}
	var failures []error
	changed := false
	for _, part := range s.assigned {
		if work := have[contract.ExecutionNamespace(r.prefix, part.ClusterName)]; work != nil && r.unchanged(s.quota, work) {
			continue
		}
		desired, err := parts.Work(s.quota, part, r.prefix)
		if err != nil {
			return err
		}
		wrote, err := r.put(ctx, s.quota, have[desired.Namespace], desired)
		if err != nil {
			failures = append(failures, fmt.Errorf("bringing the part of cluster %q: %w", part.ClusterName, err))
		}
		changed = changed || wrote
	}
	var gone []*workv1alpha1.Work
	for _, work := range s.works {
		// The Work of a Cluster that is being deleted is left to the cluster stage, which waits until the agent is
		// locked out.
		if name, _ := contract.ClusterOf(r.prefix, work.Namespace); s.assignments[name] == nil {
			gone = append(gone, work)
		}
	}
	failures = append(failures, r.delete(ctx, s.quota, gone)...)
	if changed && len(failures) == 0 {
		r.events(distributed(s.quota))
	}
	return errors.Join(failures...)
}

// put creates a Work, or updates it if its content differs, and reports whether it wrote. A Work that is being deleted
// triggers a reconcile when it is gone.
func (r *Reconciler) put(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota, have, desired *workv1alpha1.Work) (bool, error) {
	key := client.ObjectKeyFromObject(desired)
	if have == nil {
		err := r.hubClient.Create(ctx, desired, client.FieldOwner(contract.FieldManagerQuotas))
		switch {
		case apierrors.IsAlreadyExists(err):
			return false, r.taken(ctx, key, desired)
		case apierrors.IsNotFound(err):
			return false, nil // the execution namespace does not exist yet, and triggers a reconcile when it does: see onNamespace
		case err != nil:
			return false, err
		}
		r.remember(q, desired)
		ctrl.LoggerFrom(ctx).Info("Bringing a part of a quota to a cluster", "Work", key)
		return true, nil
	}
	if !have.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if r.current(have, desired) {
		r.remember(q, have)
		return false, nil
	}
	live := &workv1alpha1.Work{}
	if err := r.liveReader.Get(ctx, key, live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	edit, err := kube.Begin(live)
	if err != nil {
		return false, err
	}
	if bindings.IDOf(live) != "" {
		disown(live)
		live.Spec = desired.Spec
	}
	live.Spec.Workload = desired.Spec.Workload
	live.Labels = merged(live.Labels, desired.Labels)
	live.Annotations = merged(live.Annotations, desired.Annotations)
	delete(live.Annotations, contract.DeletionIntentAnnotation) // set if the hub stopped before deleting the Work
	for _, finalizer := range desired.Finalizers {
		if !slices.Contains(live.Finalizers, finalizer) {
			live.Finalizers = append(live.Finalizers, finalizer)
		}
	}
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerQuotas)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	r.remember(q, live)
	if wrote {
		ctrl.LoggerFrom(ctx).Info("Changing the part of a quota that a cluster has", "Work", key)
	}
	return wrote, nil
}

// disown removes the marks of a binding from a Work. Earlier versions of the hub let the binding of a ResourceQuota of
// the same namespace and name adopt the Work, which would then be deleted with that binding.
func disown(work *workv1alpha1.Work) {
	for _, label := range []string{contract.ResourceBindingPermanentIDLabel, contract.ClusterResourceBindingPermanentIDLabel} {
		delete(work.Labels, label)
	}
	for _, annotation := range []string{
		contract.ResourceBindingNamespaceAnnotation, contract.ResourceBindingNameAnnotation, contract.ClusterResourceBindingNameAnnotation,
	} {
		delete(work.Annotations, annotation)
	}
}

// taken returns why a Work cannot be created under its name: the cache is stale, or another owner has it.
func (r *Reconciler) taken(ctx context.Context, key client.ObjectKey, desired *workv1alpha1.Work) error {
	live := &workv1alpha1.Work{}
	if err := r.liveReader.Get(ctx, key, live); err != nil {
		return client.IgnoreNotFound(err)
	}
	namespace, name, _ := quota.PartOf(live)
	if wantNamespace, wantName, _ := quota.PartOf(desired); namespace == wantNamespace && name == wantName {
		return kube.CacheBehind(workv1alpha1.GroupVersion.WithResource("works").GroupResource(), key.Name)
	}
	return fmt.Errorf("there is already a Work %q with another object, perhaps a ResourceQuota of the same name; rename one of the two", key)
}

// unchanged reports whether neither a FederatedResourceQuota nor its Work has changed since the Work was found to have
// the desired content. A Work that is being deleted triggers a reconcile when it is gone.
func (r *Reconciler) unchanged(q *policyv1alpha1.FederatedResourceQuota, work *workv1alpha1.Work) bool {
	r.mu.Lock()
	known := r.checked[client.ObjectKeyFromObject(work)]
	r.mu.Unlock()
	return known.quota == q.UID && known.quotaGeneration == q.Generation && (!work.DeletionTimestamp.IsZero() || known.isOf(work))
}

// current reports whether a Work has the desired content, and has not changed since that was checked.
func (r *Reconciler) current(have, desired *workv1alpha1.Work) bool {
	r.mu.Lock()
	known := r.checked[client.ObjectKeyFromObject(have)]
	r.mu.Unlock()
	return known.isOf(have) && known.hash == desired.Annotations[contract.ManifestHashAnnotation] &&
		known.id == desired.Labels[contract.WorkPermanentIDLabel]
}

// isOf reports whether a Work is the one that was checked, unchanged.
func (c *check) isOf(work *workv1alpha1.Work) bool {
	return c.generation == work.Generation && c.hash == work.Annotations[contract.ManifestHashAnnotation] &&
		c.id == work.Labels[contract.WorkPermanentIDLabel] && !contract.DeletionIntended(work.Annotations) &&
		slices.Contains(work.Finalizers, contract.ExecutionFinalizer)
}

// remember records that a Work has the content desired by a FederatedResourceQuota, at the current generations of both.
func (r *Reconciler) remember(q *policyv1alpha1.FederatedResourceQuota, work *workv1alpha1.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked[client.ObjectKeyFromObject(work)] = check{
		generation: work.Generation, quota: q.UID, quotaGeneration: q.Generation,
		hash: work.Annotations[contract.ManifestHashAnnotation], id: work.Labels[contract.WorkPermanentIDLabel],
	}
}

// delete deletes Works of clusters that are not assigned any more, and with them the ResourceQuotas in the members. An
// error for one does not block the others. The cache of a new leader may be older than the writes of the previous one,
// so the reasons for a deletion are read live.
func (r *Reconciler) delete(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota, works []*workv1alpha1.Work) []error {
	stay := make([]*workv1alpha1.Work, 0, len(works))
	r.mu.Lock()
	for _, work := range works {
		delete(r.checked, client.ObjectKeyFromObject(work))
		if work.DeletionTimestamp.IsZero() || !contract.DeletionIntended(work.Annotations) {
			stay = append(stay, work)
		}
	}
	r.mu.Unlock()
	if len(stay) == 0 {
		return nil
	}
	if err := r.confirm(ctx, q); err != nil {
		return []error{err}
	}
	var failures []error
	for _, work := range stay {
		intent, err := r.intent(ctx, work)
		if err == nil {
			err = kube.DeleteWork(ctx, r.hubClient, work, intent, contract.FieldManagerQuotas)
		}
		if err != nil {
			failures = append(failures, err)
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Taking the part of a quota from a cluster", "Work", client.ObjectKeyFromObject(work))
	}
	return failures
}

// confirm reads a FederatedResourceQuota live before Works are deleted because of it.
func (r *Reconciler) confirm(ctx context.Context, cached *policyv1alpha1.FederatedResourceQuota) error {
	live := &policyv1alpha1.FederatedResourceQuota{}
	err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(cached), live)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading quota %q before a part of it is taken away: %w", cached.Name, err)
	}
	if err != nil || live.UID != cached.UID || live.Generation != cached.Generation || live.DeletionTimestamp.IsZero() != cached.DeletionTimestamp.IsZero() {
		return kube.CacheBehind(policyv1alpha1.GroupVersion.WithResource("federatedresourcequotas").GroupResource(), cached.Name)
	}
	return nil
}

// confirmNoneStays checks live that all Works of a FederatedResourceQuota are being deleted: one created a moment ago
// may not be in the cache yet.
func (r *Reconciler) confirmNoneStays(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota) error {
	works := &metav1.PartialObjectMetadataList{}
	works.SetGroupVersionKind(workv1alpha1.GroupVersion.WithKind("WorkList"))
	if err := r.liveReader.List(ctx, works, client.MatchingLabels{
		contract.FederatedResourceQuotaNamespaceLabel: q.Namespace, contract.FederatedResourceQuotaNameLabel: q.Name,
	}); err != nil {
		return fmt.Errorf("listing the works of quota %q before it goes: %w", q.Name, err)
	}
	for i := range works.Items {
		work := &works.Items[i]
		if _, ok := contract.ClusterOf(r.prefix, work.Namespace); ok && (work.DeletionTimestamp.IsZero() || !contract.DeletionIntended(work.Annotations)) {
			return kube.CacheBehind(workv1alpha1.GroupVersion.WithResource("works").GroupResource(), work.Name)
		}
	}
	return nil
}

// intent reads live whether the Cluster of a Work is leaving, and returns the matching deletion intent.
func (r *Reconciler) intent(ctx context.Context, work *workv1alpha1.Work) (string, error) {
	name, _ := contract.ClusterOf(r.prefix, work.Namespace)
	leaves, err := kube.ClusterLeaves(ctx, r.liveReader, name)
	if err != nil || leaves {
		return contract.DeletionClusterLeft, err
	}
	return contract.DeletionRemoved, nil
}

// merged returns a copy of a map, overlaid with the entries of another one.
func merged(base, over map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}
