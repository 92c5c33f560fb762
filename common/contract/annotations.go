package contract

// Annotations of the propagation API.
const (
	// PropagationPolicyNamespaceAnnotation and the next two name the policy that claimed a template.
	PropagationPolicyNamespaceAnnotation   = "propagationpolicy.karmada.io/namespace"
	PropagationPolicyNameAnnotation        = "propagationpolicy.karmada.io/name"
	ClusterPropagationPolicyNameAnnotation = "clusterpropagationpolicy.karmada.io/name"

	// AdmittedRequestsAnnotation, on bindings in namespaces with a FederatedResourceQuota, holds as JSON the requests
	// per replica, or per component, that the scheduler has checked against the quotas. Works do not request more.
	AdmittedRequestsAnnotation = Prefix + "admitted-requests"
	// ReschedulePendingAnnotation, on bindings, is the value of spec.rescheduleTriggeredAt (RFC 3339) that the
	// scheduler has seen but could not act on. It acts when it can.
	ReschedulePendingAnnotation = Prefix + "reschedule-pending"
	// RescheduleAnsweredAnnotation, on bindings, is the value of spec.rescheduleTriggeredAt (RFC 3339) that the
	// scheduler has acted on although it is ahead of its clock, so that one request is answered once.
	RescheduleAnsweredAnnotation = Prefix + "reschedule-answered"
	// AppliedPlacementAnnotation, on a binding, is the placement that the scheduler last used, as JSON; if that is
	// longer than MaxAppliedPlacement, a hash of it.
	AppliedPlacementAnnotation = "policy.karmada.io/applied-placement"
	// AppliedOverridesAnnotation lists the OverridePolicies that shaped a Work.
	AppliedOverridesAnnotation = "policy.karmada.io/applied-overrides"
	// AppliedClusterOverridesAnnotation lists the ClusterOverridePolicies that shaped
	// a Work.
	AppliedClusterOverridesAnnotation = "policy.karmada.io/applied-cluster-overrides"

	// ResourceBindingNamespaceAnnotation and the next two name the binding, on a Work and on its manifests.
	ResourceBindingNamespaceAnnotation   = "resourcebinding.karmada.io/namespace"
	ResourceBindingNameAnnotation        = "resourcebinding.karmada.io/name"
	ClusterResourceBindingNameAnnotation = "clusterresourcebinding.karmada.io/name"

	// DependenciesAnnotation lists what the workload of a binding needs, as JSON; if that is longer than
	// MaxDependencies, it is a list with only a hash of it, which means that anything may be needed.
	DependenciesAnnotation = "resourcebinding.karmada.io/dependencies"

	// ConflictResolutionAnnotation is "overwrite" or "abort", on a template (set by its author), a Work and a
	// manifest.
	ConflictResolutionAnnotation = "work.karmada.io/conflict-resolution"
	// WorkNamespaceAnnotation and WorkNameAnnotation name the Work of an object in a member.
	WorkNamespaceAnnotation = "work.karmada.io/namespace"
	WorkNameAnnotation      = "work.karmada.io/name"

	// TemplateUIDAnnotation and TemplateGenerationAnnotation name the template, and its generation, from which a
	// manifest was rendered.
	TemplateUIDAnnotation        = "resourcetemplate.karmada.io/uid"
	TemplateGenerationAnnotation = "resourcetemplate.karmada.io/generation"
	// ManagedLabelsAnnotation and ManagedAnnotationsAnnotation list the keys that a manifest sets, sorted and joined
	// by commas.
	ManagedLabelsAnnotation      = "resourcetemplate.karmada.io/managed-labels"
	ManagedAnnotationsAnnotation = "resourcetemplate.karmada.io/managed-annotations"
)

// Values of ConflictResolutionAnnotation.
const (
	ConflictOverwrite = "overwrite"
	ConflictAbort     = "abort"
)

