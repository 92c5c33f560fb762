package contract

// Labels.
const (
	// PropagationPolicyPermanentIDLabel identifies a PropagationPolicy; on a template and a binding it is the claim.
	PropagationPolicyPermanentIDLabel = "propagationpolicy.karmada.io/permanent-id"
	// ClusterPropagationPolicyPermanentIDLabel identifies a ClusterPropagationPolicy; on a template and a binding it
	// is the claim.
	ClusterPropagationPolicyPermanentIDLabel = "clusterpropagationpolicy.karmada.io/permanent-id"
	// ResourceBindingPermanentIDLabel identifies a ResourceBinding, on itself, its Works and their manifests.
	ResourceBindingPermanentIDLabel = "resourcebinding.karmada.io/permanent-id"
	// ClusterResourceBindingPermanentIDLabel identifies a ClusterResourceBinding, on itself, its Works and their
	// manifests.
	ClusterResourceBindingPermanentIDLabel = "clusterresourcebinding.karmada.io/permanent-id"
	// WorkPermanentIDLabel identifies a Work, on itself and its manifests.
	WorkPermanentIDLabel = "work.karmada.io/permanent-id"
	// ManagedLabel marks an object in a member as managed by the hub; its value is "true".
	ManagedLabel = "karmada.io/managed"
	// SystemLabel marks objects that the system creates for itself; its value is "true".
	SystemLabel = "karmada.io/system"
	// ExecutionNamespaceOfLabel, on the execution namespace of a cluster, names the cluster: the namespace's own name
	// is not enough for those who do not know --execution-namespace-prefix, such as admission policies.
	ExecutionNamespaceOfLabel = "fairlead.dev/execution-namespace-of"
	// RolloutUIDLabel, on a Secret in ClusterNamespace with the rules of a revision, is the UID of the StagedRollout:
	// owner references cannot cross namespaces, so the hub uses it to find leftovers.
	RolloutUIDLabel = Prefix + "rollout-uid"
	// BindingManagedByLabel says which other controller placed a binding.
	BindingManagedByLabel = "binding.karmada.io/managed-by"
	// ClaimedByLabel says that a template belongs to another controller; the detector ignores it.
	ClaimedByLabel = "resourcetemplate.karmada.io/claimed-by"
	// RetainReplicasLabel keeps the replicas of the member's object; its value is "true".
	RetainReplicasLabel = "resourcetemplate.karmada.io/retain-replicas"
	// FederatedResourceQuotaNamespaceLabel and FederatedResourceQuotaNameLabel, on a Work, name the
	// FederatedResourceQuota whose part it brings to a member.
	FederatedResourceQuotaNamespaceLabel = "federatedresourcequota.karmada.io/namespace"
	FederatedResourceQuotaNameLabel      = "federatedresourcequota.karmada.io/name"
	// DependedByLabelPrefix begins the labels of a binding whose object others need: the rest is Hash of
	// "<namespace>/<name>" of the binding that needs it, the value that binding's permanent ID.
	DependedByLabelPrefix = "resourcebinding.karmada.io/depended-by-"
	// DeletionProtectedLabel forbids deleting an object on the hub while its value is "Always".
	DeletionProtectedLabel = "resourcetemplate.karmada.io/deletion-protected"
	// SkipAutoPropagationLabel keeps a Namespace on the hub; its value is "true".
	SkipAutoPropagationLabel = "namespace.karmada.io/skip-auto-propagation"
)

// LabelTrue is the value of labels that say yes.
const LabelTrue = "true"
