package native

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/podtemplate"
)

// podDependencies returns a rule about the pod template whose spec is at a path.
func podDependencies(path ...string) func(content) ([]configv1alpha1.DependentObjectReference, error) {
	return func(template content) ([]configv1alpha1.DependentObjectReference, error) {
		var pod corev1.PodSpec
		if c := contentAt(template, path...); c != nil {
			if err := into(c, &pod); err != nil {
				return nil, fmt.Errorf("at %s: %w", strings.Join(path, "."), err)
			}
		}
		return podtemplate.Dependencies(&pod, text(contentAt(template, "metadata"), "namespace")), nil
	}
}

// statefulSetDependencies leaves out the claims that the StatefulSet makes itself, and
// adds the Service that gives its pods their names.
func statefulSetDependencies(template content) ([]configv1alpha1.DependentObjectReference, error) {
	refs, err := podDependencies("spec", "template", "spec")(template)
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

// ingressDependencies are the Secrets with the certificates. An entry without one asks
// the controller for its default.
func ingressDependencies(template content) ([]configv1alpha1.DependentObjectReference, error) {
	seen := map[string]bool{"": true}
	var refs []configv1alpha1.DependentObjectReference
	for _, tls := range list(contentAt(template, "spec"), "tls") {
		name := text(tls, "secretName")
		if seen[name] {
			continue
		}
		seen[name] = true
		refs = append(refs, configv1alpha1.DependentObjectReference{
			APIVersion: "v1", Kind: "Secret", Namespace: text(contentAt(template, "metadata"), "namespace"), Name: name,
		})
	}
	slices.SortFunc(refs, configv1alpha1.DependentObjectReference.Compare)
	return refs, nil
}

// serviceImportDependencies are the Service that stands for the imported one, and its
// endpoints.
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
