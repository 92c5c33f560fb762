package execution

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// mayBeNeeded returns whether an object grants rights that accounts of the member may need for deletions. The agent's
// own rights do not come from the hub.
func (r *Reconciler) mayBeNeeded(o plan.Object) bool { return r.account != "" && plan.GivesRights(o) }

// removeRights deletes an RBAC object once no ending Work has objects left whose deletion may need its rights:
// without them nobody could delete these any more. Other objects never wait for this, and namespaced RBAC does not
// wait for cluster-wide RBAC, so Works that have both do not wait for each other. An RBAC object that was never
// created blocks nothing.
func (r *Reconciler) removeRights(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	if isThere, err := r.isThere(ctx, work, m); err != nil || !isThere {
		if err != nil {
			return false, err
		}
		return r.remove(ctx, work, m)
	}
	r.waits.Begin(work, r.clock.Now()) // before the check, so that a Work that ends meanwhile wakes this one
	works, err := r.all(ctx)
	if err != nil {
		return false, fmt.Errorf("looking which Works still need the rights that %s gives: %w", m.Object, err)
	}
	for i := range works {
		if client.ObjectKeyFromObject(&works[i]) == work || !deletes(works[i]) || !controllerutil.ContainsFinalizer(&works[i], contract.ExecutionFinalizer) {
			continue
		}
		for _, other := range plan.NeedersIn(&works[i], m.Object) {
			isThere, err := r.isThere(ctx, client.ObjectKeyFromObject(&works[i]), other)
			if err != nil {
				return false, err
			}
			if isThere {
				return false, &endsFirstError{in: m.Object, object: other.Object, work: works[i].Name, rights: true}
			}
		}
	}
	return r.remove(ctx, work, m)
}

// isThere returns whether the member has an object of a Work that is still to be deleted.
func (r *Reconciler) isThere(ctx context.Context, work types.NamespacedName, m plan.Manifest) (bool, error) {
	obj, synced := r.kinds.Get(m.Object)
	if !synced {
		var err error
		if obj, err = readBy(ctx, r.reader, m.Object); unserved(err) { // it is deleted in another version, if there is one
			object, known, err := r.served(ctx, m.Object)
			if err != nil || !known {
				return false, err
			}
			if obj, err = readBy(ctx, r.reader, object); err != nil {
				return false, fmt.Errorf("reading %s from the member: %w", object, err)
			}
		} else if err != nil {
			return false, fmt.Errorf("reading %s from the member: %w", m.Object, err)
		}
	}
	return obj != nil && obj.GetDeletionTimestamp() == nil && plan.Deletable(obj, work), nil
}
