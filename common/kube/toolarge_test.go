package kube

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// TestAWorkWithoutRoomIsDeleted covers a Work that its agent has filled up, in its status or in
// metadata.managedFields: nothing can be added to it, and even its deletion fails while it is that large, since that
// adds the deletionTimestamp.
func TestAWorkWithoutRoomIsDeleted(t *testing.T) {
	t.Parallel()
	const room = 10_000
	cases := map[string]struct {
		// refills is after how many writes of the hub the agent fills the status again.
		refills int
		// owned means that metadata.managedFields is full as well, and marked that the Work has the reason for its
		// deletion already.
		owned, marked bool
		// change fills something else.
		change  func(*workv1alpha1.Work)
		wantErr bool
	}{
		"it was filled once":                       {},
		"it is filled again before it is deleted":  {refills: 3},
		"its managed fields are full, too":         {owned: true},
		"they are, and only the deletion is left":  {owned: true, marked: true},
		"it is filled again before the second try": {refills: 1, wantErr: true}, // the next reconcile tries again
		"what its name is made of is full":         {change: func(w *workv1alpha1.Work) { w.GenerateName = strings.Repeat("x", room) }},
		"it has its finalizer many times":          {change: func(w *workv1alpha1.Work) { w.Finalizers = slices.Repeat(w.Finalizers, room/10) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			scheme, err := NewScheme()
			g.Expect(err).NotTo(HaveOccurred())
			work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-a", Name: "web", UID: "1"}}
			work.Finalizers = []string{"karmada.io/execution-controller"}
			pad := func(w *workv1alpha1.Work) {
				w.Status.Conditions = []metav1.Condition{{Type: "Applied", Message: strings.Repeat("x", room)}}
			}
			pad(work)
			if tc.change != nil {
				tc.change(work)
			}
			if tc.marked {
				work.Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionRemoved}
			}
			writes, owned := 0, tc.owned
			wrote := func(ctx context.Context, c client.WithWatch) error {
				if writes++; writes != tc.refills {
					return nil
				}
				latest := &workv1alpha1.Work{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(work), latest); err != nil {
					return err
				}
				pad(latest)
				return c.Status().Update(ctx, latest)
			}
			full := func(ctx context.Context, c client.WithWatch, patch string) error {
				latest := &workv1alpha1.Work{}
				if err := c.Get(ctx, client.ObjectKeyFromObject(work), latest); err != nil {
					return err
				}
				encoded, err := json.Marshal(latest)
				g.Expect(err).NotTo(HaveOccurred())
				encoded, err = jsonpatch.MergePatch(encoded, []byte(patch))
				if err == nil && (len(encoded) > room || owned) {
					return &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "etcdserver: request is too large"}}
				}
				return err
			}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(work).WithStatusSubresource(work).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
					data, err := patch.Data(obj)
					g.Expect(err).NotTo(HaveOccurred())
					had := owned
					owned = owned && !strings.Contains(string(data), `"managedFields":[{}]`)
					if err := full(ctx, c, string(data)); err != nil {
						owned = had
						return err
					}
					return errors.Join(c.Patch(ctx, obj, patch, opts...), wrote(ctx, c))
				},
				SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
					all, ok := c.(client.WithWatch)
					g.Expect(ok).To(BeTrue())
					return errors.Join(c.SubResource(sub).Patch(ctx, obj, patch, opts...), wrote(ctx, all))
				},
				Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
					if err := full(ctx, c, `{"metadata":{"deletionTimestamp":"2026-01-02T03:04:05Z"}}`); err != nil {
						return err
					}
					return c.Delete(ctx, obj, opts...)
				},
			}).Build()
			read := func() *workv1alpha1.Work {
				out := &workv1alpha1.Work{}
				g.Expect(c.Get(t.Context(), client.ObjectKeyFromObject(work), out)).To(Succeed())
				return out
			}
			err = DeleteWork(t.Context(), c, read(), contract.DeletionRemoved, "test")
			if tc.wantErr {
				g.Expect(IsTooLarge(err)).To(BeTrue())
				err = DeleteWork(t.Context(), c, read(), contract.DeletionRemoved, "test")
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(read().DeletionTimestamp).NotTo(BeNil())
			g.Expect(read().Annotations).To(HaveKeyWithValue(contract.DeletionIntentAnnotation, contract.DeletionRemoved))
		})
	}
}

func TestIsTooLarge(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(IsTooLarge(nil)).To(BeFalse())
	g.Expect(IsTooLarge(errors.New("etcdserver: mvcc: database space exceeded"))).To(BeFalse())
	g.Expect(IsTooLarge(apierrors.NewRequestEntityTooLargeError("limit is 3145728"))).To(BeTrue())
	g.Expect(IsTooLarge(errors.New("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2149214 vs. 2097152)"))).To(BeTrue())
}
