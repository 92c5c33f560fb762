package apiserver

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/manifests"
)

// TestOlderAPIServersGetThePoliciesThatTheyServe simulates API servers that lack some versions of the kinds.
func TestOlderAPIServersGetThePoliciesThatTheyServe(t *testing.T) {
	t.Parallel()
	all, err := manifests.Policies()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	mutating := 0
	for _, obj := range all {
		if obj.GetKind() == "MutatingAdmissionPolicy" || obj.GetKind() == "MutatingAdmissionPolicyBinding" {
			mutating++
		}
	}
	NewWithT(t).Expect(mutating).To(BeNumerically(">", 0))
	tests := map[string]struct {
		served      map[string][]string // versions by the first word of the kind
		wantV1      int
		wantV1beta1 int
		wantError   bool
	}{
		"a new one gets all":                {served: map[string][]string{"Mutating": {"v1"}, "Validating": {"v1"}}, wantV1: len(all)},
		"one that has an older version too": {served: map[string][]string{"Mutating": {"v1beta1"}, "Validating": {"v1"}}, wantV1: len(all) - mutating, wantV1beta1: mutating},
		"one that cannot fill in":           {served: map[string][]string{"Validating": {"v1"}}, wantV1: len(all) - mutating},
		"one that cannot refuse is too old": {wantError: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := map[string]int{}
			i := installer{hubClient: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
				Apply: func(_ context.Context, _ client.WithWatch, obj runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
					content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
					g.Expect(err).NotTo(HaveOccurred())
					kind := (&unstructured.Unstructured{Object: content}).GroupVersionKind()
					for first, versions := range tt.served {
						for _, version := range versions {
							if version == kind.Version && len(kind.Kind) > len(first) && kind.Kind[:len(first)] == first {
								got[version]++
								return nil
							}
						}
					}
					return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: kind.Group, Kind: kind.Kind}, SearchedVersions: []string{kind.Version}}
				},
			})}
			err := i.policies(t.Context())
			g.Expect(err != nil).To(Equal(tt.wantError))
			g.Expect([]int{got["v1"], got["v1beta1"]}).To(Equal([]int{tt.wantV1, tt.wantV1beta1}))
		})
	}
}
