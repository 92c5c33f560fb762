package plan

import (
	"encoding/json"
	"math"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// workOf is a Work that has objects.
func workOf(t *testing.T, name string, objects ...map[string]any) workv1alpha1.Work {
	t.Helper()
	out := workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-edge", Name: name}}
	for _, object := range objects {
		raw, err := json.Marshal(object)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		out.Spec.Workload.Manifests = append(out.Spec.Workload.Manifests, workv1alpha1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	return out
}

func TestWantedIn(t *testing.T) {
	t.Parallel()
	object := func(apiVersion, kind, namespace, name string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}}
	}
	definition := map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.example.com"},
		"spec": map[string]any{"group": "example.com", "names": map[string]any{"kind": "Widget"}},
	}
	namespace := map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}
	widget, settings := object("example.com/v1beta1", "Widget", "shop", "w"), object("v1", "ConfigMap", "shop", "settings")
	ending := func(intent string) func(*workv1alpha1.Work) {
		return func(work *workv1alpha1.Work) {
			work.DeletionTimestamp = new(metav1.Now())
			work.Annotations = map[string]string{contract.DeletionIntentAnnotation: intent}
		}
	}
	tests := map[string]struct {
		container map[string]any
		has       []map[string]any
		change    func(*workv1alpha1.Work)
		want      []string
	}{
		"what is in a Namespace":                                {container: namespace, has: []map[string]any{settings, widget}, want: []string{"ConfigMap shop/settings of Work inside", "Widget shop/w of Work inside"}},
		"what a CustomResourceDefinition is of, in any version": {container: definition, has: []map[string]any{settings, widget}, want: []string{"Widget shop/w of Work inside"}},
		"not what is in another Namespace, whatever its name": {
			container: namespace, has: []map[string]any{object("v1", "ConfigMap", "other", "shop"), object("v1", "ConfigMap", "shop-2", "settings")},
		},
		"not a kind of that name of another group": {container: definition, has: []map[string]any{object("other.example.com/v1", "Widget", "shop", "w")}},
		"not the Namespace itself":                 {container: namespace, has: []map[string]any{namespace}},
		"not what cannot be applied anyway":        {container: namespace, has: []map[string]any{object("", "ConfigMap", "shop", "settings")}},
		"not of a Work that ends":                  {container: namespace, has: []map[string]any{settings}, change: ending(contract.DeletionMoved)},
		"not of one that somebody deletes: it stays by itself": {
			container: namespace, has: []map[string]any{settings}, change: ending(""),
		},
		"not what stays by itself": {
			container: namespace, has: []map[string]any{settings}, change: func(work *workv1alpha1.Work) { work.Spec.PreserveResourcesOnDeletion = new(true) },
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			around, inside := workOf(t, "around", tc.container), workOf(t, "inside", tc.has...)
			if tc.change != nil {
				tc.change(&inside)
			}
			ending(contract.DeletionMoved)(&around)
			works := []workv1alpha1.Work{around, inside}
			var got []string
			for _, w := range WantedIn(Parse(&around)[0], works, math.MaxInt) {
				got = append(got, w.String())
			}
			g.Expect(got).To(Equal(tc.want))
			g.Expect(WantedIn(Parse(&around)[0], works, 1)).To(HaveLen(min(len(tc.want), 1)))
		})
	}
}

func TestWantedObjectsAreNamedInOneSentence(t *testing.T) {
	t.Parallel()
	namespace := Object{NamespacedName: types.NamespacedName{Name: "shop"}}
	namespace.Kind = "Namespace"
	var wanted []Wanted
	for _, name := range []string{"d", "b", "c", "a"} {
		object := Object{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
		object.Kind = "ConfigMap"
		wanted = append(wanted, Wanted{Object: object, Work: "work-" + name})
	}
	NewWithT(t).Expect(WantedMessage(namespace, wanted)).To(HavePrefix("Namespace shop is not deleted from the member, because objects that other Works still want here would be deleted with it " +
		"(ConfigMap shop/a of Work work-a, ConfigMap shop/b of Work work-b, ConfigMap shop/c of Work work-c and 1 more): "))
}
