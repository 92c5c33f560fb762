package parts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// workIDSpace is the UUID namespace of the permanent IDs of Works, which are derived from names.
const workIDSpace = "6f0e6a4e-6a53-4b53-8a52-4d1c9df2a1b7"

const kind = "ResourceQuota"

// Work returns the Work for one cluster, complete except for the fields set by the API server. Its annotation
// contract.ManifestHashAnnotation is the hash of its content.
func Work(q *policyv1alpha1.FederatedResourceQuota, part policyv1alpha1.StaticClusterAssignment, prefix string) (*workv1alpha1.Work, error) {
	id := uuid.NewSHA1(uuid.MustParse(workIDSpace), []byte(string(q.UID)+"/"+part.ClusterName)).String()
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace:  contract.ExecutionNamespace(prefix, part.ClusterName),
		Name:       contract.WorkName(kind, q.Namespace, q.Name),
		Finalizers: []string{contract.ExecutionFinalizer},
		Labels: map[string]string{
			contract.FederatedResourceQuotaNamespaceLabel: q.Namespace,
			contract.FederatedResourceQuotaNameLabel:      q.Name,
			contract.WorkPermanentIDLabel:                 id,
		},
	}}
	manifest, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": kind,
		"metadata": map[string]any{
			"namespace": q.Namespace, "name": q.Name,
			"labels": map[string]string{contract.ManagedLabel: contract.LabelTrue, contract.WorkPermanentIDLabel: id},
			"annotations": map[string]string{
				contract.WorkNamespaceAnnotation: work.Namespace, contract.WorkNameAnnotation: work.Name,
				contract.TemplateUIDAnnotation: string(q.UID),
			},
		},
		"spec": corev1.ResourceQuotaSpec{Hard: part.Hard},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the part of %q for cluster %q: %w", q.Name, part.ClusterName, err)
	}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}}
	sum := sha256.Sum256(manifest)
	work.Annotations = map[string]string{contract.ManifestHashAnnotation: hex.EncodeToString(sum[:])}
	return work, nil
}
