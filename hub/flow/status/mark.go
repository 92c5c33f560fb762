package status

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/status/aggregate"
)

// markWorks sets the condition StatusLeftOut on the Works whose status is left out, with the reason, and removes it from the others. It
// is all that the hub writes to the status of a Work, which is the agent's.
func (r *Reconciler) markWorks(ctx context.Context, b kube.Binding, reports []aggregate.Report, items []workv1alpha2.AggregatedStatusItem) error {
	why := map[string]string{}
	for i := range items {
		if aggregate.IsLeftOut(&items[i]) {
			why[items[i].ClusterName] = items[i].AppliedMessage
		}
	}
	var failed []error
	for _, report := range reports {
		before := meta.FindStatusCondition(report.Work.Status.Conditions, workv1alpha1.WorkStatusLeftOut)
		message := why[report.Cluster]
		if before == nil && message == "" || before != nil && before.Message == message {
			continue
		}
		work := report.Work.DeepCopy()
		edit, err := kube.Begin(work)
		if err != nil {
			return err
		}
		if message == "" {
			meta.RemoveStatusCondition(&work.Status.Conditions, workv1alpha1.WorkStatusLeftOut)
		} else {
			meta.SetStatusCondition(&work.Status.Conditions, metav1.Condition{
				Type: workv1alpha1.WorkStatusLeftOut, Status: metav1.ConditionTrue, Reason: workv1alpha1.ReasonNotFit, Message: message,
				ObservedGeneration: work.Generation,
			})
		}
		if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerStatus); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("saying on the Work of %q in cluster %q that its status is left out: %w", b.GetName(), report.Cluster, err))
		}
	}
	return errors.Join(failed...)
}
