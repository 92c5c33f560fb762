package builder

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MakeDefinition returns the CustomResourceDefinition of a namespaced kind with one version and arbitrary fields. Its
// plural is the lower-case kind plus s.
func MakeDefinition(group, version, kind string) *apiextensionsv1.CustomResourceDefinition {
	plural := strings.ToLower(kind) + "s"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{
			Name:        plural + "." + group,
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"}, // some groups ask for it
		},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, Plural: plural},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: new(true),
				}},
			}},
		},
	}
}

// MakeGrant returns a ReferenceGrant in a namespace that lets a kind in another namespace refer to all objects of a
// core kind.
func MakeGrant(namespace, name, fromGroup, fromKind, fromNamespace, toKind string) *Template {
	return MakeTemplate("gateway.networking.k8s.io/v1beta1", "ReferenceGrant", namespace, name).
		Set([]any{map[string]any{"group": fromGroup, "kind": fromKind, "namespace": fromNamespace}}, "spec", "from").
		Set([]any{map[string]any{"group": "", "kind": toKind}}, "spec", "to")
}
