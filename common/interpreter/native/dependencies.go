package native

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/podtemplate"
)

// podDependencies returns a rule for the pod template of a kind's objects.
func podDependencies(kind string) func(content) ([]configv1alpha1.DependentObjectReference, error) {
	path := podtemplate.Path(kind)
	return func(template content) ([]configv1alpha1.DependentObjectReference, error) {
		pod, err := podtemplate.Read(contentAt(template, path...))
		if err != nil {
			return nil, fmt.Errorf("at %s: %w", strings.Join(path, "."), err)
		}
		return podtemplate.Dependencies(pod, text(contentAt(template, "metadata"), "namespace")), nil
	}
}

// statefulSetDependencies leaves out the claims that the StatefulSet creates itself, and adds its governing Service.
func statefulSetDependencies(template content) ([]configv1alpha1.DependentObjectReference, error) {
	refs, err := podDependencies("StatefulSet")(template)
	if err != nil {
		return nil, err
	}
	spec := contentAt(template, "spec")
	made := map[string]bool{}
	for _, claim := range list(spec, "volumeClaimTemplates") {
		made[text(contentAt(claim, "metadata"), "name")] = true
	}
	refs = slices.DeleteFunc(refs, func(ref configv1alpha1.DependentObjectReference) bool {
		return ref.Kind == "PersistentVolumeClaim" && made[ref.Name]
	})
	if service := text(spec, "serviceName"); service != "" {
		refs = append(refs, configv1alpha1.DependentObjectReference{
			APIVersion: "v1", Kind: "Service", Namespace: text(contentAt(template, "metadata"), "namespace"), Name: service,
		})
	}
	return refs, nil
}

// secrets are the Secrets that a template names, without duplicates.
type secrets struct {
	refs  []configv1alpha1.DependentObjectReference
	known map[types.NamespacedName]bool
}

// add adds a reference; one without a name is ignored.
func (s *secrets) add(namespace, name string) {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if name == "" || s.known[key] {
		return
	}
	if s.known == nil {
		s.known = map[types.NamespacedName]bool{}
	}
	s.known[key] = true
	s.refs = append(s.refs, configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: name})
}

// ingressDependencies returns the Secrets with certificates. An entry without one uses the controller's default.
func ingressDependencies(template content) ([]configv1alpha1.DependentObjectReference, error) {
	var named secrets
	for _, tls := range list(contentAt(template, "spec"), "tls") {
		named.add(text(contentAt(template, "metadata"), "namespace"), text(tls, "secretName"))
	}
	return named.refs, nil
}

// serviceAccountDependencies returns the imagePullSecrets and the mountable Secrets, without tokens generated on the
// hub: each member has its own.
func serviceAccountDependencies(template content) ([]configv1alpha1.DependentObjectReference, error) {
	metadata := contentAt(template, "metadata")
	var named secrets
	for _, field := range []string{"secrets", "imagePullSecrets"} {
		for _, ref := range list(template, field) {
			if name := text(ref, "name"); field != "secrets" || !strings.HasPrefix(name, text(metadata, "name")+"-token-") {
				named.add(text(metadata, "namespace"), name)
			}
		}
	}
	return named.refs, nil
}

// volumeDependencies returns the Secrets with which nodes and controllers access the storage. Without a namespace,
// they are in that of the claim.
func volumeDependencies(template content) ([]configv1alpha1.DependentObjectReference, error) {
	spec := contentAt(template, "spec")
	var named secrets
	add := func(namespace, name string) {
		if namespace = cmp.Or(namespace, text(contentAt(spec, "claimRef"), "namespace")); namespace != "" {
			named.add(namespace, name)
		}
	}
	for _, source := range []string{"cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"} {
		ref := contentAt(spec, source, "secretRef")
		add(text(ref, "namespace"), text(ref, "name"))
	}
	for _, use := range []string{"controllerPublish", "controllerExpand", "nodeStage", "nodePublish", "nodeExpand"} {
		ref := contentAt(spec, "csi", use+"SecretRef")
		add(text(ref, "namespace"), text(ref, "name"))
	}
	azure := contentAt(spec, "azureFile")
	add(text(azure, "secretNamespace"), text(azure, "secretName"))
	return named.refs, nil
}

// serviceImportDependencies returns the Service derived from the imported one, and its endpoints.
func serviceImportDependencies(template content) ([]configv1alpha1.DependentObjectReference, error) {
	metadata := contentAt(template, "metadata")
	derived := "derived-" + text(metadata, "name")
	return []configv1alpha1.DependentObjectReference{
		{APIVersion: "v1", Kind: "Service", Namespace: text(metadata, "namespace"), Name: derived},
		{
			APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: "EndpointSlice", Namespace: text(metadata, "namespace"),
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{discoveryv1.LabelServiceName: derived}},
		},
	}, nil
}
