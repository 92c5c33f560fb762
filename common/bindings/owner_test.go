package bindings_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

func TestOnlyTheControllerIsNamedInAnotherVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	owner := func(apiVersion string, controller *bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: "Database", Name: "orders", UID: "1", Controller: controller}
	}
	b := &workv1alpha2.ResourceBinding{}
	bindings.OwnedAs(b, "example.com/v1")
	g.Expect(b.OwnerReferences).To(BeEmpty())
	g.Expect(bindings.OwnedIn(b)).To(BeEmpty())

	shared := []metav1.OwnerReference{owner("example.com/v1beta1", nil), owner("example.com/v1beta1", new(false)), owner("example.com/v1beta1", new(true))}
	b.OwnerReferences = shared
	bindings.OwnedAs(b, "example.com/v1")
	g.Expect(b.OwnerReferences).To(Equal([]metav1.OwnerReference{
		owner("example.com/v1beta1", nil), owner("example.com/v1beta1", new(false)), owner("example.com/v1", new(true)),
	}))
	g.Expect(bindings.OwnedIn(b)).To(Equal("example.com/v1"))
	g.Expect(shared[2].APIVersion).To(Equal("example.com/v1beta1"), "what a cache has stays as it is")
}
