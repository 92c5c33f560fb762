package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StagedRollout is how the changes of one ResourceBinding, whose name it bears, reach clusters. The
// hub makes it; people write its spec.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=stagedrollouts,shortName=sro
// +kubebuilder:printcolumn:JSONPath=`.status.phase`,name="PHASE",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.revision`,name="REVISION",type=integer
// +kubebuilder:printcolumn:JSONPath=`.status.stable`,name="STABLE",type=integer
// +kubebuilder:printcolumn:JSONPath=`.status.wave`,name="WAVE",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="CaughtUp")].status`,name="CAUGHT-UP",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type StagedRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has people's decisions about the rollout.
	// +optional
	Spec StagedRolloutSpec `json:"spec,omitempty"`

	// Status is written by the hub.
	// +optional
	Status StagedRolloutStatus `json:"status,omitempty"`
}

// StagedRolloutList is a list of StagedRollouts.
//
// +kubebuilder:object:root=true
type StagedRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StagedRollout `json:"items"`
}

// ClusterStagedRollout is how the changes of one ClusterResourceBinding, whose name it bears, reach
// clusters.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,path=clusterstagedrollouts,shortName=csro
// +kubebuilder:printcolumn:JSONPath=`.status.phase`,name="PHASE",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.revision`,name="REVISION",type=integer
// +kubebuilder:printcolumn:JSONPath=`.status.stable`,name="STABLE",type=integer
// +kubebuilder:printcolumn:JSONPath=`.status.wave`,name="WAVE",type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="CaughtUp")].status`,name="CAUGHT-UP",type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name="AGE",type=date
type ClusterStagedRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec has people's decisions about the rollout.
	// +optional
	Spec StagedRolloutSpec `json:"spec,omitempty"`

	// Status is written by the hub.
	// +optional
	Status StagedRolloutStatus `json:"status,omitempty"`
}

// ClusterStagedRolloutList is a list of ClusterStagedRollouts.
//
// +kubebuilder:object:root=true
type ClusterStagedRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterStagedRollout `json:"items"`
}

// StagedRolloutSpec has people's decisions about a rollout. The commands of `hub rollout` write it.
type StagedRolloutSpec struct {
	// Paused sends the revision nowhere else. What was sent stays, and clusters that return wait.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// Target is an older revision to go back to. It becomes a new revision with the content of the
	// old one; the template stays as it is.
	// +optional
	Target *RolloutTarget `json:"target,omitempty"`

	// Approvals are people's approvals of waves. Writing them needs the verb approve on the object. Approvals of older revisions have no
	// effect, and the hub removes none.
	// +optional
	// +kubebuilder:validation:MaxItems=256
	Approvals []WaveApproval `json:"approvals,omitempty"`

	// Retry are clusters that failed and are to be given their time anew. Of several entries of one cluster and revision the
	// last counts; those of clusters that do not take part have no effect.
	// +optional
	// +kubebuilder:validation:MaxItems=10000
	Retry []ClusterAtRevision `json:"retry,omitempty"`

	// Skip are clusters that the rollout of a revision leaves out: they keep what they have until
	// the next revision, and count neither as failed nor as updated. A wave that is to be approved is so
	// also if all of its clusters are left out.
	// +optional
	// +kubebuilder:validation:MaxItems=10000
	Skip []ClusterAtRevision `json:"skip,omitempty"`
}

// RolloutTarget is an older revision to go back to.
type RolloutTarget struct {
	// Revision is the one to go back to.
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`

	// Over is the newest revision at the time when this was asked for. Once there is a newer one,
	// by an edit or because this was done, it has no effect any more.
	// +required
	// +kubebuilder:validation:Minimum=1
	Over int64 `json:"over"`

	// Immediately goes back in all clusters at once rather than in waves. Of a revision that never passed
	// every wave it has no effect where the strategy asks for approvals: it goes out in waves, with these.
	// +optional
	Immediately bool `json:"immediately,omitempty"`
}

// WaveApproval lets a wave of a revision begin, or be passed.
type WaveApproval struct {
	// Revision that is approved.
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`

	// Wave that is approved.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Wave string `json:"wave"`
}

// ClusterAtRevision is a cluster in the rollout of one revision.
type ClusterAtRevision struct {
	// Revision of which this is said.
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`

	// Cluster is its name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster"`

	// Attempt tells one retry of a cluster from the next; any text, such as a time.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Attempt string `json:"attempt,omitempty"`
}
