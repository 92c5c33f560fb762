package stagetest

import (
	"context"
	"testing"

	"github.com/onsi/gomega"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Terminate deletes the namespace of some objects, and keeps objects of their kinds from being deleted until the test
// ends or proceed is called: the namespace controller deletes kinds in no particular order, and so these kinds come
// last.
func Terminate(tb testing.TB, c client.Client, last ...client.Object) (proceed func()) {
	tb.Helper()
	g := gomega.NewWithT(tb)
	namespace := last[0].GetNamespace()
	meta := metav1.ObjectMeta{Name: "stays-" + namespace}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "its turn has not come"}},
	}}
	for _, obj := range last {
		kind, err := apiutil.GVKForObject(obj, c.Scheme())
		g.Expect(err).NotTo(gomega.HaveOccurred())
		mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		policy.Spec.MatchConstraints.ResourceRules = append(policy.Spec.MatchConstraints.ResourceRules, admissionregistrationv1.NamedRuleWithOperations{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Resources: []string{mapping.Resource.Resource},
				},
			},
		})
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}
	ctx := context.WithoutCancel(tb.Context())
	guards := []client.Object{untyped(tb, "ValidatingAdmissionPolicyBinding", binding), untyped(tb, "ValidatingAdmissionPolicy", policy)}
	proceed = func() {
		for _, guard := range guards {
			_ = c.Delete(ctx, guard)
		}
	}
	tb.Cleanup(proceed)
	for _, guard := range guards {
		g.Expect(c.Create(ctx, guard)).To(gomega.Succeed())
	}
	for _, obj := range last {
		g.Eventually(func() error { return c.Delete(ctx, obj, client.DryRunAll) }, Timeout, Poll).Should(gomega.MatchError(gomega.ContainSubstring("its turn has not come")))
	}
	g.Expect(c.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(gomega.Succeed())
	return proceed
}

// untyped returns an object of the admission API, which is not in the hub's scheme, as unstructured.
func untyped(tb testing.TB, kind string, obj any) *unstructured.Unstructured {
	tb.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	gomega.NewWithT(tb).Expect(err).NotTo(gomega.HaveOccurred())
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
	return out
}
