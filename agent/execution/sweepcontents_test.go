package execution

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// sweeping is an agent that leaves a member.
func sweeping(c client.Client) Sweeper {
	return Sweeper{MemberClient: c, MemberReader: c, Discovery: servedKinds{}, Clock: clocktesting.NewFakeClock(time.Unix(0, 0)), NamespacedKinds: func(context.Context) ([]schema.GroupVersionKind, error) {
		return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")}, nil
	}}
}

func TestASweepLeavesANamespaceWithOthersInIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := fakeClient(t, interceptor.Funcs{}, namespaceOf(), inShop("theirs", "", ""), inShop("ours", ownWorks, "inside"))
	works := []*workv1alpha1.Work{workWith(t, "around", namespaceOf()), workWith(t, "inside", inShop("ours", "", ""))}
	works = append(works, workWith(t, "gone", inShop("gone", "", "")), workWith(t, "taken", inShop("theirs", "", "")))
	swept, err := sweeping(member).Sweep(t.Context(), works, false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(swept.Objects).To(Equal(1), "what is gone, or not ours, was not removed")
	g.Expect(swept.Left).To(HaveExactElements(And(HavePrefix("Namespace shop is not deleted from the member"), ContainSubstring("ConfigMap shop/theirs"))))
	live := namespaceOf()
	g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
	g.Expect(live.Labels).NotTo(HaveKey(contract.ManagedLabel), "nobody will claim it")
	gone := inShop("ours", "", "")
	g.Expect(apierrors.IsNotFound(member.Get(t.Context(), client.ObjectKeyFromObject(gone), gone))).To(BeTrue())
}

// TestASweepLooksAfterWhatStaysFirst checks that objects to be kept lose our marks first: with the marks they would
// not keep their Namespace.
func TestASweepLooksAfterWhatStaysFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := fakeClient(t, interceptor.Funcs{}, namespaceOf(), inShop("stays", ownWorks, "inside"))
	inside := workWith(t, "inside", inShop("stays", "", ""))
	inside.Spec.PreserveResourcesOnDeletion = new(true)
	swept, err := sweeping(member).Sweep(t.Context(), []*workv1alpha1.Work{workWith(t, "around", namespaceOf()), inside}, false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(swept.Left).To(HaveLen(1))
	live := inShop("stays", "", "")
	g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
	g.Expect(live.Labels).NotTo(HaveKey(contract.ManagedLabel))
}

// TestASweepTakesNothingWithANamespaceThatItWasNotToldToRemove checks that a Namespace is not deleted while it
// contains objects of a Work that is not being swept, or objects to be kept whose marks could not be removed.
func TestASweepTakesNothingWithANamespaceThatItWasNotToldToRemove(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	inside := workWith(t, "inside", inShop("stays", "", ""))
	inside.Spec.PreserveResourcesOnDeletion = new(true)
	tests := map[string]struct {
		object  *corev1.ConfigMap
		works   []*workv1alpha1.Work
		wantErr error
	}{
		"of a Work that nobody has a record of": {object: inShop("stays", ownWorks, "unknown")},
		"of another hub":                        {object: inShop("stays", "karmada-es-other", "around")},
		"a copy of what is removed":             {object: inShop("stays", ownWorks, "around")},
		"with our label alone":                  {object: labelled("stays")},
		"of which the marks could not be taken": {object: inShop("stays", ownWorks, "inside"), works: []*workv1alpha1.Work{inside}, wantErr: broken},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			member := fakeClient(t, interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if obj.GetName() == "stays" {
					return broken
				}
				return c.Patch(ctx, obj, patch, opts...)
			}}, namespaceOf(), tc.object)
			swept, err := sweeping(member).Sweep(t.Context(), append(tc.works, workWith(t, "around", namespaceOf())), false)
			if tc.wantErr != nil {
				g.Expect(err).To(MatchError(tc.wantErr))
			} else {
				g.Expect(err).NotTo(HaveOccurred())
			}
			g.Expect(swept.Left).To(HaveExactElements(ContainSubstring("ConfigMap shop/stays")))
			live := namespaceOf()
			g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
		})
	}
}

// TestASweepGoesOnAfterAFailure checks that an object that cannot be released keeps nothing but its Namespace, with
// which it would be deleted.
func TestASweepGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	broken := errors.New("broken")
	member := fakeClient(t, interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		if obj.GetName() == "stuck" {
			return broken
		}
		return c.Delete(ctx, obj, opts...)
	}}, inShop("stuck", ownWorks, "stuck"), inShop("ours", ownWorks, "inside"))
	shop := namespaceOf()
	shop.ResourceVersion = ""
	g.Expect(member.Create(t.Context(), shop)).To(Succeed())
	unknown := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Widget"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "w"}}
	swept, err := sweeping(member).Sweep(t.Context(), []*workv1alpha1.Work{
		workWith(t, "around", namespaceOf()),
		workWith(t, "stuck", inShop("stuck", "", "")), workWith(t, "widget", unknown), workWith(t, "inside", inShop("ours", "", "")),
	}, false)
	g.Expect(err).To(MatchError(broken))
	g.Expect(err).To(MatchError(ContainSubstring("ConfigMap shop/stuck")))
	g.Expect(swept.Objects).To(Equal(1), "of a kind that is gone there is nothing left")
	g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(shop), shop)).To(Succeed())
	g.Expect(shop.Labels).To(HaveKey(contract.ManagedLabel), "it is looked at again")
}
