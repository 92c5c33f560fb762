package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// TestRestoredObjectsOfAnEndedWorkAreUnclaimed restores the member, while the agent is off, from a backup of before its only Work
// ended: no Work has the kind of what is back.
func TestRestoredObjectsOfAnEndedWorkAreUnclaimed(t *testing.T) {
	t.Parallel()
	g, w, kept := NewWithT(t), unstarted(t), &extraKept{}
	w.journal = kept
	config := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config
	stop := w.startBetween(t, config, config, native.New())
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	g.Expect(kept.kinds()).To(Equal([]schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")}))
	stop()

	g.Expect(w.client.Create(t.Context(), w.marked("settings"))).To(Succeed())
	w.pastKinds = kept.kinds()
	w.start(t, config, native.New())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(
		HavePrefix("Unclaimed: 1 objects in the member name this Work"), ContainSubstring("ConfigMap "+w.member+"/settings"))))
	g.Expect(w.get(g, "settings").DeletionTimestamp).To(BeNil())
	g.Expect(w.client.Delete(t.Context(), w.get(g, "settings"))).To(Succeed())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(BeZero())
}

// TestADroppedObjectIsUnclaimedThoughNoWorkHasItsKind has a Work drop its only Secret.
func TestADroppedObjectIsUnclaimedThoughNoWorkHasItsKind(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	secret := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "key"},
	}
	work := w.work(t, "settings", w.configMap("settings", nil), secret)
	w.isApplied(t, work)
	work.Spec.Workload.Manifests = raw(t, w.configMap("settings", nil))
	g.Expect(w.client.Update(t.Context(), work)).To(Succeed())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(ContainSubstring("Secret " + w.member + "/key")))
	g.Expect(w.client.Delete(t.Context(), secret)).To(Succeed())
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(BeZero())
}
