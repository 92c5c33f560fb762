package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// TestFieldsOfAnotherAgentGoOnceTheTemplateDropsThem holds for an object that another system's
// agent has made, updated and applied.
func TestFieldsOfAnotherAgentGoOnceTheTemplateDropsThem(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	const former = "karmada-agent"
	made := w.configMap("settings", map[string]string{"a": "1", "made": "2", "kept": "3"})
	g.Expect(w.client.Create(t.Context(), made, client.FieldOwner(former))).To(Succeed())
	before := made.DeepCopy()
	made.Data["updated"] = "4"
	g.Expect(w.client.Patch(t.Context(), made, client.MergeFrom(before), client.FieldOwner(former))).To(Succeed())
	before = made.DeepCopy()
	made.Data["theirs"] = "5"
	g.Expect(w.client.Patch(t.Context(), made, client.MergeFrom(before), client.FieldOwner("kubectl"))).To(Succeed())

	full := w.configMap("settings", map[string]string{"a": "1", "made": "2", "updated": "4", "kept": "3"})
	full.Annotations = map[string]string{contract.ConflictResolutionAnnotation: contract.ConflictOverwrite}
	work := w.work(t, "settings", full)
	w.isApplied(t, work)
	cm := w.get(g, "settings")
	g.Expect(cm.ManagedFields).NotTo(ContainElement(HaveField("Manager", former)))
	g.Expect(cm.UID).To(Equal(made.UID))
	g.Expect(cm.Data).To(Equal(map[string]string{"a": "1", "made": "2", "updated": "4", "kept": "3", "theirs": "5"}))
	g.Expect(cm.ManagedFields).To(ContainElement(And(HaveField("Manager", contract.FieldManagerAgent), HaveField("Operation", metav1.ManagedFieldsOperationApply))))

	w.change(t, work, func(work *workv1alpha1.Work) {
		full.Data = map[string]string{"a": "1", "kept": "9"}
		work.Spec.Workload.Manifests = raw(t, full)
	})
	w.isApplied(t, work)
	g.Expect(w.get(g, "settings").Data).To(Equal(map[string]string{"a": "1", "kept": "9", "theirs": "5"}))
}
