package install

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestWhereAnAgentKeepsItsStateIfNobodySays(t *testing.T) {
	t.Parallel()
	class := func(name, standard string) client.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{defaultClass: standard}}}
	}
	tests := map[string]struct {
		classes []client.Object
		err     error
		want    string
		wantWhy string
	}{
		"on a volume, if the cluster makes one by itself": {classes: []client.Object{class("slow", "false"), class("standard", "true")}, want: "claim"},
		"with the pod, if it makes none":                  {classes: []client.Object{class("slow", "false")}, want: "none", wantWhy: "no default StorageClass"},
		"with the pod, if there is no storage":            {want: "none", wantWhy: "no default StorageClass"},
		"with the pod, if it cannot be seen":              {err: errors.New("forbidden"), want: "none", wantWhy: "(forbidden)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if tc.err != nil {
					return tc.err
				}
				return c.List(ctx, list, opts...)
			}}
			i := Installer{memberClient: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(tc.classes...).WithInterceptorFuncs(funcs).Build()}
			volume, why := i.StateVolume(t.Context())
			g.Expect(volume).To(Equal(tc.want))
			if tc.wantWhy == "" {
				g.Expect(why).To(BeEmpty())
				return
			}
			g.Expect(why).To(And(ContainSubstring(tc.wantWhy), ContainSubstring("--state-volume")))
		})
	}
}
