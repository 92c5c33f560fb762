package dependencies

import (
	"encoding/json"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// TestTooLongListMeansEverythingMayBeNeeded: the annotations of a binding have limited room.
func TestTooLongListMeansEverythingMayBeNeeded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	list := func(n int) []byte {
		var refs []configv1alpha1.DependentObjectReference
		for i := range n {
			refs = append(refs, configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprint("settings-", i)})
		}
		data, err := json.Marshal(refs)
		g.Expect(err).NotTo(HaveOccurred())
		return data
	}
	needs := func(noted, name string) bool {
		b := &workv1alpha2.ResourceBinding{}
		b.Annotations = map[string]string{contract.DependenciesAnnotation: noted}
		return bindings.Needs(b, &workv1alpha2.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name})
	}
	short := bounded(list(10))
	g.Expect(short).To(MatchJSON(list(10)))
	g.Expect(needs(short, "settings-9")).To(BeTrue())
	g.Expect(needs(short, "other")).To(BeFalse())

	long := bounded(list(3000))
	g.Expect(len(long)).To(BeNumerically("<", 100))
	g.Expect(long).To(MatchRegexp(`(?s)^\s*\[.*\]\s*$`), "the annotation must be a list for admission")
	g.Expect(needs(long, "other")).To(BeTrue())
	g.Expect(long).NotTo(Equal(bounded(list(3001))), "the annotation changes with the list")
}
