package execution

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/execution/plan"
)

// TestADefinitionStaysIfItsInstancesCannotBeListed covers instances that the agent cannot list: Kubernetes deletes
// them with their CustomResourceDefinition.
func TestADefinitionStaysIfItsInstancesCannotBeListed(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	long, moment := now.Add(-time.Hour), now.Add(-time.Second)
	gone := apierrors.NewNotFound(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "")
	unknown := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: "Widget"}, SearchedVersions: []string{"v1"}}
	tests := map[string]struct {
		served      bool
		established string
		since       time.Time
		list        error
		want        []string
		wantErr     string
	}{
		"if no version is served": {established: "True", since: long, want: []string{"any Widget, which the member does not list"}},
		"if the member has no such path": {
			served: true, established: "True", since: long, list: gone, want: []string{"any Widget, which the member does not list"},
		},
		"if the member does not know the kind": {
			served: true, established: "True", since: long, list: unknown, want: []string{"any Widget, which the member does not list"},
		},
		"for now, if the member is about to serve the kind": {served: true, established: "True", since: moment, list: gone, wantErr: "does not list it yet"},
		"not if no version is served and none ever was":     {established: "False", since: long},
		"not if the member never took up the kind":          {served: true, established: "False", since: long, list: unknown},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			member := fakeClient(t, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
					definition, ok := obj.(*unstructured.Unstructured)
					g.Expect(ok).To(BeTrue())
					definition.Object["spec"] = map[string]any{
						"group": "example.com", "names": map[string]any{"kind": "Widget"}, "versions": []any{map[string]any{"name": "v1", "served": tc.served}},
					}
					definition.Object["status"] = map[string]any{"conditions": []any{
						map[string]any{"type": "Established", "status": tc.established, "lastTransitionTime": tc.since.UTC().Format(time.RFC3339)},
					}}
					return nil
				},
				List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return tc.list },
			})
			r := &Reconciler{memberClient: member, reader: member, namespace: ownWorks, discovery: servedKinds{}, clock: clocktesting.NewFakeClock(now)}
			definition := plan.Object{
				GroupVersionKind: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
				NamespacedName:   types.NamespacedName{Name: "widgets.example.com"},
			}
			got, err := r.foreign(t.Context(), plan.Manifest{Object: definition})
			if tc.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
				g.Expect(unserved(err)).To(BeFalse(), "it would be taken for the definition's")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
		})
	}
}
