package render

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// A hub that was killed between writing the deletion intent and the deletion left the intent on a Work that stays.
func TestInPlaceRemovesDeletionIntent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	live := &workv1alpha1.Work{}
	live.Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionRemoved, contract.ManifestHashAnnotation: "h"}
	live.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop"}}`),
	}}}
	out, err := InPlace(Input{Binding: &workv1alpha2.ResourceBinding{}}, live)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Annotations).NotTo(HaveKey(contract.DeletionIntentAnnotation))
	g.Expect(live.Annotations).To(HaveKey(contract.DeletionIntentAnnotation), "the given Work is not modified")
}
