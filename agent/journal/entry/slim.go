package entry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// Slim returns what the journal stores of a Work: its spec, and the conditions that record what was reported. The
// status of its objects is left out, since the agent reads that from the member again.
func Slim(work *workv1alpha1.Work) *workv1alpha1.Work {
	return &workv1alpha1.Work{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         work.Namespace,
			Name:              work.Name,
			UID:               work.UID,
			ResourceVersion:   work.ResourceVersion,
			Generation:        work.Generation,
			CreationTimestamp: work.CreationTimestamp,
			DeletionTimestamp: work.DeletionTimestamp,
			Finalizers:        work.Finalizers,
			Annotations:       Annotations(work),
		},
		Spec:   work.Spec,
		Status: workv1alpha1.WorkStatus{Conditions: work.Status.Conditions},
	}
}

// Annotations returns the annotations that the agent evaluates: which binding the Work belongs to, and what the hub
// and its operators said about its deletion.
func Annotations(work *workv1alpha1.Work) map[string]string {
	out := map[string]string{}
	for _, key := range []string{
		contract.ResourceBindingNamespaceAnnotation, contract.ResourceBindingNameAnnotation,
		contract.ClusterResourceBindingNameAnnotation, contract.DeletionIntentAnnotation, contract.DeleteContentsAnnotation,
	} {
		if value, ok := work.Annotations[key]; ok {
			out[key] = value
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
