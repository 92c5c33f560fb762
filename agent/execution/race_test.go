package execution_test

import (
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// TestAnObjectThatTookThePlaceOfOursInTheMeantimeIsLeftAlone replaces the object by another of its name between the
// agent's read and its write: it must be left alone.
func TestAnObjectThatTookThePlaceOfOursInTheMeantimeIsLeftAlone(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)

	var once sync.Once
	w.requests.meddle(func(line string) {
		if !strings.HasPrefix(line, "PATCH ") || !strings.HasSuffix(line, "/configmaps/settings") {
			return
		}
		once.Do(func() {
			ctx := t.Context()
			theirs := w.configMap("settings", map[string]string{"theirs": "yes"})
			g.Expect(w.client.Delete(ctx, w.configMap("settings", nil))).To(Succeed())
			g.Expect(w.client.Create(ctx, theirs)).To(Succeed())
		})
	})
	w.change(t, work, func(work *workv1alpha1.Work) {
		work.Spec.Workload.Manifests = raw(t, w.configMap("settings", map[string]string{"a": "2"}))
	})
	g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("is not managed"))
	cm := w.get(g, "settings")
	g.Expect(cm.Data).To(Equal(map[string]string{"theirs": "yes"}))
	g.Expect(cm.Labels).NotTo(HaveKey(contract.ManagedLabel))

	// An API server reports another UID as Invalid, not as a conflict.
	mine := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": w.member, "uid": "another"},
	}}
	err := w.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(mine), client.FieldOwner("test"), client.ForceOwnership)
	g.Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	g.Expect(apierrors.HasStatusCause(err, metav1.CauseTypeFieldValueInvalid)).To(BeTrue(), "%v", err)

	// Once it is gone, ours is made again.
	g.Expect(w.client.Delete(t.Context(), cm, client.Preconditions{UID: &cm.UID})).To(Succeed())
	w.isApplied(t, work)
	g.Expect(w.get(g, "settings").Data).To(Equal(map[string]string{"a": "2"}))
}

// TestAnObjectThatSomebodyElseMakesInTheMeantimeIsLeftAlone covers an object that appears after the agent found ours
// deleted and before it recreates it.
func TestAnObjectThatSomebodyElseMakesInTheMeantimeIsLeftAlone(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)

	var once sync.Once
	w.requests.meddle(func(line string) {
		if strings.HasPrefix(line, "PATCH ") && strings.HasSuffix(line, "/configmaps/settings") {
			once.Do(func() {
				g.Expect(w.client.Create(t.Context(), w.configMap("settings", map[string]string{"theirs": "yes"}))).To(Succeed())
			})
		}
	})
	g.Expect(w.client.Delete(t.Context(), w.configMap("settings", nil))).To(Succeed())
	g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("is not managed"))
	cm := w.get(g, "settings")
	g.Expect(cm.Data).To(Equal(map[string]string{"theirs": "yes"}))
	g.Expect(cm.Labels).NotTo(HaveKey(contract.ManagedLabel))
}
