package quotas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/adjust/quotas/parts"
)

// check is what is known of a Work that was compared with what it is to carry, or written.
type check struct {
	// generation is that of the Work.
	generation int64
	// quota and quotaGeneration are those of the FederatedResourceQuota that it was compared with.
	quota           types.UID
	quotaGeneration int64
	// hash and id are what its annotation and its label are to say.
	hash, id string
}

// distribute brings the Works up to date. One that fails does not hold up the others. What a Work is to carry is made only if the
// FederatedResourceQuota or the Work is another one than when that was done last.
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
		// The part of a Cluster that is deleted is left to the cluster stage, which waits until the agent is locked out.
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

// put creates a Work, or changes the one that there is if it carries something else, and
// says whether it wrote. A Work that is on its way out wakes us when it is gone.
func (r *Reconciler) put(ctx context.Context, q *policyv1alpha1.FederatedResourceQuota, have, desired *workv1alpha1.Work) (bool, error) {
	key := client.ObjectKeyFromObject(desired)
	if have == nil {
		err := r.hubClient.Create(ctx, desired, client.FieldOwner(contract.FieldManagerQuotas))
		switch {
		case apierrors.IsAlreadyExists(err):
			return false, r.taken(ctx, key, desired)
		case apierrors.IsNotFound(err):
			return false, nil // the execution namespace is to come, and wakes us
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
	live.Spec.Workload = desired.Spec.Workload
	live.Labels = merged(live.Labels, desired.Labels)
	live.Annotations = merged(live.Annotations, desired.Annotations)
	delete(live.Annotations, contract.DeletionIntentAnnotation) // we were stopped before we deleted it
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

// taken says why a Work of a name cannot be made: the cache is behind, or it is another's.
func (r *Reconciler) taken(ctx context.Context, key client.ObjectKey, desired *workv1alpha1.Work) error {
	live := &workv1alpha1.Work{}
	if err := r.liveReader.Get(ctx, key, live); err != nil {
		return client.IgnoreNotFound(err)
	}
	namespace, name, _ := parts.QuotaOf(live)
	if wantNamespace, wantName, _ := parts.QuotaOf(desired); namespace == wantNamespace && name == wantName {
		return kube.CacheBehind(workv1alpha1.GroupVersion.WithResource("works").GroupResource(), key.Name)
	}
	return fmt.Errorf("there is a Work %q already that brings something else, perhaps a ResourceQuota of the same name; rename one of the two", key)
}

// unchanged says whether neither a FederatedResourceQuota nor a Work of it was changed since the Work was seen to carry what it is to
// carry. A Work that is on its way out wakes us when it is gone.
func (r *Reconciler) unchanged(q *policyv1alpha1.FederatedResourceQuota, work *workv1alpha1.Work) bool {
	r.mu.Lock()
	known := r.checked[client.ObjectKeyFromObject(work)]
	r.mu.Unlock()
	return known.quota == q.UID && known.quotaGeneration == q.Generation && (!work.DeletionTimestamp.IsZero() || known.isOf(work))
}

// current says whether a Work carries what it is to carry, and nobody changed it since that
// was seen.
func (r *Reconciler) current(have, desired *workv1alpha1.Work) bool {
	r.mu.Lock()
	known := r.checked[client.ObjectKeyFromObject(have)]
	r.mu.Unlock()
	return known.isOf(have) && known.hash == desired.Annotations[contract.ManifestHashAnnotation] &&
		known.id == desired.Labels[contract.WorkPermanentIDLabel]
}

// isOf says whether a Work is as it was when it was checked.
func (c *check) isOf(work *workv1alpha1.Work) bool {
	return c.generation == work.Generation && c.hash == work.Annotations[contract.ManifestHashAnnotation] &&
		c.id == work.Labels[contract.WorkPermanentIDLabel] && !contract.DeletionIntended(work.Annotations) &&
		slices.Contains(work.Finalizers, contract.ExecutionFinalizer)
}

// remember notes that a Work carries what a FederatedResourceQuota has it carry, in the generation that both have.
func (r *Reconciler) remember(q *policyv1alpha1.FederatedResourceQuota, work *workv1alpha1.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked[client.ObjectKeyFromObject(work)] = check{
		generation: work.Generation, quota: q.UID, quotaGeneration: q.Generation,
		hash: work.Annotations[contract.ManifestHashAnnotation], id: work.Labels[contract.WorkPermanentIDLabel],
	}
}

// delete deletes Works that the quota has no part for any more, and with them the ResourceQuotas in the members. One that fails
// does not hold up the others. The cache of a hub that has just begun to work may be older than what the hub before it did, so
// what says so is read live.
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

// confirm reads a FederatedResourceQuota live before Works are deleted on its word.
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

// intent reads live whether the Cluster of a Work leaves, and returns the intent of its deletion.
func (r *Reconciler) intent(ctx context.Context, work *workv1alpha1.Work) (string, error) {
	name, _ := contract.ClusterOf(r.prefix, work.Namespace)
	leaves, err := kube.ClusterLeaves(ctx, r.liveReader, name)
	if err != nil || leaves {
		return contract.DeletionClusterLeft, err
	}
	return contract.DeletionRemoved, nil
}

// merged returns a map with the entries of another one put over its own.
func merged(base, over map[string]string) map[string]string {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}
