package quota

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/contract"
)

// PartOf returns the FederatedResourceQuota whose part a Work brings to its cluster; false if it is not such a Work.
func PartOf(work metav1.Object) (namespace, name string, ok bool) {
	labels := work.GetLabels()
	namespace, name = labels[contract.FederatedResourceQuotaNamespaceLabel], labels[contract.FederatedResourceQuotaNameLabel]
	return namespace, name, namespace != "" && name != ""
}
