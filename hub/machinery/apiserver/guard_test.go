package apiserver

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// Not even an administrator deletes by a slip what all members depend on.
func TestGuardedObjectsAreDeletedOnPurposeOnly(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-guarded"}}
	prefixed := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "acme-guarded-2", Labels: map[string]string{contract.ExecutionNamespaceOfLabel: "guarded-2"}, // hub serve --execution-namespace-prefix acme-
	}}
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-escape"}}
	g.Expect(a.client.Create(t.Context(), namespace)).To(Succeed())
	g.Expect(a.client.Create(t.Context(), prefixed)).To(Succeed())
	g.Expect(a.client.Create(t.Context(), other)).To(Succeed())
	for _, tt := range []struct {
		obj  client.Object
		want string
	}{
		{namespace, "remove that cluster with `hub forget guarded` instead. If you mean it, first run `kubectl annotate namespace karmada-es-guarded " +
			contract.DeletionAllowedAnnotation + "=true`"},
		{prefixed, "it contains everything that the hub sends to cluster guarded-2; remove that cluster with `hub forget guarded-2` instead. If you mean it, " +
			"first run `kubectl annotate namespace acme-guarded-2 "},
		{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}, "the leases and rights of all agents are in it"},
		{&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "works.work.karmada.io"}}, "all objects of its kind on the hub go with it"},
		{&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "stagedrollouts.fairlead.dev"}}, "all objects of its kind on the hub go with it"},
	} {
		g.Expect(a.client.Delete(t.Context(), tt.obj, client.DryRunAll)).
			To(And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring(tt.want))))
	}
	g.Expect(a.client.Delete(t.Context(), other)).To(Succeed(), "it only begins like one")

	namespace.Annotations = map[string]string{contract.DeletionAllowedAnnotation: contract.LabelTrue}
	g.Expect(a.client.Update(t.Context(), namespace)).To(Succeed())
	g.Expect(a.client.Delete(t.Context(), namespace)).To(Succeed())
}

// Where this API comes from, nothing validates the conditions of a Cluster, and other programs write them in their own
// ways.
func TestConditionsOfAClusterAreTakenAsOthersWriteThem(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	g := NewWithT(t)
	cluster := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "lenient-"}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
	}
	g.Expect(a.client.Create(t.Context(), cluster)).To(Succeed())
	for name, condition := range map[string]map[string]any{
		"an empty reason":    {"reason": "", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"},
		"no reason":          {"message": "resolves", "lastTransitionTime": "2026-01-02T03:04:05Z"},
		"no message":         {"reason": "Resolves", "lastTransitionTime": "2026-01-02T03:04:05Z"},
		"a time of null":     {"reason": "", "message": "", "lastTransitionTime": nil},
		"words for a reason": {"reason": "it resolves", "message": "", "lastTransitionTime": nil},
	} {
		condition["type"], condition["status"] = "ServiceDomainNameResolutionReady", "True"
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster))
		g.Expect(a.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), live)).To(Succeed())
		g.Expect(unstructured.SetNestedSlice(live.Object, []any{condition}, "status", "conditions")).To(Succeed())
		g.Expect(a.client.Status().Update(t.Context(), live)).To(Succeed(), name)
		g.Expect(a.client.Get(t.Context(), client.ObjectKeyFromObject(cluster), cluster)).To(Succeed(), name)
	}
}
