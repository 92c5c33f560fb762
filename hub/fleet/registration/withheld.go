package registration

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

const (
	// forgetting is how long a name may be reserved before its Cluster is marked as retired, without a report: somebody
	// may be about to mark it.
	forgetting = time.Minute
	// withheldPoll is how often to check whether a name is still reserved. The records of reservations are not watched.
	withheldPoll = 10 * time.Second
)

// tell sets the condition RightsWithheld on a Cluster that lives on although its name is reserved, so that its agent
// does not get a missing right. Only a person knows whether it was to be forgotten: whoever started may have been
// interrupted, or have noticed a mistake.
func (r *Rights) tell(ctx context.Context, cluster *clusterv1alpha1.Cluster, out EnsureResult) (ctrl.Result, error) {
	withheld := out.Kept != nil && cluster.Spec.ID != "" // without a member no agent misses a right
	if withheld {
		if left := out.Kept.CreationTimestamp.Add(forgetting).Sub(r.clock.Now()); left > 0 {
			return ctrl.Result{RequeueAfter: min(left, withheldPoll)}, nil
		}
	}
	again := ctrl.Result{}
	if withheld {
		again.RequeueAfter = withheldPoll
	}
	was := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterRightsWithheld)
	if !withheld && (!out.All || was == nil || was.Status == metav1.ConditionFalse) {
		return again, nil
	}
	edit, err := kube.Begin(cluster)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("editing cluster %q: %w", cluster.Name, err)
	}
	condition := withheldCondition(cluster, out.Kept)
	turned := was == nil || was.Status != condition.Status
	if !meta.SetStatusCondition(&cluster.Status.Conditions, condition) {
		return again, nil
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRegistration); err != nil {
		return ctrl.Result{}, fmt.Errorf("recording whether the agent of cluster %q has its rights: %w", cluster.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Recording whether rights are withheld, because the name is kept", "Cluster", cluster.Name, "withheld", withheld)
	if turned {
		r.events(rightsWithheld(cluster, condition))
	}
	return again, nil
}

// withheldCondition returns the condition RightsWithheld for the record that reserves the name; nil means that the
// agent has all its rights.
func withheldCondition(cluster *clusterv1alpha1.Cluster, kept *corev1.ConfigMap) metav1.Condition {
	out := metav1.Condition{
		Type: clusterv1alpha1.ClusterRightsWithheld, Status: metav1.ConditionFalse, ObservedGeneration: cluster.Generation,
		Reason: clusterv1alpha1.ReasonRightsGiven, Message: "The agent has all its rights.",
	}
	if kept != nil {
		out.Status, out.Reason = metav1.ConditionTrue, clusterv1alpha1.ReasonNameKept
		out.Message = fmt.Sprintf("The agent of cluster %s lacks a right and does not get it, because %s began at %s to forget the cluster and did not finish. "+
			"Run `hub forget %s` to finish, or `hub forget %s --release` to keep the cluster.", cluster.Name,
			cmp.Or(kept.Data[contract.RetiredByKey], "somebody"), cmp.Or(kept.Data[contract.RetiredAtKey], "some time"), cluster.Name, cluster.Name)
	}
	return out
}
