package execution

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// strictly enforces the preconditions of deletes, as an API server does and the fake client does not, and counts
// deletes.
func strictly(deletes *int) interceptor.Funcs {
	return interceptor.Funcs{Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
		*deletes++
		asked := (&client.DeleteOptions{}).ApplyOptions(opts).Preconditions
		live := prototype(obj.GetObjectKind().GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
			return err
		}
		if asked.UID != nil && *asked.UID != live.GetUID() || asked.ResourceVersion != nil && *asked.ResourceVersion != live.GetResourceVersion() {
			return apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, obj.GetName(), errSilent)
		}
		return c.Delete(ctx, obj)
	}}
}

// The watch of the member may be behind: whose an object is by now the member says.
func TestAStaleObjectIsNotDeleted(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change      func(cm *corev1.ConfigMap)
		want        bool
		wantDeletes int
	}{
		"as it was seen":       {want: true, wantDeletes: 1},
		"changed by somebody":  {change: func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"a": "2"} }, want: true, wantDeletes: 2},
		"no object of ours":    {change: func(cm *corev1.ConfigMap) { cm.Labels, cm.Annotations = nil, nil }, wantDeletes: 1},
		"that of another hub":  {change: func(cm *corev1.ConfigMap) { cm.Annotations[contract.WorkNamespaceAnnotation] = "other" }, wantDeletes: 1},
		"another of its name":  {change: func(cm *corev1.ConfigMap) { cm.UID, cm.Labels = "another", nil }, wantDeletes: 1},
		"another that is ours": {change: func(cm *corev1.ConfigMap) { cm.UID = "another" }, want: true, wantDeletes: 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work := types.NamespacedName{Namespace: ownWorks, Name: "settings"}
			live, deletes := inShop("settings", work.Namespace, work.Name), 0
			member := fakeClient(t, strictly(&deletes), live)
			seen := prototype(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(live), seen)).To(Succeed())
			if tc.change != nil {
				g.Expect(member.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(Succeed())
				tc.change(live)
				g.Expect(member.Update(t.Context(), live)).To(Succeed())
			}
			r := &Reconciler{
				memberClient: member, reader: member, namespace: ownWorks, clock: clocktesting.NewFakeClock(time.Unix(1_000_000, 0)),
				kinds: showing(t, seen), pendingDeletions: newPendingDeletions(),
			}
			did, err := r.remove(t.Context(), work, plan.Manifest{Object: plan.ObjectOf(seen)})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(did).To(Equal(tc.want))
			g.Expect(deletes).To(Equal(tc.wantDeletes))
			err = member.Get(t.Context(), client.ObjectKeyFromObject(live), &corev1.ConfigMap{})
			g.Expect(apierrors.IsNotFound(err)).To(Equal(tc.want), "%v", err)
		})
	}
}

// showing are kinds with an informer that has seen one object.
func showing(t *testing.T, obj *unstructured.Unstructured) *kinds {
	t.Helper()
	k := newKinds(nil, nil, nil)
	k.known[obj.GroupVersionKind()] = &kind{informers: map[string]*informer{"": informerOf(t, true, obj)}}
	return k
}

// informerOf is an informer that has objects, and has seen all, or may not list.
func informerOf(t *testing.T, synced bool, objects ...*unstructured.Unstructured) *informer {
	t.Helper()
	through := make(chan struct{})
	if synced {
		close(through)
	}
	i := &informer{SharedIndexInformer: toolscache.NewSharedIndexInformer(&toolscache.ListWatch{}, &unstructured.Unstructured{}, 0, toolscache.Indexers{}), synced: through, lost: func() (string, string) { return "", "" }}
	for _, obj := range objects {
		NewWithT(t).Expect(i.GetStore().Add(obj)).To(Succeed())
	}
	return i
}
