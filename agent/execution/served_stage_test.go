package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// widgetWorld is one whose member has a CustomResourceDefinition of two versions, a Widget of the first for a Work, and an agent that
// has applied it.
func widgetWorld(t *testing.T) (w *world, work *workv1alpha1.Work, widget *unstructured.Unstructured, stop func()) {
	t.Helper()
	g := NewWithT(t)
	c := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w = unstarted(t)
	definition := w.definition()
	old := *definition.Spec.Versions[0].DeepCopy()
	old.Name, old.Storage = "v1beta1", false
	definition.Spec.Versions = append(definition.Spec.Versions, old)
	g.Expect(w.client.Create(t.Context(), definition)).To(Succeed())
	stop = w.startBetween(t, c.Config, c.Config, native.New())
	widget = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": definition.Spec.Group + "/v1beta1", "kind": "Widget", "metadata": map[string]any{"name": "one", "namespace": w.member},
	}}
	work = w.work(t, "widget", widget)
	w.isApplied(t, work)
	return w, work, widget, stop
}

// upgrade stops serving v1beta1 of Widgets, as the upgrade of an operator does.
func (w *world) upgrade(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	definition := &apiextensionsv1.CustomResourceDefinition{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(w.definition()), definition)).To(Succeed())
	before := definition.DeepCopy()
	for i := range definition.Spec.Versions {
		definition.Spec.Versions[i].Served = definition.Spec.Versions[i].Name == "v1"
	}
	g.Expect(w.client.Patch(t.Context(), definition, client.MergeFrom(before))).To(Succeed())
	asking, err := discovery.NewDiscoveryClientForConfig(cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() bool {
		_, err := asking.ServerResourcesForGroupVersionWithContext(t.Context(), definition.Spec.Group+"/v1beta1")
		return apierrors.IsNotFound(err)
	}).WithTimeout(waitTimeout).Should(BeTrue())
}

// live returns a Widget as the member serves it now, nil if there is none.
func (w *world) live(t *testing.T, widget *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	t.Helper()
	out := &metav1.PartialObjectMetadata{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: widget.GroupVersionKind().Group, Version: "v1", Kind: "Widget"})
	err := w.client.Get(t.Context(), client.ObjectKeyFromObject(widget), out)
	NewWithT(t).Expect(client.IgnoreNotFound(err)).To(Succeed())
	if err != nil {
		return nil
	}
	return out
}

// TestAnObjectGoesWithItsWorkWhenItsVersionIsServedNoMore upgrades an operator in the member, so that the Work's
// version is no longer served: the object continues to exist in another version, and must be deleted with its Work
// nevertheless.
func TestAnObjectGoesWithItsWorkWhenItsVersionIsServedNoMore(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"an agent that saw it before": false, "an agent that started since": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w, work, widget, stop := widgetWorld(t)
			if restarts {
				stop()
			}
			w.upgrade(t)
			g.Expect(w.live(t, widget)).NotTo(BeNil())
			if restarts {
				w.start(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, native.New())
			}
			w.end(t, work, contract.DeletionRemoved)
			w.isGone(t, work)
			g.Expect(w.live(t, widget)).To(BeNil())
		})
	}
}

// TestASweepEndsWhatIsServedInAnotherVersion checks the same of an agent that leaves its hub.
func TestASweepEndsWhatIsServedInAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"removed": false, "left without marks": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w, work, widget, stop := widgetWorld(t)
			stop()
			w.upgrade(t)
			config := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config
			member, err := client.New(config, client.Options{})
			g.Expect(err).NotTo(HaveOccurred())
			asking, err := discovery.NewDiscoveryClientForConfig(config)
			g.Expect(err).NotTo(HaveOccurred())
			swept, err := execution.Sweeper{MemberClient: member, MemberReader: member, Discovery: memberDiscovery{asking, &w.starting}, Clock: clock.RealClock{}}.
				Sweep(t.Context(), []*workv1alpha1.Work{work}, stays)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(swept.Objects).To(Equal(1))
			live := w.live(t, widget)
			if !stays {
				g.Expect(live).To(BeNil())
				return
			}
			g.Expect(live).NotTo(BeNil())
			g.Expect(live.Labels).NotTo(HaveKey(contract.ManagedLabel))
		})
	}
}

// TestANamespaceStaysUntilTheMemberIsReadyToSayWhatIsInIt covers an API server that is starting: it answers, without
// the kinds that it has not loaded yet. Others' objects of such kinds must not be deleted with a Namespace.
func TestANamespaceStaysUntilTheMemberIsReadyToSayWhatIsInIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := unstarted(t)
	definition := w.definition()
	g.Expect(w.client.Create(t.Context(), definition)).To(Succeed())
	w.late = []schema.GroupVersionKind{{Group: definition.Spec.Group, Version: "v1", Kind: "Widget"}}
	w.start(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, native.New())
	namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: w.member + "-late"}}
	work := w.work(t, "around", namespace)
	w.isApplied(t, work)
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": definition.Spec.Group + "/v1", "kind": "Widget", "metadata": map[string]any{"name": "theirs", "namespace": namespace.Name},
	}}
	g.Eventually(func() error { return w.client.Create(t.Context(), widget) }).WithTimeout(waitTimeout).Should(Succeed())
	first := w.uid(t, namespace)

	w.starting.Store(true)
	w.end(t, work, contract.DeletionRemoved)
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(HavePrefix("DeletionFailed: "), ContainSubstring("not ready"))))
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(work), work)).To(Succeed())
	g.Expect(work.Finalizers).To(ContainElement(contract.ExecutionFinalizer))
	g.Expect(w.uid(t, namespace)).To(Equal(first))

	w.starting.Store(false)
	w.isGone(t, work)
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(HavePrefix("LeftInMember: "), ContainSubstring("theirs"))))
	g.Expect(w.uid(t, namespace)).To(Equal(first))
}
