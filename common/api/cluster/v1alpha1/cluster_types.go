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
