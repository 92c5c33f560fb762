package execution

import (
	"context"
	"net/url"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// A Namespace is deleted with what is of a Work that ends as well. That Work may have been taken back, which the cache does not show yet.
func TestWhatWasTakenBackDoesNotGoWithItsNamespace(t *testing.T) {
	t.Parallel()
	works := schema.GroupResource{Group: workv1alpha1.GroupVersion.Group, Resource: "works"}
	tests := map[string]struct {
		wanted bool // it does not end in the cache: that is looked at before
		change func(live *workv1alpha1.Work)
		hub    error
		behind bool
		why    string
		result plan.Result
	}{
		"it ends":                        {},
		"it does not end":                {wanted: true, change: func(live *workv1alpha1.Work) { live.Generation++ }},
		"taken back":                     {change: func(live *workv1alpha1.Work) { live.Annotations = nil }, behind: true, result: plan.Waiting},
		"restored from a backup":         {change: func(live *workv1alpha1.Work) { live.DeletionTimestamp = nil }, behind: true, result: plan.Waiting},
		"another one":                    {change: func(live *workv1alpha1.Work) { live.UID = "another" }, behind: true, result: plan.Waiting},
		"another version of it":          {change: func(live *workv1alpha1.Work) { live.Generation++ }, behind: true, result: plan.Waiting},
		"gone, and its objects with it":  {hub: apierrors.NewNotFound(works, "inside"), behind: true, result: plan.Waiting},
		"the hub does not let us":        {hub: apierrors.NewForbidden(works, "inside", nil), why: "forbidden", result: plan.Waiting},
		"the hub does not answer at all": {hub: &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: context.DeadlineExceeded}, why: ": the hub does not answer", result: plan.Waiting},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			inside := workWith(t, "inside", inShop("ours", "", ""))
			second := workWith(t, "inside", inShop("ours-too", "", ""))
			inside.Spec.Workload.Manifests = append(inside.Spec.Workload.Manifests, second.Spec.Workload.Manifests...)
			inside.UID, inside.Generation = "u", 2
			if !tc.wanted {
				inside.DeletionTimestamp, inside.Finalizers = &metav1.Time{Time: time.Unix(100, 0)}, []string{contract.ExecutionFinalizer}
				inside.Annotations = map[string]string{contract.DeletionIntentAnnotation: contract.DeletionRemoved}
			}
			live := inside.DeepCopy()
			if tc.change != nil {
				tc.change(live)
			}
			times := 0
			member := fakeClient(t, interceptor.Funcs{}, namespaceOf(), inShop("ours", ownWorks, "inside"), inShop("ours-too", ownWorks, "inside"))
			r := &Reconciler{
				memberClient: member, reader: member, namespace: ownWorks, discovery: servedKinds{},
				works: newWorks(fakeClient(t, interceptor.Funcs{}, inside), nil), hubReader: asked(t, live, tc.hub, &times),
				namespacedKinds: func(context.Context) ([]schema.GroupVersionKind, error) {
					return []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("ConfigMap")}, nil
				},
			}
			m := plan.Parse(workWith(t, "around", namespaceOf()))[0]
			got, err := r.foreign(t.Context(), m)
			g.Expect(got).To(BeEmpty())
			if tc.wanted {
				g.Expect(times).To(Equal(0))
			} else {
				g.Expect(times).To(Equal(1), "it is asked once, and not for each object")
			}
			if !tc.behind && tc.why == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(apierrors.IsConflict(err)).To(Equal(tc.behind))
			g.Expect(err).To(MatchError(And(ContainSubstring(`Work "inside"`), ContainSubstring(tc.why), Not(ContainSubstring("10.0.0.1")))))
			result, message := classify(m.Object, err)
			g.Expect(result).To(Equal(tc.result), "no event tells people that it failed")
			g.Expect(message).To(ContainSubstring(tc.why))
		})
	}
}
