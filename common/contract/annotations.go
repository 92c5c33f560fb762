package contract

// Annotations of the propagation API.
const (
	// PropagationPolicyNamespaceAnnotation and the next two name the policy that
	// claimed a template.
	PropagationPolicyNamespaceAnnotation   = "propagationpolicy.karmada.io/namespace"
	PropagationPolicyNameAnnotation        = "propagationpolicy.karmada.io/name"
	ClusterPropagationPolicyNameAnnotation = "clusterpropagationpolicy.karmada.io/name"

	// AdmittedRequestsAnnotation is on the bindings of namespaces that have a
	// FederatedResourceQuota, as JSON: what a replica, or each component, may request as the
	// scheduler has compared it with the quotas. Works do not request more.
	AdmittedRequestsAnnotation = Prefix + "admitted-requests"
	// ReschedulePendingAnnotation is on the bindings whose spec.rescheduleTriggeredAt the
	// scheduler has looked at and could not do: that time (RFC 3339). It does it when it can.
	ReschedulePendingAnnotation = Prefix + "reschedule-pending"
	// RescheduleAnsweredAnnotation is on the bindings whose spec.rescheduleTriggeredAt is ahead of the clock of the scheduler
	// that has done it: that time (RFC 3339). What is asked for once is done once.
	RescheduleAnsweredAnnotation = Prefix + "reschedule-answered"
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
	// RenderedFromAnnotation, on a Work, is a hash of all that it was rendered from and of what is on it, by which
	// the hub knows without reading the template that it would render the same.
	RenderedFromAnnotation = "fairlead.dev/rendered-from"
	// ReplicasAnnotation, on a Work, is the share of the replicas that it was rendered
	// with, of a workload whose replicas are divided.
	ReplicasAnnotation = "fairlead.dev/replicas"
	// TemplateFingerprintAnnotation, on a binding, is a hash of what the detector
	// last saw of the template, by which it knows whether to look again.
	TemplateFingerprintAnnotation = "fairlead.dev/template-fingerprint"
	// TemplateSeenAnnotation, on a binding whose changes are rolled out in waves, is when the detector saw the last
	// change of the template, from which on further edits are waited for.
	TemplateSeenAnnotation = "fairlead.dev/template-seen"
	// TemplateEditAnnotation, on a template that a lazy policy has, is a hash of the edit, and the version in which it was read,
	// that the policy has seen: it takes effect with the next one.
	TemplateEditAnnotation = "fairlead.dev/template-edit"
	// DependenciesByAnnotation, on a binding, names the objects with the rules that said what DependenciesAnnotation lists, as KIND/NAME,
	// sorted and joined by commas. It is not there if what is built in says that. Where one of them is gone, what it named stays.
	DependenciesByAnnotation = "fairlead.dev/dependencies-by"
	// EvictionsAnnotation, on a binding, is what it remembers of the clusters that its
	// application left: when, why, and what came of it, as JSON. Written by failover, and by
	// the scheduler where that prefers another cluster.
	EvictionsAnnotation = "fairlead.dev/evictions"
	// EvictionsPackedAnnotation, on a binding, is what it remembers of those that are not over if the targets before them take
	// too much room, or are not known. It is apart, because hubs of before would take each target for one that was not there.
	EvictionsPackedAnnotation = "fairlead.dev/evictions-packed"
	// ReturnToPreferredAnnotation, on a policy and from there on its bindings, is "true"
	// if an application goes back to a preferred group of clusterAffinities once it
	// fits there again. What overflowed comes back by itself, unless it is "false".
	ReturnToPreferredAnnotation = "fairlead.dev/return-to-preferred-group"
	// RolloutStrategyAnnotation, on a policy, names the RolloutStrategy by which changes of its
	// templates reach clusters; on a template it wins over the policy's, and RolloutStrategyNone
	// opts out. On a binding it is what the detector found to hold: whoever renders it asks its
	// StagedRollout first.
	RolloutStrategyAnnotation = "fairlead.dev/rollout-strategy"
	// RolloutForcedAnnotation, on a binding, is "true" if its RolloutStrategyAnnotation is there
	// because the strategy selects the policy.
	RolloutForcedAnnotation = "fairlead.dev/rollout-strategy-forced"
	// RevisionAnnotation, on a Work, is the revision that it was rendered from, as package revision
	// writes it: NUMBER-HASH. On a Secret with the label RolloutUIDLabel it is the one whose rules are kept there.
	RevisionAnnotation = "fairlead.dev/revision"
	// RevisionOfAnnotation, on a Work, names the binding whose rollout RevisionAnnotation is about, as
	// NAMESPACE/NAME, if it is not its own: that of a workload that needs the object. A Secret with the label
	// RolloutUIDLabel has it, too.
	RevisionOfAnnotation = "fairlead.dev/revision-of"
	// RevisionGenerationAnnotation, on a Work, is the generation of the template that it was rendered
	// from. Scaling raises it, and makes no revision.
	RevisionGenerationAnnotation = "fairlead.dev/revision-generation"
	// RevisionSinceAnnotation, on a Work, is when it was given the content of that revision (RFC
	// 3339), and not before that was made. A revision that changes nothing in a cluster which has what
	// the stable one renders there leaves it as it was: what is older than the revision is how one sees
	// that.
	RevisionSinceAnnotation = "fairlead.dev/revision-since"
	// RecreateAnnotation, on a template, is "true" if the agents may delete and make anew
	// its objects in the members when a field is changed that cannot change.
	RecreateAnnotation = "fairlead.dev/recreate-on-immutable-change"
	// RecreatedForAnnotation, on an object in a member, is the digest of the manifest for which its agent deleted the one
	// before and made this one: it does so once for each manifest, whatever it forgets when it restarts.
	RecreatedForAnnotation = "fairlead.dev/recreated-for"
	// ImagePullSecretsAnnotation, on a ServiceAccount in a member, lists the names of the imagePullSecrets that its manifest
	// had when its agent applied it last, separated by commas. Others are not the hub's, and stay.
	ImagePullSecretsAnnotation = "fairlead.dev/image-pull-secrets"
	// DeletionPropagationAnnotation, on a template, says what becomes of the dependents
	// of its objects in the members when those are deleted: Background (as if it were
	// not there), Foreground or Orphan. PropagationOf reads it; nothing is rendered of a
	// template that says anything else.
	DeletionPropagationAnnotation = "fairlead.dev/deletion-propagation"
	// DeleteContentsAnnotation, on a template or a Work, is "true" if a Namespace or a
	// CustomResourceDefinition may be deleted from a member together with the objects in it
	// that are not from the hub, or that other Works still want. Without it, it is left there, or waits for these Works.
	DeleteContentsAnnotation = "fairlead.dev/delete-with-contents"
	// LeftByAnnotation, on a Namespace or a CustomResourceDefinition in a member, names the
	// Work (NAMESPACE/NAME) that left it behind when its cluster was evicted: it is otherwise
	// nobody's, and that Work takes it over again when it comes back.
	LeftByAnnotation = "fairlead.dev/left-by"
	// DeletionsApprovedAnnotation, on a Cluster, is an operator's word that what its
	// deletion brake holds may go: the time since when it is held, as condition
	// DeletionsHeld has it. It holds once that condition is False.
	DeletionsApprovedAnnotation = "fairlead.dev/deletions-approved"
	// UsualCapacityAnnotation, on a Cluster, is what capacity its agent reported the day before
	// and when that was noted, as JSON: what its reports are compared with.
	UsualCapacityAnnotation = "fairlead.dev/usual-capacity"
	// ClustersAnnotation, on a Namespace of the hub, is which clusters what is in it may go to: a label selector over
	// Clusters as kubectl takes it. Without it these are all. Whoever may write Namespaces sets it.
	ClustersAnnotation = "fairlead.dev/clusters"
	// ScaleTargetAnnotation, on the binding of a HorizontalPodAutoscaler, is the template that
	// carries RetainReplicasLabel because of it, with its UID, as JSON.
	ScaleTargetAnnotation = "fairlead.dev/scale-target"
	// DeletionAllowedAnnotation, on a namespace or a definition that the hub cannot do without,
	// is "true" if it may be deleted: the hub says so of the execution namespace of a Cluster
	// that it removes, and an operator who insists of any.
	DeletionAllowedAnnotation = "fairlead.dev/deletion-allowed"
	// ExecutionNamespaceAnnotation, on a Cluster, names its execution namespace: this
	// is how an agent learns where its Works are.
	ExecutionNamespaceAnnotation = "fairlead.dev/execution-namespace"
)

// RolloutStrategyNone is the value of RolloutStrategyAnnotation that opts a template out.
const RolloutStrategyNone = "none"
