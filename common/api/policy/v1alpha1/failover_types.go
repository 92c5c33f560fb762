package v1alpha1

// PurgeMode says what happens to the old copy of an application that moves.
type PurgeMode string

// Values of PurgeMode.
const (
	// PurgeDirectly removes the old copy before the new one is made.
	PurgeDirectly PurgeMode = "Directly"
	// PurgeGracefully removes the old copy once the new one is healthy, or the
	// grace period has passed.
	PurgeGracefully PurgeMode = "Gracefully"
	// PurgeNever leaves the old copy until somebody removes it.
	PurgeNever PurgeMode = "Never"

	// PurgeImmediately is an older spelling of PurgeDirectly.
	PurgeImmediately PurgeMode = "Immediately"
	// PurgeGraciously is an older spelling of PurgeGracefully.
	PurgeGraciously PurgeMode = "Graciously"
)

// Canonical returns the newer spelling of a mode.
func (m PurgeMode) Canonical() PurgeMode {
	switch m {
	case PurgeImmediately:
		return PurgeDirectly
	case PurgeGraciously:
		return PurgeGracefully
	default:
		return m
	}
}

// FailoverBehavior says when and how an application leaves a cluster.
type FailoverBehavior struct {
	// Application is about an application that is not healthy in a cluster.
	// +optional
	Application *ApplicationFailoverBehavior `json:"application,omitempty"`

	// Cluster is about a cluster that has failed.
	// +optional
	Cluster *ClusterFailoverBehavior `json:"cluster,omitempty"`
}

// ApplicationFailoverBehavior is about an application that is not healthy.
type ApplicationFailoverBehavior struct {
	// DecisionConditions say when the application is given up in a cluster.
	// +required
	DecisionConditions DecisionConditions `json:"decisionConditions"`

	// PurgeMode says what happens to the old copy.
	// +optional
	// +kubebuilder:default=Gracefully
	// +kubebuilder:validation:Enum=Directly;Gracefully;Never;Immediately;Graciously
	PurgeMode PurgeMode `json:"purgeMode,omitempty"`

	// GracePeriodSeconds is how long a graceful purge waits for the new copy. It
	// goes with purgeMode Gracefully only, and is 600 there if absent.
	// +optional
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`

	// StatePreservation carries state of the old copy over to the new one.
	// +optional
	StatePreservation *StatePreservation `json:"statePreservation,omitempty"`
}

// DecisionConditions say when an application is given up in a cluster.
type DecisionConditions struct {
	// TolerationSeconds is how long the application may be unhealthy.
	// +optional
	// +kubebuilder:default=300
	TolerationSeconds *int32 `json:"tolerationSeconds,omitempty"`
}

// ClusterFailoverBehavior is about a cluster that has failed.
type ClusterFailoverBehavior struct {
	// PurgeMode says what happens to the old copy.
	// +optional
	// +kubebuilder:default=Gracefully
	// +kubebuilder:validation:Enum=Directly;Gracefully;Immediately;Graciously
	PurgeMode PurgeMode `json:"purgeMode,omitempty"`

	// StatePreservation carries state of the old copy over to the new one.
	// +optional
	StatePreservation *StatePreservation `json:"statePreservation,omitempty"`
}

// StatePreservation carries state of an old copy over to a new one.
type StatePreservation struct {
	// Rules each read one value from the status of the old copy and write it to a
	// label of the new one.
	// +required
	Rules []StatePreservationRule `json:"rules"`
}

// StatePreservationRule reads one value and names it.
type StatePreservationRule struct {
	// AliasLabelName is the key of the label on the new copy.
	// +required
	AliasLabelName string `json:"aliasLabelName"`

	// JSONPath is where the value stands in the status of the old copy: fields and indexes that lead to one value, such as
	// { .jobStatus.jobID }, { .jobs[0]['id'] } or { .conditions[?(@.type=="Ready")].status }.
	// +required
	// +kubebuilder:validation:MaxLength=256
	JSONPath string `json:"jsonPath"`
}
