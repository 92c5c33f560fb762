package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster is the hub's record of a member. The hub creates it when a member joins;
// operators label and taint it; the member's agent writes its status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:selectablefield:JSONPath=`.spec.id`
// +kubebuilder:printcolumn:JSONPath=`.status.kubernetesVersion`,name="Version",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.syncMode`,name="Mode",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Ready")].status`,name="Ready",type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.taints[?(@.key=="cluster.karmada.io/unschedulable")].effect`,name="Cordoned",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="Age",type=date
// +kubebuilder:printcolumn:JSONPath=`.spec.zones`,name="Zones",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.region`,name="Region",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.provider`,name="Provider",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.apiEndpoint`,name="API-Endpoint",type=string,priority=1
// +kubebuilder:printcolumn:JSONPath=`.spec.proxyURL`,name="Proxy-URL",type=string,priority=1
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 48 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name: a cluster's name is a DNS label of at most 48 characters"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has the settings that the hub and its operators make for the cluster.
	// +required
	Spec ClusterSpec `json:"spec"`

	// Status is the agent's report on the cluster, and the hub's conclusion when the agent is silent.
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterList is a list of Clusters.
//
// +kubebuilder:object:root=true
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// ClusterSyncMode says who opens the connection.
type ClusterSyncMode string

// Values of ClusterSyncMode.
const (
	// Push : the hub dials the member. Known on the wire, refused by this hub.
	Push ClusterSyncMode = "Push"
	// Pull : the member's agent dials the hub.
	Pull ClusterSyncMode = "Pull"
)

