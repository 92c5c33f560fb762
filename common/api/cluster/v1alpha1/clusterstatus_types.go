package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterStatus is the observed state of a cluster.
type ClusterStatus struct {
	// KubernetesVersion of the member's API.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// APIEnablements are the APIs of the member, by group and version. There may be 4,096, since the admission policies that
	// look at each of them take longer than in proportion to their number.
	// +optional
	// +kubebuilder:validation:MaxItems=4096
	APIEnablements []APIEnablement `json:"apiEnablements,omitempty"`

	// Conditions are Ready, CompleteAPIEnablements, CapacityUnknown and DeletionsHeld, which the agent writes (the hub
	// does where it no longer hears from the agent), LeaveRequested, which `agent leave` writes,
	// SeveralAgents and RightsWithheld (the hub's registration stage), EvictionSuspended (failover) and
	// CapacityJumped (the hub's cluster stage).
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// NodeSummary counts the nodes.
	// +optional
	NodeSummary *NodeSummary `json:"nodeSummary,omitempty"`

	// ResourceSummary adds up what the nodes have and the pods ask for.
	// +optional
	ResourceSummary *ResourceSummary `json:"resourceSummary,omitempty"`

	// NamespaceQuotas say what the ResourceQuotas of the member leave free, of namespaces that
	// have content from the hub: the scheduler gives a workload there no more replicas than
	// that. A namespace that is not listed has no quota that bounds pods. Sorted by namespace; at
	// most the first 256, and as many as have room in 224 KiB. Written by the agent. It is ours.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	NamespaceQuotas []NamespaceQuota `json:"namespaceQuotas,omitempty"`

	// UnclaimedObjects counts the objects in the member that name a Work which the hub
	// does not have, or which no longer contains them. They are left as they are; events
	// on the Works name them. Written by the agent.
	// +optional
	UnclaimedObjects int32 `json:"unclaimedObjects,omitempty"`

	// Agent has the agent's own metrics, since nobody can scrape it behind a firewall. The hub shows and exports them, and decides nothing
	// by them. Absent until the agent has reported; agents of older versions never do. Written by the agent. It is ours.
	// +optional
	Agent *AgentReport `json:"agent,omitempty"`

	// AgentUpgrade is the progress of the upgrade that spec.agent asks for. Absent without spec.agent, and until an agent that knows that
	// field has seen it. Written by the agent. It is ours.
	// +optional
	AgentUpgrade *AgentUpgrade `json:"agentUpgrade,omitempty"`

	// RemedyActions are the actions that Remedies ask for.
	// +optional
	RemedyActions []string `json:"remedyActions,omitempty"`
}

// AgentReport has an agent's own metrics. The agent's version is on its lease.
type AgentReport struct {
	// Time is when the agent counted, by its own clock.
	// +required
	Time metav1.Time `json:"time"`

	// Started is when it began to count, by its own clock: when its process started, or when
	// it found the hub or the member restored from a snapshot and began anew.
	// +required
	Started metav1.Time `json:"started"`

	// Restarts counts how often an agent that started found the report of another start here.
	// One that stopped before it could report is not counted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Restarts int32 `json:"restarts,omitempty"`

	// DriftRepaired counts the changes in the member that were put back since Started.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DriftRepaired int64 `json:"driftRepaired,omitempty"`

	// StuckObjects counts the objects that were deleted from the member and are held there by
	// finalizers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	StuckObjects int32 `json:"stuckObjects,omitempty"`

	// Journal describes the agent's journal on disk; absent if the agent keeps none.
	// +optional
	Journal *JournalReport `json:"journal,omitempty"`

	// NoLine says why the agent keeps no line to the hub open, over which operators would reach the
	// member: that it was told not to, or why none could be opened for a minute. It is empty while
	// there is one, and of an agent that does not say.
	// +optional
	// +kubebuilder:validation:MaxLength=300
	NoLine string `json:"noLine,omitempty"`

	// MemberCertificateExpires is until when the client certificate holds by which the agent is known to
	// the member's API server; absent if it has none, as in a pod, which has a token.
	// +optional
	MemberCertificateExpires *metav1.Time `json:"memberCertificateExpires,omitempty"`

	// MemberCertificateBegins is from when on that certificate holds: what remains of it is little or much beside its
	// whole lifetime. It is absent as well of an agent that does not say.
	// +optional
	MemberCertificateBegins *metav1.Time `json:"memberCertificateBegins,omitempty"`

	// SentBytes counts what the agent's process sent to the hub since it started, TLS included.
	// +optional
	// +kubebuilder:validation:Minimum=0
	SentBytes int64 `json:"sentBytes,omitempty"`

	// ReceivedBytes counts what came from the hub, likewise.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReceivedBytes int64 `json:"receivedBytes,omitempty"`
}

// JournalReport is about the journal of an agent: the last Works, on the member's disk.
type JournalReport struct {
	// Works counts those in it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Works int32 `json:"works,omitempty"`

	// Bytes is how long the files of these are together.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes,omitempty"`

	// Failing says that the journal cannot be written. An agent that starts anew while the
	// hub is away would not know what to enforce.
	// +optional
	Failing bool `json:"failing,omitempty"`
}

