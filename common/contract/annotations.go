package contract

// Annotations of the propagation API.
const (
	// PropagationPolicyNamespaceAnnotation and the next two name the policy that
	// claimed a template.
	PropagationPolicyNamespaceAnnotation   = "propagationpolicy.karmada.io/namespace"
	PropagationPolicyNameAnnotation        = "propagationpolicy.karmada.io/name"
	ClusterPropagationPolicyNameAnnotation = "clusterpropagationpolicy.karmada.io/name"

	// AppliedPlacementAnnotation is the placement that the scheduler last used, as
	// JSON, on a binding.
	AppliedPlacementAnnotation = "policy.karmada.io/applied-placement"
	// AppliedOverridesAnnotation lists the OverridePolicies that shaped a Work.
	AppliedOverridesAnnotation = "policy.karmada.io/applied-overrides"
	// AppliedClusterOverridesAnnotation lists the ClusterOverridePolicies that shaped
	// a Work.
	AppliedClusterOverridesAnnotation = "policy.karmada.io/applied-cluster-overrides"

	// ResourceBindingNamespaceAnnotation and the next two name the binding of a Work
	// and of what it carries.
	ResourceBindingNamespaceAnnotation   = "resourcebinding.karmada.io/namespace"
	ResourceBindingNameAnnotation        = "resourcebinding.karmada.io/name"
	ClusterResourceBindingNameAnnotation = "clusterresourcebinding.karmada.io/name"

	// DependenciesAnnotation lists what the workload of a binding needs, as JSON.
	DependenciesAnnotation = "resourcebinding.karmada.io/dependencies"

	// ConflictResolutionAnnotation is "overwrite" or "abort", on a template (by its
	// author), a Work and a manifest.
	ConflictResolutionAnnotation = "work.karmada.io/conflict-resolution"
	// WorkNamespaceAnnotation and WorkNameAnnotation name the Work of an object in a
	// member.
	WorkNamespaceAnnotation = "work.karmada.io/namespace"
	WorkNameAnnotation      = "work.karmada.io/name"

	// TemplateUIDAnnotation and TemplateGenerationAnnotation say of which template,
	// and of which generation of it, a manifest was made.
	TemplateUIDAnnotation        = "resourcetemplate.karmada.io/uid"
	TemplateGenerationAnnotation = "resourcetemplate.karmada.io/generation"
	// ManagedLabelsAnnotation and ManagedAnnotationsAnnotation list the keys that a
	// manifest sets, sorted and joined by commas.
	ManagedLabelsAnnotation      = "resourcetemplate.karmada.io/managed-labels"
	ManagedAnnotationsAnnotation = "resourcetemplate.karmada.io/managed-annotations"
)

// Values of ConflictResolutionAnnotation.
const (
	ConflictOverwrite = "overwrite"
	ConflictAbort     = "abort"
)

// Prefix begins the keys that are ours.
const Prefix = "fairlead.dev/"

// Annotations that are ours.
const (
	// ManifestHashAnnotation, on a Work, is the hash of its spec as the hub rendered
	// it, by which the hub knows whether to write it again without keeping it.
	ManifestHashAnnotation = "fairlead.dev/manifest-hash"
	// TemplateFingerprintAnnotation, on a binding, is a hash of what the detector
	// last saw of the template, by which it knows whether to look again.
	TemplateFingerprintAnnotation = "fairlead.dev/template-fingerprint"
	// TemplateEditAnnotation, on a template that a lazy policy has, is a hash of the edit
	// that the policy has seen: it takes effect with the next one.
	TemplateEditAnnotation = "fairlead.dev/template-edit"
	// ReturnToPreferredAnnotation, on a policy and from there on its bindings, is "true"
	// if an application goes back to a preferred group of clusterAffinities once it
	// fits there again.
	ReturnToPreferredAnnotation = "fairlead.dev/return-to-preferred-group"
	// ExecutionNamespaceAnnotation, on a Cluster, names its execution namespace: this
	// is how an agent learns where its Works are.
	ExecutionNamespaceAnnotation = "fairlead.dev/execution-namespace"
	// MemberIDAnnotation, on a certificate signing request, is the UID of the
	// kube-system namespace of the member that asks.
	MemberIDAnnotation = "fairlead.dev/member-id"
	// TokenClusterAnnotation, on a bootstrap token, names the one cluster that may
	// join with it.
	TokenClusterAnnotation = "fairlead.dev/cluster"
	// TokenUsedByAnnotation, on a bootstrap token, is the member id that joined with
	// it; the token is good for nothing any more.
	TokenUsedByAnnotation = "fairlead.dev/used-by"
	// TokenUsedAtAnnotation, on a bootstrap token, is when that was (RFC 3339).
	TokenUsedAtAnnotation = "fairlead.dev/used-at"
	// TokenUsedForAnnotation, on a bootstrap token, is the UID of the one certificate
	// signing request that it was used for: by this the hub goes on with a join that it
	// had begun.
	TokenUsedForAnnotation = "fairlead.dev/used-for"
)