// ClusterSpec has the settings that the hub and its operators make for a cluster.
type ClusterSpec struct {
	// ID is the UID of the member's kube-system namespace. Written by the hub when
	// the member joins; it tells two members of one name apart.
	// +optional
	// +kubebuilder:validation:MaxLength=128000
	ID string `json:"id,omitempty"`

	// SyncMode says who opens the connection. This hub serves Pull only.
	// +required
	// +kubebuilder:validation:Enum=Push;Pull
	// +kubebuilder:validation:XValidation:rule="self == 'Pull'",message="this hub never dials members, so Push is not served: run an agent in the member and use Pull"
	SyncMode ClusterSyncMode `json:"syncMode"`

	// APIEndpoint is where the member's API is served. It is informative: the hub
	// does not use it.
	// +optional
	APIEndpoint string `json:"apiEndpoint,omitempty"`

	// SecretRef names a Secret with the member's credentials. This hub neither
	// writes nor reads one.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`

	// ImpersonatorSecretRef names a Secret with a token for impersonation. This hub
	// neither writes nor reads one.
	// +optional
	ImpersonatorSecretRef *LocalSecretReference `json:"impersonatorSecretRef,omitempty"`

	// InsecureSkipTLSVerification is for those who dial the member; this hub does
	// not.
	// +optional
	InsecureSkipTLSVerification bool `json:"insecureSkipTLSVerification,omitempty"`

	// ProxyURL is for those who dial the member; this hub does not.
	// +optional
	ProxyURL string `json:"proxyURL,omitempty"`

	// ProxyHeader is for those who dial the member; this hub does not.
	// +optional
	ProxyHeader map[string]string `json:"proxyHeader,omitempty"`

	// Provider of the cluster, in the syntax of a label value.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	Provider string `json:"provider,omitempty"`

	// Region of the cluster, in the syntax of a label value.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	Region string `json:"region,omitempty"`

	// Zone is deprecated: use zones. Whoever reads zones reads this one too while
	// zones is empty.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	Zone string `json:"zone,omitempty"`

	// Zones of the cluster, each in the syntax of a label value.
	// +optional
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$`
	Zones []string `json:"zones,omitempty"`

	// Taints keep away what does not tolerate them. Effects are NoSchedule and
	// NoExecute.
	// +optional
	Taints []corev1.Taint `json:"taints,omitempty"`

	// ResourceModels sort the nodes of the cluster into grades by what they have
	// free.
	// +optional
	ResourceModels []ResourceModel `json:"resourceModels,omitempty"`

	// CapacityLimit is the most that the hub believes of status.resourceSummary.allocatable,
	// by resource: more draws no replicas. What it does not name is believed as it is reported;
	// workloads that request nothing are bounded by pods. It is ours.
	// +optional
	CapacityLimit corev1.ResourceList `json:"capacityLimit,omitempty"`

	// DeletionBrake bounds what the agent deletes from the member within a minute; without
	// it, more than 20 objects that are more than 30 % of all are held. Percent: 100 takes
	// the brake off. It is ours.
	// +optional
	DeletionBrake *DeletionBrake `json:"deletionBrake,omitempty"`

	// Agent is which agent the member is to run: one in a pod upgrades itself to it, and goes
	// back if that does not report; status.agentUpgrade says what came of it. Nothing is
	// changed if it is absent. Written by operators, and for them by the hub. It is ours.
	// +optional
	Agent *WantedAgent `json:"agent,omitempty"`
}

// What holds for a Cluster without spec.deletionBrake, and for an agent that its hub has
// forgotten.
const (
	DefaultBrakeObjects = 20
	DefaultBrakePercent = 30
)

// DeletionBrake has the agent stop before it deletes more than both of its bounds within a
// minute. It then says so in the condition DeletionsHeld, deletes nothing, and waits for
// an operator's word: an annotation that the condition names.
type DeletionBrake struct {
	// Objects is how many objects may go within a minute, whatever their share.
	// +required
	// +kubebuilder:validation:Minimum=0
	Objects int32 `json:"objects"`

	// Percent is which share of the objects that the agent looks after may go within a
	// minute, however many they are.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Percent int32 `json:"percent,omitempty"`
}

// LocalSecretReference names a Secret on the hub.
type LocalSecretReference struct {
	// Namespace of the Secret.
	// +required
	Namespace string `json:"namespace"`

	// Name of the Secret.
	// +required
	Name string `json:"name"`
}

// ResourceModel is one grade of nodes.
type ResourceModel struct {
	// Grade is the number of the grade, from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	Grade uint `json:"grade"`

	// Ranges are the resources of a node of this grade.
	// +required
	Ranges []ResourceModelRange `json:"ranges"`
}

// ResourceModelRange is from how much to how much of a resource.
type ResourceModelRange struct {
	// Name of the resource.
	// +required
	Name corev1.ResourceName `json:"name"`

	// Min belongs to the range.
	// +required
	Min resource.Quantity `json:"min"`

	// Max does not belong to the range.
	// +required
	Max resource.Quantity `json:"max"`
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
	// first. While it is True (reason TooManyDeletions) nothing is deleted from the member; the
	// message says how many objects of how many were to go, what the brake lets go, and which
	// annotation of the Cluster lets them go. An operator has to answer, so every list of
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

// ClusterStatus is the observed state of a cluster.
type ClusterStatus struct {
	// KubernetesVersion of the member's API.
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// APIEnablements are the APIs of the member, by group and version.
	// +optional
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

// APIEnablement is one group and version of the member's API.
type APIEnablement struct {
	// GroupVersion such as "apps/v1".
	// +required
	GroupVersion string `json:"groupVersion"`

	// Resources of it, without sub-resources.
	// +optional
	Resources []APIResource `json:"resources,omitempty"`
}

// APIResource is one resource.
type APIResource struct {
	// Name in the plural, such as "deployments".
	// +required
	Name string `json:"name"`

	// Kind of its objects.
	// +required
	Kind string `json:"kind"`
}

// NodeSummary counts nodes.
type NodeSummary struct {
	// TotalNum is how many nodes there are.
	// +optional
	TotalNum int32 `json:"totalNum,omitempty"`

	// ReadyNum is how many of them are ready.
	// +optional
	ReadyNum int32 `json:"readyNum,omitempty"`
}

// NamespaceQuota is the part of one namespace's ResourceQuotas that is not used.
type NamespaceQuota struct {
	// Namespace in the member.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// PriorityClass says of which pods it is so; of all of the namespace if it is absent.
	// +optional
	PriorityClass *PriorityClassScope `json:"priorityClass,omitempty"`

	// Free is how much more pods may request of a resource, by its name in a pod, and pods how
	// many more there may be. What is not listed is not bounded. Never below 0.
	// +required
	// +kubebuilder:validation:MaxProperties=32
	Free corev1.ResourceList `json:"free"`
}

// PriorityClassScope picks pods by the names of their priority classes.
type PriorityClassScope struct {
	// Operator is that of the scope of the ResourceQuota.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator corev1.ScopeSelectorOperator `json:"operator"`

	// Values are the names for In and NotIn.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}

// ResourceSummary adds up resources.
type ResourceSummary struct {
	// Allocatable is the sum of the nodes' allocatable resources.
	// +optional
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// Allocating is the sum of the requests of pods without a node.
	// +optional
	Allocating corev1.ResourceList `json:"allocating,omitempty"`

	// Allocated is the sum of the requests of pods on nodes.
	// +optional
	Allocated corev1.ResourceList `json:"allocated,omitempty"`

	// AllocatableModelings counts the nodes of each grade of spec.resourceModels.
	// +optional
	AllocatableModelings []AllocatableModeling `json:"allocatableModelings,omitempty"`
}

// AllocatableModeling counts the nodes of a grade.
type AllocatableModeling struct {
	// Grade is the number of the grade.
	// +required
	// +kubebuilder:validation:Minimum=0
	Grade uint `json:"grade"`

	// Count is how many nodes are of it.
	// +required
	Count int `json:"count"`
}
