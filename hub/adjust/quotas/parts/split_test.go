package parts_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/quota"
	"fairlead.dev/hub/adjust/quotas/parts"
)

func assignment(name, cpu string) policyv1alpha1.StaticClusterAssignment {
	return policyv1alpha1.StaticClusterAssignment{ClusterName: name, Hard: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}
}

func TestWork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	q := &policyv1alpha1.FederatedResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all", UID: "u"}}
	work, err := parts.Work(q, assignment("edge-1", "2"), contract.DefaultExecutionNamespacePrefix)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(work.Namespace).To(Equal("karmada-es-edge-1"))
	g.Expect(work.Name).To(Equal(contract.WorkName("ResourceQuota", "shop", "all")))
	g.Expect(work.Labels).To(HaveKeyWithValue("federatedresourcequota.karmada.io/namespace", "shop"))
	g.Expect(work.Labels).To(HaveKeyWithValue("federatedresourcequota.karmada.io/name", "all"))
	g.Expect(work.Finalizers).To(Equal([]string{contract.ExecutionFinalizer}))
	namespace, name, ok := quota.PartOf(work)
	g.Expect([]any{namespace, name, ok}).To(Equal([]any{"shop", "all", true}))

	manifest := corev1.ResourceQuota{}
	g.Expect(json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &manifest)).To(Succeed())
	g.Expect(manifest.Kind).To(Equal("ResourceQuota"))
	g.Expect(manifest.Namespace + "/" + manifest.Name).To(Equal("shop/all"))
	g.Expect(manifest.Spec.Hard.Cpu().String()).To(Equal("2"))
	g.Expect(manifest.Labels).To(HaveKeyWithValue(contract.ManagedLabel, "true"))
	g.Expect(manifest.Annotations).To(HaveKeyWithValue(contract.WorkNameAnnotation, work.Name))

	again, err := parts.Work(q, assignment("edge-1", "2"), contract.DefaultExecutionNamespacePrefix)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again).To(BeComparableTo(work), "it is the same every time")
	more, err := parts.Work(q, assignment("edge-1", "3"), contract.DefaultExecutionNamespacePrefix)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(more.Annotations).NotTo(Equal(work.Annotations), "the hash says what it carries")
	other, err := parts.Work(q, assignment("edge-2", "2"), contract.DefaultExecutionNamespacePrefix)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(other.Labels[contract.WorkPermanentIDLabel]).NotTo(Equal(work.Labels[contract.WorkPermanentIDLabel]))
}
