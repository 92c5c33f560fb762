package view

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/test/builder"
)

// TestExclusionsAreReadOnceAQuestion asks about several policies that have nothing, and about several objects.
func TestExclusionsAreReadOnceAQuestion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	read := 0
	stays := selector.NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("shop")}, selector.SkippedKinds{})
	made := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespacePublic, Name: contract.ExclusionsName}, Data: stays.Data(),
	})
	var idle []applications.Policy
	var supposed []policyv1alpha1.Policy
	for i := range 3 {
		name := fmt.Sprint("p", i)
		p := builder.MakePolicy("shop", name).Select("v1", "Secret", name).Obj()
		made = made.WithObjects(p)
		supposed = append(supposed, builder.MakePolicy("shop", name).Select("v1", "ConfigMap", name).Obj())
		template := builder.MakeConfigMap("shop", name).Obj()
		template.SetUID(types.UID(name))
		made = made.WithObjects(template)
		idle = append(idle, applications.Policy{PolicyKey: applications.KeyOf(p)})
	}
	hub := made.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, is := obj.(*corev1.ConfigMap); is && key.Name == contract.ExclusionsName {
				read++
			}
			return c.Get(ctx, key, obj, opts...)
		},
	}).Build()
	clock := testingclock.NewFakePassiveClock(time.Unix(1, 0))
	r, err := New(hub, meta.NewDefaultRESTMapper(nil), watchset.NewServedKinds(func(context.Context) ([]*metav1.APIResourceList, error) {
		return []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap"}}}}, nil
	}, clock), clock)
	g.Expect(err).NotTo(HaveOccurred())

	g.Expect(r.IdlePolicies(t.Context(), idle, len(idle))).To(HaveLen(len(idle)))
	g.Expect(read).To(Equal(1))

	read = 0
	reports, err := r.WhatIf(t.Context(), supposed, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(reports).To(HaveLen(len(supposed)))
	g.Expect(read).To(Equal(1))
}
