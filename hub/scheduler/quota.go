package scheduler

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// isQuotaExceeded says whether a write was refused because of a FederatedResourceQuota.
func isQuotaExceeded(err error) bool {
	return string(apierrors.ReasonForError(err)) == workv1alpha2.ReasonQuotaExceeded
}

// overQuota says on a binding that a quota forbids its clusters, and returns the
// refusal, so that the binding is tried again later and later.
func (r *reconciler) overQuota(ctx context.Context, key types.NamespacedName, refusal error) error {
	b := r.kind.New()
	if err := r.hubClient.Get(ctx, key, b); err != nil {
		return client.IgnoreNotFound(err)
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	setScheduled(&b.BindingStatus().Conditions, metav1.Condition{
		Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionFalse, Reason: workv1alpha2.ReasonQuotaExceeded,
		ObservedGeneration: b.GetGeneration(), LastTransitionTime: metav1.NewTime(r.clock.Now()), Message: refusal.Error(),
	})
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerScheduler); err != nil {
		return errors.Join(refusal, fmt.Errorf("recording that a quota forbids the clusters of %q: %w", key.Name, err))
	}
	return refusal
}
