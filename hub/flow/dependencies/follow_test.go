package dependencies

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
)

func TestUnneeded(t *testing.T) {
	t.Parallel()
	found := func(group string) object {
		return object{
			kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Setting"},
			meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
		}
	}
	beta := found("one.example.com")
	beta.kind.Version = "v1beta1"
	workload := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
	attached := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-setting"}}
	attached.Spec.Resource = workv1alpha2.ObjectReference{APIVersion: "one.example.com/v1", Kind: "Setting", Namespace: "shop", Name: "web"}
	tests := map[string]struct {
		found finding
		want  []kube.Binding
	}{
		"it is found":                    {found: finding{objects: []object{found("one.example.com")}}},
		"one of another group comes too": {found: finding{objects: []object{found("one.example.com"), found("two.example.com")}}},
		"only one of another group is found": {
			found: finding{objects: []object{found("two.example.com")}}, want: []kube.Binding{attached},
		},
		"it is found in another version than that of its policy": {found: finding{objects: []object{beta}}},
		"that version is not served":                             {found: finding{unserved: []schema.GroupVersionKind{beta.kind}}},
		"nothing is found":                                       {want: []kube.Binding{attached}},
		"its kind is not served":                                 {found: finding{unserved: []schema.GroupVersionKind{found("one.example.com").kind}}},
		"a kind of another group":                                {found: finding{unserved: []schema.GroupVersionKind{found("two.example.com").kind}}, want: []kube.Binding{attached}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(tt.found.unneeded(workload, []kube.Binding{attached})).To(Equal(tt.want))
		})
	}
}
