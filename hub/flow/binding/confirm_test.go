package binding

import (
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

// TestDeletionIsConfirmedLive checks that the binding is read live before a Work is deleted.
func TestDeletionIsConfirmedLive(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	cached := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Generation: 4}}
	confirm := func(live *workv1alpha2.ResourceBinding, deletes int) error {
		objects := []client.Object{}
		if live != nil {
			objects = append(objects, live)
		}
		r := &reconciler{kind: kube.ResourceBindings(), hubReader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()}
		return r.confirm(t.Context(), cached, fanout.Plan{Delete: make([]fanout.Deletion, deletes)})
	}
	at := func(uid types.UID, generation int64) *workv1alpha2.ResourceBinding {
		live := cached.DeepCopy()
		live.UID, live.Generation = uid, generation
		return live
	}
	g.Expect(confirm(at("1", 4), 1)).To(Succeed(), "the live binding is the cached one")
	g.Expect(confirm(at("1", 5), 1)).To(Satisfy(apierrors.IsConflict), "the live binding was changed")
	g.Expect(confirm(at("2", 4), 1)).To(Satisfy(apierrors.IsConflict), "the live binding is another one")
	g.Expect(confirm(nil, 1)).To(Satisfy(apierrors.IsConflict), "the live binding is gone")
	g.Expect(confirm(nil, 0)).To(Succeed(), "nothing is read if nothing is deleted")
}