// Condition types of a Cluster.
const (
	// ClusterReady says whether the member takes work. The agent writes True and
	// False; the hub writes Unknown when it no longer hears from the agent.
	ClusterReady = "Ready"
	// ClusterCompleteAPIEnablements says whether apiEnablements lists every API of
	// the member. Written by the agent.
	ClusterCompleteAPIEnablements = "CompleteAPIEnablements"
	// ClusterSeveralAgents says that several agents pass for the one of this member at
	// once. Written by the hub's registration stage, the first time that it is so.
	ClusterSeveralAgents = "SeveralAgents"
	// ClusterRightsWithheld says whether the agent is without a right that it should have, because
	// the name of the Cluster is kept though nobody retired it: somebody began to forget it and was
	// stopped. The message says what to run. Written by the hub's registration stage, the first time
	// that it is so. It is ours.
	ClusterRightsWithheld = "RightsWithheld"
	// ClusterLeaveRequested says that the member asks to be forgotten by the hub. Written by
	// `agent leave`; the hub's registration stage does it.
	ClusterLeaveRequested = "LeaveRequested"
	// ClusterEvictionSuspended says that so many clusters fell silent together with this
	// one that the hub suspects itself, and moves nothing away from here; it is absent
	// otherwise. Written by failover. It is ours.
	ClusterEvictionSuspended = "EvictionSuspended"
	// ClusterDeletionsHeld says whether the agent holds back deletions because of
	// spec.deletionBrake, or of the brake that holds without it; it is absent before it did so
	// first. While it is True (reason TooManyDeletions) nothing is deleted from the member but what
	// was approved before; the message says how many objects of how many were to go, what the
	// brake lets go, and which annotation of the Cluster lets how many of them go. It is made anew, with
	// another annotation, when many more are to go. An operator has to answer, so every list of
	// clusters shows it. False says that the answer came (reason DeletionsApproved), or that nothing
	// of what was held is to be deleted any more (reason DeletionsWithdrawn). Written by
	// the agent, also of a Cluster that is being deleted. It is ours.
	ClusterDeletionsHeld = "DeletionsHeld"
	// ClusterCapacityJumped says that the agent reports more than twice the capacity of the day
	// before, which draws replicas to a cluster that lies; it is absent before that happened
	// first. The message names resource and amounts, and how to set spec.capacityLimit. It
	// becomes False when the report falls, a limit is set, or after a day. Written by the hub's
	// cluster stage. It is ours.
	ClusterCapacityJumped = "CapacityJumped"
	// ClusterCapacityUnknown says that the member is ready and does not let the agent read its nodes or
	// pods (reason ReadForbidden or ReadFailing), so that nodeSummary or resourceSummary is absent and
	// the scheduler gives no more replicas to it by its capacity; the message says what to do. It is absent
	// before that happened first, and False (reason CapacityRead) when they are read again. Written by
	// the agent. It is ours.
	ClusterCapacityUnknown = "CapacityUnknown"
)

// Reasons of the conditions of a Cluster.
const (
	// ReasonSeveralSessions : sessions come back after others took their place.
	ReasonSeveralSessions = "SeveralSessions"
	// ReasonAgentLeaves : somebody ran `agent leave` in the member.
	ReasonAgentLeaves = "AgentLeaves"
	// ReasonOneSession : one session alone was heard for a while.
	ReasonOneSession = "OneSession"
	// ReasonNameKept : the name is kept for a member that somebody began to forget.
	ReasonNameKept = "NameKept"
	// ReasonRightsGiven : the agent has all its rights.
	ReasonRightsGiven = "RightsGiven"
	// ReasonClusterReady : the member's API answers that it is ready.
	ReasonClusterReady = "ClusterReady"
	// ReasonClusterNotReachable : the member's API does not answer its agent, or refuses its
	// credentials; the message says which.
	ReasonClusterNotReachable = "ClusterNotReachable"
	// ReasonClusterNotReady : the member's API answers that it is not ready.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonTooManyDeletions : more would go than the brake lets pass.
	ReasonTooManyDeletions = "TooManyDeletions"
	// ReasonDeletionsApproved : an operator said to go on.
	ReasonDeletionsApproved = "DeletionsApproved"
	// ReasonDeletionsWithdrawn : the hub does not want to delete any more what was held.
	ReasonDeletionsWithdrawn = "DeletionsWithdrawn"
	// ReasonStatusCollectionFailed : the agent could not ask.
	ReasonStatusCollectionFailed = "StatusCollectionFailed"
	// ReasonClusterStatusNeverUpdated : the hub never heard from the agent.
	ReasonClusterStatusNeverUpdated = "ClusterStatusNeverUpdated"
	// ReasonClusterStatusUnknown : the hub no longer hears from the agent.
	ReasonClusterStatusUnknown = "ClusterStatusUnknown"
	// ReasonAgentDisconnected : the line of the agent was lost, and it has not come back within seconds.
	ReasonAgentDisconnected = "AgentDisconnected"
	// ReasonReportedCapacityDoubled : it is more than twice that of the day before.
	ReasonReportedCapacityDoubled = "ReportedCapacityDoubled"
	// ReasonCapacityUsual : it is not, or not any more.
	ReasonCapacityUsual = "CapacityUsual"
	// ReasonReadForbidden : the agent may not list and watch nodes or pods of the member.
	ReasonReadForbidden = "ReadForbidden"
	// ReasonReadFailing : the member has failed to list or watch its nodes or pods for a minute or more.
	ReasonReadFailing = "ReadFailing"
	// ReasonCapacityRead : nodes and pods are read again.
	ReasonCapacityRead = "CapacityRead"
	// ReasonAPIEnablementsComplete : every API was listed.
	ReasonAPIEnablementsComplete = "Complete"
	// ReasonAPIEnablementsPartial : some group could not be listed.
	ReasonAPIEnablementsPartial = "Partial"
	// ReasonAPIEnablementsEmpty : none could be listed.
	ReasonAPIEnablementsEmpty = "Empty"
)
