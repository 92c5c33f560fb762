package execution_test

import (
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// gadgets is the definition of a kind that no other test knows.
func gadgets() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "gadgets.needs.example.com"},
		"spec": map[string]any{
			"group": "needs.example.com", "scope": "Namespaced",
			"names": map[string]any{"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
}

func TestAKindThatTheMemberDoesNotKnowIsWaitedForWithoutAskingAllTheTime(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	const n = 20
	works := make([]*workv1alpha1.Work, 0, n)
	for i := range n {
		name := "gadget-" + strconv.Itoa(i)
		works = append(works, w.work(t, name, map[string]any{
			"apiVersion": "needs.example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": name, "namespace": w.member},
		}))
	}
	for _, work := range works {
		g.Expect(w.isNotApplied(t, work)).To(ContainSubstring("the member does not know the kind Gadget of needs.example.com/v1"))
	}
	// Twenty Works that ask for themselves would have asked a hundred times by now.
	g.Expect(len(w.requests.about("/needs.example.com"))).To(BeNumerically("<", 20))

	definition := w.work(t, "gadgets", gadgets())
	w.isApplied(t, definition)
	for _, work := range works {
		w.isApplied(t, work)
	}
}

func TestManyWorksWaitForANamespaceTogether(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), newWorld(t)
	const n = 20
	namespace := w.member + "-late"
	works := make([]*workv1alpha1.Work, 0, n)
	for i := range n {
		manifest := w.configMap("settings-"+strconv.Itoa(i), nil)
		manifest.Namespace = namespace
		works = append(works, w.work(t, manifest.Name, manifest))
	}
	for _, work := range works {
		g.Expect(w.isNotApplied(t, work)).To(ContainSubstring(strconv.Quote(namespace) + " does not exist in the member"))
	}
	before := len(w.requests.about("/namespaces/" + namespace))
	g.Consistently(func() int { return len(w.requests.about("/namespaces/"+namespace)) - before }).
		WithTimeout(2*time.Second).Should(BeNumerically("<", 10), "one asks for all")

	w.isApplied(t, w.work(t, "namespace", &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: namespace},
	}))
	for _, work := range works {
		w.isApplied(t, work)
	}
}
