package view

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// Behind says in a sentence what has not caught up yet with what the author of an application
// wrote last; empty if all has. A status that looks well may be about the version before.
func (r *Reader) Behind(ctx context.Context, ref Ref) (string, error) {
	b, err := r.Bound(ctx, ref)
	if err != nil {
		return "", err
	}
	if seen := b.BindingStatus().SchedulerObservedGeneration; seen < b.GetGeneration() && b.BindingSpec().Placement != nil {
		return "The scheduler has not looked at the latest change yet.", nil
	}
	rows, err := r.Rendered(ctx, ref)
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		if said := behind(row); said != "" {
			return said, nil
		}
	}
	return "", nil
}

// behind says what has not caught up in one cluster.
func behind(row Rendered) string {
	switch {
	case row.Failed != "":
		return fmt.Sprintf("It cannot be rendered for %s: %s.", row.Cluster, row.Failed)
	case row.Desired == nil:
		return row.Cluster + " still has it, and is not to."
	case row.Sent == nil:
		return row.Cluster + " was not sent it yet."
	case row.Sent.Annotations[contract.ManifestHashAnnotation] != row.Desired.Annotations[contract.ManifestHashAnnotation]:
		return row.Cluster + " was not sent the latest change yet."
	}
	applied := meta.FindStatusCondition(row.Sent.Status.Conditions, workv1alpha1.WorkApplied)
	if applied == nil || applied.Status != metav1.ConditionTrue || (applied.ObservedGeneration > 0 && applied.ObservedGeneration < row.Sent.Generation) {
		return row.Cluster + " has not reported on the latest change yet."
	}
	return ""
}
