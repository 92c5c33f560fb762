package execution

import (
	"context"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// asked returns a reader of a hub that answers with this Work or error, and counts the requests.
func asked(t *testing.T, live *workv1alpha1.Work, err error, times *int) client.Reader {
	t.Helper()
	return fakeClient(t, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
			*times++
			g := NewWithT(t)
			g.Expect(key).To(Equal(client.ObjectKeyFromObject(live)))
			_, limited := ctx.Deadline()
			g.Expect(limited).To(BeTrue(), "who waits is one of few workers")
			if err != nil {
				return err
			}
			into.(*metav1.PartialObjectMetadata).ObjectMeta = *live.ObjectMeta.DeepCopy() //nolint:errcheck,forcetypeassert // It is one.
			return nil
		},
	})
}

// TestTheHubIsAskedForAWorkBeforeItsObjectsAreDeleted checks that a deletion is confirmed by a live read: after a
// restore of the hub the cached Work may be stale.
func TestTheHubIsAskedForAWorkBeforeItsObjectsAreDeleted(t *testing.T) {
	t.Parallel()
	works := schema.GroupResource{Group: workv1alpha1.GroupVersion.Group, Resource: "works"}
	tests := map[string]struct {
		change func(live *workv1alpha1.Work)
		err    error
		why    string // why the deletion is not confirmed; "gone" if the watch will deliver that
	}{
		"as it was seen":              {},
		"a status, or a finalizer":    {change: func(live *workv1alpha1.Work) { live.Finalizers, live.ResourceVersion = nil, "9" }},
		"taken back":                  {change: func(live *workv1alpha1.Work) { live.Annotations = nil }, why: "no longer wants to delete them"},
		"restored from a backup":      {change: func(live *workv1alpha1.Work) { live.DeletionTimestamp, live.Generation = nil, 1 }, why: "does not delete the Work"},
		"another one":                 {change: func(live *workv1alpha1.Work) { live.UID, live.DeletionTimestamp = "another", nil }, why: "has another Work of that name"},
		"another one that is deleted": {change: func(live *workv1alpha1.Work) { live.UID = "another" }, why: "has another Work of that name"},
		"other manifests":             {change: func(live *workv1alpha1.Work) { live.Generation++ }, why: "has another version of the Work"},
		"for another reason": {change: func(live *workv1alpha1.Work) {
			live.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionEvicted
		}, why: "for another reason"},
		"the cluster leaves": {change: func(live *workv1alpha1.Work) {
			live.Annotations[contract.DeletionIntentAnnotation] = contract.DeletionClusterLeft
		}, why: "no longer wants to"},
		"without what is in it":        {change: func(live *workv1alpha1.Work) { delete(live.Annotations, contract.DeleteContentsAnnotation) }, why: "allows other objects"},
		"no rights":                    {err: apierrors.NewForbidden(works, "settings", nil), why: "forbidden"},
		"gone":                         {err: apierrors.NewNotFound(works, "settings"), why: "gone"},
		"no API of Works, as at start": {err: apierrors.NewGenericServerResponse(http.StatusNotFound, "get", works, "settings", "404 page not found", 0, true), why: "does not confirm"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			seen := workWith(t, "settings", inShop("settings", "", ""))
			seen.UID, seen.Generation, seen.DeletionTimestamp = "u", 2, &metav1.Time{Time: time.Unix(100, 0)}
			seen.Annotations = map[string]string{
				contract.DeletionIntentAnnotation: contract.DeletionRemoved, contract.DeleteContentsAnnotation: contract.LabelTrue,
			}
			live := seen.DeepCopy()
			if tc.change != nil {
				tc.change(live)
			}
			times := 0
			r := &Reconciler{brake: newBrake(false), memory: newMemory(), hubReader: asked(t, live, tc.err, &times)}
			r.brake.approved[seen.UID] = 1
			confirmed, err := r.confirmEnd(t.Context(), seen)
			g.Expect(times).To(Equal(1))
			g.Expect(confirmed).To(Equal(tc.why == ""))
			if tc.why == "" || tc.why == "gone" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring(`Work "settings"`), ContainSubstring(tc.why))))
			g.Expect(apierrors.IsConflict(err)).To(Equal(tc.err == nil), "a cache that is behind is looked at again, quietly")
			if tc.err == nil {
				g.Expect(r.brake.approved).To(BeEmpty(), "what was approved was another deletion")
			}
		})
	}
}
