package entry

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// Slim returns what the journal keeps of a Work: what it asks for, and which of it was
// told. How its objects fared is for the member to say anew.
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

// Annotations returns those by which the agent judges a Work: of which binding it is, and
// what the hub and its operators said of its deletion.
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
