package install

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
)

func TestASecretThatPullsNothingIsFoundBefore(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Client(t)
	i := &Installer{memberClient: member}
	is, advice, err := i.PullSecretProblem(t.Context(), "pull-absent")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is).To(ContainSubstring("there is no Secret karmada-system/pull-absent"))
	g.Expect(advice).To(ContainSubstring("kubectl create secret docker-registry pull-absent -n karmada-system"))

	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.SystemNamespace}}
	g.Expect(client.IgnoreAlreadyExists(member.Create(t.Context(), system))).To(Succeed())
	for name, secret := range map[string]*corev1.Secret{
		"pull-opaque": {Type: corev1.SecretTypeOpaque},
		"pull-good":   {Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`)}},
	} {
		secret.ObjectMeta = metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: name}
		g.Expect(member.Create(t.Context(), secret)).To(Succeed())
		t.Cleanup(func() { g.Expect(member.Delete(context.Background(), secret)).To(Succeed()) })
	}
	is, _, err = i.PullSecretProblem(t.Context(), "pull-opaque")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is).To(ContainSubstring("is of type Opaque"))
	is, _, err = i.PullSecretProblem(t.Context(), "pull-good")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(is).To(BeEmpty())
}

// OpenShift is known by a kind that only it has.
func TestOpenShiftAssignsTheUsersOfPods(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	g.Expect(apiextensionsv1.AddToScheme(scheme)).To(Succeed())
	member, err := client.New(cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	i := &Installer{memberClient: member}
	g.Expect(i.AssignsUsers()).To(BeFalse())

	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "securitycontextconstraints.security.openshift.io"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "security.openshift.io", Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "securitycontextconstraints", Kind: "SecurityContextConstraints"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
	g.Expect(member.Create(t.Context(), crd)).To(Succeed())
	t.Cleanup(func() {
		g.Expect(member.Delete(context.Background(), crd)).To(Succeed())
		// The API server goes on to tell of its version for a moment.
		served := &metav1.PartialObjectMetadata{}
		served.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
		g.Eventually(func() error {
			return member.Get(context.Background(), client.ObjectKey{Name: "v1.security.openshift.io"}, served)
		}).
			WithTimeout(2 * time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	})
	g.Eventually(i.AssignsUsers).WithTimeout(2 * time.Minute).Should(BeTrue())
}
