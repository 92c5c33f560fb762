package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// TestAWorkAloneSaysNothingOfItsNamespace covers a compromised hub that probes what another namespace contains, with
// Works that are suspended or refused: such a Work proves nothing.
func TestAWorkAloneSaysNothingOfItsNamespace(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	shared := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	stop := w.startBetween(t, shared.Config, shared.Config, native.New())
	settings := w.work(t, "settings", w.configMap("settings", nil))
	w.isApplied(t, settings)
	payroll := shared.Namespace(t)
	theirs := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: payroll}}
	w.isNotApplied(t, w.work(t, payroll+"-namespace", theirs))
	asks := w.configMap("asks", nil)
	asks.Namespace = payroll
	suspended := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.works, Name: contract.WorkName("ConfigMap", payroll, "asks"), Finalizers: []string{contract.ExecutionFinalizer},
		Annotations: map[string]string{contract.ResourceBindingNamespaceAnnotation: payroll, contract.ResourceBindingNameAnnotation: "asks-configmap"},
	}}
	suspended.Spec.SuspendDispatching = new(true)
	suspended.Spec.Workload.Manifests = raw(t, asks)
	g.Expect(w.client.Create(t.Context(), suspended)).To(Succeed())
	g.Eventually(func() string { return w.reports.condition(suspended, workv1alpha1.WorkDispatching).Reason }).WithTimeout(waitTimeout).NotTo(BeEmpty())
	here := func(g Gomega) sets.Set[string] {
		namespaces, err := w.executor.Namespaces(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		return namespaces
	}
	g.Eventually(here).WithTimeout(waitTimeout).Should(Equal(sets.New(w.member)))

	// A hub whose Work was applied there may know.
	w.change(t, suspended, func(work *workv1alpha1.Work) { work.Spec.SuspendDispatching = nil })
	w.isApplied(t, suspended)
	g.Eventually(here).WithTimeout(waitTimeout).Should(Equal(sets.New(w.member, payroll)))

	// A restarted agent knows so too, once it has reconciled all Works; the objects that it finds of a suspended Work
	// count as well.
	w.change(t, suspended, func(work *workv1alpha1.Work) { work.Spec.SuspendDispatching = new(true) })
	g.Eventually(func() metav1.ConditionStatus {
		return w.reports.condition(suspended, workv1alpha1.WorkDispatching).Status
	}).
		WithTimeout(waitTimeout).Should(Equal(metav1.ConditionFalse))
	stop()
	w.start(t, shared.Config, native.New())
	var first sets.Set[string]
	g.Eventually(func() (err error) {
		first, err = w.executor.Namespaces(t.Context())
		return err
	}).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(first).To(Equal(sets.New(w.member, payroll)), "it says nothing before it knows")
	w.end(t, suspended, contract.DeletionRemoved)
	w.isGone(t, suspended)
	g.Eventually(here).WithTimeout(waitTimeout).Should(Equal(sets.New(w.member)))
}
