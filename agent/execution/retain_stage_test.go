package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// TestAServiceThatIsToHaveNoAddressIsMadeAnewIfItsTemplateAsksForThat relies on the member's message about the
// immutable clusterIP, by which the agent knows what to do.
func TestAServiceThatIsToHaveNoAddressIsMadeAnewIfItsTemplateAsksForThat(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	manifest := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "web"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	work := w.work(t, "web", manifest)
	w.isApplied(t, work)
	live := &corev1.Service{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(manifest), live)).To(Succeed())
	first := live.UID
	manifest.Spec.ClusterIP = corev1.ClusterIPNone
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, manifest) })
	g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("have the agent delete it (annotation " + contract.RecreateAnnotation))

	manifest.Annotations = map[string]string{contract.RecreateAnnotation: contract.LabelTrue}
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, manifest) })
	w.isApplied(t, work)
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(manifest), live)).To(Succeed())
	g.Expect(live.Spec.ClusterIP).To(Equal(corev1.ClusterIPNone))
	g.Expect(live.UID).NotTo(Equal(first))
}

// TestAServiceAccountLosesWhatItsTemplateDrops checks that imagePullSecrets added by others in the member stay, and
// those that the template drops go.
func TestAServiceAccountLosesWhatItsTemplateDrops(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	account := func(names ...string) map[string]any {
		var entries []any
		for _, name := range names {
			entries = append(entries, map[string]any{"name": name})
		}
		return map[string]any{
			"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"namespace": w.member, "name": "robot"},
			"secrets": entries, "imagePullSecrets": entries,
		}
	}
	work := w.work(t, "robot", account("a", "b"))
	w.isApplied(t, work)
	live := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "robot"}}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
	before := live.DeepCopy()
	live.Secrets = append(live.Secrets, corev1.ObjectReference{Name: "p"})
	live.ImagePullSecrets = append(live.ImagePullSecrets, corev1.LocalObjectReference{Name: "p"})
	g.Expect(w.client.Patch(t.Context(), live, client.StrategicMergeFrom(before), client.FieldOwner("theirs"))).To(Succeed())

	for _, names := range [][]string{{"a"}, {"a", "c"}, {}} {
		w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, account(names...)) })
		w.isApplied(t, work)
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
		var secrets, pull []string
		for _, s := range live.Secrets {
			secrets = append(secrets, s.Name)
		}
		for _, s := range live.ImagePullSecrets {
			pull = append(pull, s.Name)
		}
		g.Expect(secrets).To(ConsistOf(append(names, "p")))
		g.Expect(pull).To(ConsistOf(append(names, "p")))
	}
}
