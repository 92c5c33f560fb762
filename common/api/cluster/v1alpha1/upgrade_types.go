package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// WantedAgent is which agent a member is to run. Whether it does is up to the owner of the
// member, who says at `agent join` from which repositories images may come.
type WantedAgent struct {
	// Image of the agent, such as registry.example/fairlead/agent:v1.2.3, or with a digest.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-a-zA-Z0-9_./:@]*$`
	Image string `json:"image"`

	// Version is the version that the wanted agent's `agent version` prints, by which an agent that does not run in a pod knows that it is
	// the wanted one. If it is empty, the tag of the image is used.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`

	// ReportWithin is how long the wanted agent may take until the hub hears it, and it has run for
	// 30 seconds, or for half of this where that is less; otherwise the member goes back to the one
	// that it ran before. From a second to a day.
	// +optional
	// +kubebuilder:default="5m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration between 1s and 24h, such as 5m"
	ReportWithin *metav1.Duration `json:"reportWithin,omitempty"`

	// Attempt is raised whenever somebody asks for another image, or again for one that was gone
	// back from or refused: `hub upgrade agents` makes it the time, in seconds since 1970. An agent
	// does not become what is wanted with a lower one than its last upgrade had: so wants a hub
	// that was restored from a backup.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int64 `json:"attempt,omitempty"`
}

// AgentUpgradePhase is how far an upgrade is.
// +kubebuilder:validation:Enum=Upgrading;Upgraded;RolledBack;Refused;NotInPod
type AgentUpgradePhase string

// Values of AgentUpgradePhase.
const (
	// AgentUpgrading : it is under way.
	AgentUpgrading AgentUpgradePhase = "Upgrading"
	// AgentUpgraded : the wanted agent runs, and the hub has heard it.
	AgentUpgraded AgentUpgradePhase = "Upgraded"
	// AgentRolledBack : the wanted agent was not heard in time, or somebody in the member
	// changed it; another runs.
	AgentRolledBack AgentUpgradePhase = "RolledBack"
	// AgentRefused : the owner of the member does not let the hub have that image run, or the hub
	// wants what it wanted before the last upgrade.
	AgentRefused AgentUpgradePhase = "Refused"
	// AgentNotInPod : the agent runs as a process, which somebody in the member upgrades.
	AgentNotInPod AgentUpgradePhase = "NotInPod"
)

// AgentUpgrade is the progress of the upgrade that spec.agent asks for.
type AgentUpgrade struct {
	// Image and Attempt are those of spec.agent that this is about.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image"`
	// +optional
	Attempt int64 `json:"attempt,omitempty"`

	// Running is the image that the agent runs; empty if it does not run in a pod.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Running string `json:"running,omitempty"`

	// Phase is how far it is.
	// +required
	Phase AgentUpgradePhase `json:"phase"`

	// Message says more, for people.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// Time is since when Phase is as it is, by the agent's clock.
	// +optional
	Time metav1.Time `json:"time,omitempty"`
}
