package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OverridePolicy says what differs in which cluster for templates of its own
// namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=op,categories={karmada-io}
type OverridePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the policy.
	// +required
	Spec OverrideSpec `json:"spec"`
}

// OverridePolicyList is a list of OverridePolicies.
//
// +kubebuilder:object:root=true
type OverridePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OverridePolicy `json:"items"`
}

// ClusterOverridePolicy says what differs in which cluster for templates of any
// namespace and for cluster-scoped templates.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=cop,categories={karmada-io}
type ClusterOverridePolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state of the policy.
	// +required
	Spec OverrideSpec `json:"spec"`
}

// ClusterOverridePolicyList is a list of ClusterOverridePolicies.
//
// +kubebuilder:object:root=true
type ClusterOverridePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterOverridePolicy `json:"items"`
}

// OverrideSpec is the body of both override policies.
type OverrideSpec struct {
	// ResourceSelectors pick the templates; empty means all that the policy may
	// see.
	// +optional
	ResourceSelectors []ResourceSelector `json:"resourceSelectors,omitempty"`

	// OverrideRules are applied in order; each sees the result of those before it.
	// +optional
	OverrideRules []RuleWithCluster `json:"overrideRules,omitempty"`

	// TargetCluster is deprecated: use overrideRules.
	// +optional
	TargetCluster *ClusterAffinity `json:"targetCluster,omitempty"`

	// Overriders is deprecated: use overrideRules.
	// +optional
	Overriders Overriders `json:"overriders,omitempty"`
}

// RuleWithCluster says what differs in the clusters that it matches.
type RuleWithCluster struct {
	// TargetCluster picks the clusters; absent means all.
	// +optional
	TargetCluster *ClusterAffinity `json:"targetCluster,omitempty"`

	// Overriders say what differs.
	// +required
	Overriders Overriders `json:"overriders"`
}

// Overriders say what differs. They are applied in the order image, command, args,
// labels, annotations, field, plaintext.
type Overriders struct {
	// Plaintext is a JSON patch (RFC 6902).
	// +optional
	Plaintext []PlaintextOverrider `json:"plaintext,omitempty"`

	// ImageOverrider changes parts of image references.
	// +optional
	ImageOverrider []ImageOverrider `json:"imageOverrider,omitempty"`

	// CommandOverrider changes the command of containers.
	// +optional
	CommandOverrider []CommandArgsOverrider `json:"commandOverrider,omitempty"`

	// ArgsOverrider changes the arguments of containers.
	// +optional
	ArgsOverrider []CommandArgsOverrider `json:"argsOverrider,omitempty"`

	// LabelsOverrider changes labels of the object itself.
	// +optional
	LabelsOverrider []LabelAnnotationOverrider `json:"labelsOverrider,omitempty"`

	// AnnotationsOverrider changes annotations of the object itself.
	// +optional
	AnnotationsOverrider []LabelAnnotationOverrider `json:"annotationsOverrider,omitempty"`

	// FieldOverrider changes JSON or YAML that stands inside a string field.
	// +optional
	FieldOverrider []FieldOverrider `json:"fieldOverrider,omitempty"`
}

// OverriderOperator says what an overrider does.
type OverriderOperator string

// Values of OverriderOperator.
const (
	OverrideAdd     OverriderOperator = "add"
	OverrideRemove  OverriderOperator = "remove"
	OverrideReplace OverriderOperator = "replace"
)

// PlaintextOverrider is one operation of a JSON patch.
type PlaintextOverrider struct {
	// Path is a JSON pointer (RFC 6901) into the object.
	// +required
	Path string `json:"path"`

	// Operator is the operation.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is any JSON; remove has none.
	// +optional
	Value apiextensionsv1.JSON `json:"value,omitempty"`
}

// ImageComponent is a part of an image reference.
type ImageComponent string

// Values of ImageComponent.
const (
	ImageRegistry   ImageComponent = "Registry"
	ImageRepository ImageComponent = "Repository"
	ImageTag        ImageComponent = "Tag"
)

// ImageOverrider changes one part of image references.
type ImageOverrider struct {
	// Predicate says where the image stands. Absent means the containers of the
	// pod template, but for its init containers.
	// +optional
	Predicate *ImagePredicate `json:"predicate,omitempty"`

	// Component is the part to change. Tag is the tag, or the digest if there is no
	// tag.
	// +required
	// +kubebuilder:validation:Enum=Registry;Repository;Tag
	Component ImageComponent `json:"component"`

	// Operator add appends to the part, replace sets it, remove clears it.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is the text to add or set.
	// +optional
	Value string `json:"value,omitempty"`
}

// ImagePredicate says where an image stands in an object.
type ImagePredicate struct {
	// Path is a JSON pointer to the string that is the image.
	// +required
	Path string `json:"path"`
}

// CommandArgsOverrider changes the command or the arguments of a container.
type CommandArgsOverrider struct {
	// ContainerName is the name of the container, which may be an
	// init container.
	// +required
	ContainerName string `json:"containerName"`

	// Operator add appends the values, remove drops every element that equals one
	// of them.
	// +required
	// +kubebuilder:validation:Enum=add;remove
	Operator OverriderOperator `json:"operator"`

	// Value lists what is added or removed.
	// +optional
	Value []string `json:"value,omitempty"`
}

// LabelAnnotationOverrider changes labels or annotations.
type LabelAnnotationOverrider struct {
	// Operator add sets the keys; replace and remove touch only keys that exist.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value maps keys to values.
	// +required
	Value map[string]string `json:"value"`
}

// FieldOverrider changes JSON or YAML that stands inside a string field.
type FieldOverrider struct {
	// FieldPath is a JSON pointer to the string.
	// +required
	FieldPath string `json:"fieldPath"`

	// JSON patches the string as JSON. It excludes yaml.
	// +optional
	JSON []JSONPatchOperation `json:"json,omitempty"`

	// YAML patches the string as YAML. It excludes json.
	// +optional
	YAML []YAMLPatchOperation `json:"yaml,omitempty"`
}

// JSONPatchOperation is one operation on JSON inside a string.
type JSONPatchOperation struct {
	// SubPath is a JSON pointer inside the string's JSON.
	// +required
	SubPath string `json:"subPath"`

	// Operator is the operation.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is any JSON; remove has none.
	// +optional
	Value apiextensionsv1.JSON `json:"value,omitempty"`
}

// YAMLPatchOperation is one operation on YAML inside a string.
type YAMLPatchOperation struct {
	// SubPath is a JSON pointer inside the string's YAML.
	// +required
	SubPath string `json:"subPath"`

	// Operator is the operation.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace
	Operator OverriderOperator `json:"operator"`

	// Value is any JSON; remove has none.
	// +optional
	Value apiextensionsv1.JSON `json:"value,omitempty"`
}
