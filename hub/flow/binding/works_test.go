package binding

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

var works = schema.GroupResource{Group: "work.karmada.io", Resource: "works"}

func TestWorkDeletedDuringAdoptIsConflict(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, obj client.Object, _ ...client.CreateOption) error {
			return apierrors.NewAlreadyExists(works, obj.GetName())
		},
	}).Build()
	e, _ := makeExpectations()
	r := &reconciler{hubClient: hub, hubReader: hub, expectations: e, prefix: "karmada-es-"}
	done := r.execute(t.Context(), id, fanout.Plan{Create: []*workv1alpha1.Work{version("", "h")}}, &manifests{})
	g.Expect(apierrors.IsConflict(done.err())).To(BeTrue())
	g.Expect(e.works).To(BeEmpty())
}

func TestFatal(t *testing.T) {
	t.Parallel()
	terminating := apierrors.NewForbidden(works, "web", errors.New("going"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		err  error
		want bool
	}{
		"the template is invalid":              {apierrors.NewInvalid(schema.GroupKind{Kind: "Work"}, "web", nil), true},
		"the server is overloaded":             {apierrors.NewTooManyRequests("wait", 1), true},
		"the hub may not write Works":          {apierrors.NewForbidden(works, "web", errors.New("no")), true},
		"the namespace does not exist":         {apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "x"), false},
		"the namespace is being deleted":       {terminating, false},
		"the Work was modified":                {apierrors.NewConflict(works, "web", nil), false},
		"the name is taken":                    {errTaken, false},
		"a Work of this name is being deleted": {errTerminating, false},
		"the connection was lost":              {errors.New("EOF"), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(fatal(tt.err)).To(Equal(tt.want))
		})
	}
}