// Prefix begins the keys that Fairlead adds to the propagation API.
const Prefix = "fairlead.dev/"

// Annotations that Fairlead adds.
const (
	// ManifestHashAnnotation, on a Work, is the hash of its spec as the hub rendered it. With it the hub knows
	// whether to rewrite the Work without keeping the manifests in memory.
	ManifestHashAnnotation = "fairlead.dev/manifest-hash"
	// RenderedFromAnnotation, on a Work, is a hash of everything that it was rendered from and of its metadata. With
	// it the hub knows, without reading the template, that rendering would yield the same.
	RenderedFromAnnotation = "fairlead.dev/rendered-from"
	// ReplicasAnnotation, on a Work, is the share of the replicas that it was rendered with, if the workload's
	// replicas are divided.
	ReplicasAnnotation = "fairlead.dev/replicas"
	// TemplateFingerprintAnnotation, on a binding, is a hash of the template as the detector saw it when it last
	// wrote the binding. With it the detector knows whether to read the template again.
	TemplateFingerprintAnnotation = "fairlead.dev/template-fingerprint"
	// TemplateSeenAnnotation, on a binding with a rollout in waves, is when the detector saw the last change of the
	// template. Further edits are awaited for some time after that.
	TemplateSeenAnnotation = "fairlead.dev/template-seen"
	// TemplateEditAnnotation, on a template with a lazy policy, is a hash of the edit that the policy has seen, and
	// the version in which it was read: the edit takes effect with the policy's next one.
	TemplateEditAnnotation = "fairlead.dev/template-edit"
	// DependenciesByAnnotation, on a binding, names the objects whose rules determined DependenciesAnnotation, as
	// KIND/NAME, sorted and joined by commas; it is missing if these are built-in rules. If one of the objects is
	// deleted, the dependencies that it named stay.
	DependenciesByAnnotation = "fairlead.dev/dependencies-by"
	// EvictionsAnnotation, on a binding, is the history of the clusters that its application left: when, why, and
	// with what result, as JSON. Written by failover, and by the scheduler where it prefers another cluster.
	EvictionsAnnotation = "fairlead.dev/evictions"
	// EvictionsPackedAnnotation, on a binding, is the part of that history about evictions in progress, if their
	// earlier targets take too much room or are not known. It is separate because older hubs would treat each target
	// as one that was not there before.
	EvictionsPackedAnnotation = "fairlead.dev/evictions-packed"
	// ReturnToPreferredAnnotation, on a policy and copied to its bindings, is "true" if an application returns to a
	// preferred group of clusterAffinities once it fits there again. Overflow returns by itself, unless it is
	// "false".
	ReturnToPreferredAnnotation = "fairlead.dev/return-to-preferred-group"
	// RolloutStrategyAnnotation, on a policy, names the RolloutStrategy for changes of its templates; on a template
	// it overrides the policy's, and RolloutStrategyNone opts out. On a binding it is the strategy that the detector
	// determined: a Work is rendered only after consulting the StagedRollout.
	RolloutStrategyAnnotation = "fairlead.dev/rollout-strategy"
	// RolloutForcedAnnotation, on a binding, is "true" if its RolloutStrategyAnnotation is set because the strategy
	// selects the policy.
	RolloutForcedAnnotation = "fairlead.dev/rollout-strategy-forced"
	// RevisionAnnotation, on a Work, is the revision from which it was rendered, in the form NUMBER-HASH of package
	// revision. On a Secret with the label RolloutUIDLabel it is the revision whose rules the Secret holds.
	RevisionAnnotation = "fairlead.dev/revision"
	// RevisionOfAnnotation, on a Work, names the binding whose rollout RevisionAnnotation refers to, as
	// NAMESPACE/NAME, if it is not the Work's own: that of a workload that needs the object. A Secret with the label
	// RolloutUIDLabel has it, too.
	RevisionOfAnnotation = "fairlead.dev/revision-of"
	// RevisionGenerationAnnotation, on a Work, is the generation of the template from which it was rendered. Scaling
	// increases it without making a revision.
	RevisionGenerationAnnotation = "fairlead.dev/revision-generation"
	// RevisionSinceAnnotation, on a Work, is when the Work got the content of its revision (RFC 3339). A revision
	// that renders the same as the stable one for a cluster leaves it unchanged: a time before the revision was made
	// means that the revision changed nothing in this cluster.
	RevisionSinceAnnotation = "fairlead.dev/revision-since"
	// RecreateAnnotation, on a template, is "true" if the agents may delete its objects in the members and create
	// them again when an immutable field changes.
	RecreateAnnotation = "fairlead.dev/recreate-on-immutable-change"
	// RecreatedForAnnotation, on an object in a member, is the digest of the manifest for which its agent deleted and
	// recreated it: the agent does so once per manifest, even across restarts.
	RecreatedForAnnotation = "fairlead.dev/recreated-for"
	// ImagePullSecretsAnnotation, on a ServiceAccount in a member, lists the names of the imagePullSecrets that its
	// manifest had when the agent last applied it, separated by commas. Others are not the hub's and stay.
	ImagePullSecretsAnnotation = "fairlead.dev/image-pull-secrets"
	// DeletionPropagationAnnotation, on a template, says what happens to the dependents of its objects in the members
	// when those are deleted: Background (the default), Foreground or Orphan. PropagationOf parses it; a template
	// with any other value is not rendered.
	DeletionPropagationAnnotation = "fairlead.dev/deletion-propagation"
	// DeleteContentsAnnotation, on a template or a Work, is "true" if a Namespace or a CustomResourceDefinition may
	// be deleted from a member together with the objects in it that are not from the hub, or that other Works still
	// want. Without it, the object stays, or waits for these Works.
	DeleteContentsAnnotation = "fairlead.dev/delete-with-contents"
	// LeftByAnnotation, on a Namespace or a CustomResourceDefinition in a member, names the Work (NAMESPACE/NAME)
	// that left it behind when its cluster was evicted: otherwise nobody owns it, and that Work claims it again when
	// it returns.
	LeftByAnnotation = "fairlead.dev/left-by"
	// DeletionsApprovedAnnotation, on a Cluster, is an operator's approval of the deletions that the brake holds: the
	// time that the message of condition DeletionsHeld names. It covers what that message announced, once the
	// condition is False.
	DeletionsApprovedAnnotation = "fairlead.dev/deletions-approved"
	// UsualCapacityAnnotation, on a Cluster, is the capacity that its agent reported the day before and when that was
	// recorded, as JSON: later reports are compared with it.
	UsualCapacityAnnotation = "fairlead.dev/usual-capacity"
	// ClustersAnnotation, on a Namespace of the hub, restricts the clusters for everything in it: a label selector
	// over Clusters in kubectl's syntax. Without it all clusters are allowed. It is set by those who may write
	// Namespaces.
	ClustersAnnotation = "fairlead.dev/clusters"
	// ScaleTargetAnnotation, on the binding of a HorizontalPodAutoscaler, is the template that has
	// RetainReplicasLabel because of it, with its UID, as JSON.
	ScaleTargetAnnotation = "fairlead.dev/scale-target"
	// DeletionAllowedAnnotation, on a namespace or CustomResourceDefinition that the hub needs, is "true" if it may
	// be deleted: set by the hub on the execution namespace of a Cluster that it removes, and by an operator who
	// insists.
	DeletionAllowedAnnotation = "fairlead.dev/deletion-allowed"
	// ExecutionNamespaceAnnotation, on a Cluster, names its execution namespace: this is how an agent learns where
	// its Works are.
	ExecutionNamespaceAnnotation = "fairlead.dev/execution-namespace"
)

// RolloutStrategyNone is the value of RolloutStrategyAnnotation that opts a template out.
const RolloutStrategyNone = "none"
