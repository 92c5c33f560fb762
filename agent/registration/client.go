package registration

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
)

// newClient returns a client for the few kinds of a join. Its REST mappings are fixed, so that it needs no discovery.
func newClient(config *rest.Config) (client.Client, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("knowing the kinds of authentication: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	mapper.Add(coordinationv1.SchemeGroupVersion.WithKind("Lease"), meta.RESTScopeNamespace)
	mapper.Add(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"), meta.RESTScopeRoot)
	mapper.Add(certificatesv1.SchemeGroupVersion.WithKind("CertificateSigningRequest"), meta.RESTScopeRoot)
	mapper.Add(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster), meta.RESTScopeRoot)
	config = rest.CopyConfig(config)
	config.Timeout = requestTimeout
	out, err := client.New(config, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("making a client of %q: %w", config.Host, err)
	}
	return out, nil
}

// MemberID returns the ID of a member: the UID of its namespace kube-system, which lives as long as the member.
func MemberID(ctx context.Context, member *rest.Config) (string, error) {
	memberClient, err := newClient(member)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrMember, err)
	}
	namespace := &corev1.Namespace{}
	if err := memberClient.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, namespace); err != nil {
		return "", fmt.Errorf("%w: its API at %s does not show namespace %s (%w); check its kubeconfig and the rights in it",
			ErrMember, member.Host, metav1.NamespaceSystem, err)
	}
	id := string(namespace.UID)
	if problems := validation.IsDNS1123Label(id); len(problems) > 0 {
		// The ID becomes part of names on the hub, and of a path on the machine where `agent leave` runs.
		return "", fmt.Errorf("%w: its API at %s gives namespace %s the UID %q, which is not valid", ErrMember, member.Host, metav1.NamespaceSystem, id)
	}
	return id, nil
}
