package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StagedRolloutStatus is how far a rollout is. Its one writer is the stage rollout of the hub.
//
// What a cluster is to have follows from Stable and Clusters alone: see package revision.
type StagedRolloutStatus struct {
	// ObservedGeneration is that of the spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Strategy is the RolloutStrategy that Revision goes by.
	// +optional
	Strategy string `json:"strategy,omitempty"`

	// Phase sums it up.
	// +optional
	Phase RolloutPhase `json:"phase,omitempty"`

	// Revision is the newest, which is being rolled out or was last.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Stable is the last revision that has passed every wave; 0 if there is none yet. Targets that
	// Clusters does not name are to have it, unless they have a newer one.
	// +optional
	Stable int64 `json:"stable,omitempty"`

	// Wave is the name of the wave that is going on; empty if none is.
	// +optional
	Wave string `json:"wave,omitempty"`

	// Immediately says that Revision goes to all clusters at once.
	// +optional
	Immediately bool `json:"immediately,omitempty"`

	// Waves are the waves of Revision, in their order.
	// +optional
	// +listType=map
	// +listMapKey=name
	Waves []WaveStatus `json:"waves,omitempty"`

	// Revisions are the revisions that are kept, the newest last.
	// +optional
	// +listType=map
	// +listMapKey=number
	Revisions []RevisionStatus `json:"revisions,omitempty"`

	// Clusters are the targets that are not simply at Stable, by what they are to have and how they
	// are.
	// +optional
	// +listType=atomic
	Clusters []ClusterGroup `json:"clusters,omitempty"`

	// Retried are the entries of spec.retry that were granted for Revision.
	// +optional
	// +listType=atomic
	Retried []ClusterAtRevision `json:"retried,omitempty"`

	// Conditions are Progressing, CaughtUp and Halted.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// RolloutPhase sums up how a rollout is.
type RolloutPhase string

// Values of RolloutPhase.
const (
	// RolloutProgressing : a wave is going on.
	RolloutProgressing RolloutPhase = "Progressing"
	// RolloutSoaking : a wave is well, and its soak is not over.
	RolloutSoaking RolloutPhase = "Soaking"
	// RolloutWaiting : a person is to approve, or too few clusters of a wave are heard from.
	RolloutWaiting RolloutPhase = "Waiting"
	// RolloutPaused : a person paused it.
	RolloutPaused RolloutPhase = "Paused"
	// RolloutHalted : a wave had more failures than it may.
	RolloutHalted RolloutPhase = "Halted"
	// RolloutCompleted : Revision has passed every wave and is Stable; CaughtUp says who has not got it.
	RolloutCompleted RolloutPhase = "Completed"
)

// WaveStatus is how far one wave is. Its clusters are in exactly one of Healthy, InFlight, Failed,
// Lost, Held, SetAside and Skipped, and these add up to Size.
type WaveStatus struct {
	// Name of the wave.
	// +required
	Name string `json:"name"`

	// Size is how many targets are in the wave.
	Size int32 `json:"size"`

	// Healthy is how many are healthy with the revision, or not changed by it.
	// +optional
	Healthy int32 `json:"healthy,omitempty"`

	// InFlight is how many were sent the revision and are not healthy yet.
	// +optional
	InFlight int32 `json:"inFlight,omitempty"`

	// Failed is how many failed with it, Lost how many were sent it and then fell silent.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// +optional
	Lost int32 `json:"lost,omitempty"`

	// Held is how many wait for their turn.
	// +optional
	Held int32 `json:"held,omitempty"`

	// SetAside is how many are silent or suspended and catch up later, or are about to; Skipped how many a person left out.
	// +optional
	SetAside int32 `json:"setAside,omitempty"`
	// +optional
	Skipped int32 `json:"skipped,omitempty"`

	// Soak is how long the wave must be well without a break before it has passed; absent if it need not.
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`

	// StartedAt is when the wave began, WellSince since when it is well without a break, PassedAt
	// when it had passed.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// +optional
	WellSince *metav1.Time `json:"wellSince,omitempty"`
	// +optional
	PassedAt *metav1.Time `json:"passedAt,omitempty"`
}

// RevisionStatus is a revision that is kept.
type RevisionStatus struct {
	// Number counts up from 1 and is never used twice.
	// +required
	Number int64 `json:"number"`

	// Hash is that of its content.
	// +required
	Hash string `json:"hash"`

	// CreatedAt is when it was made.
	// +optional
	CreatedAt metav1.Time `json:"createdAt,omitempty"`

	// TemplateGeneration is the generation that the template had.
	// +optional
	TemplateGeneration int64 `json:"templateGeneration,omitempty"`

	// ContentOf is the older revision that this one went back to; 0 if it was made of an edit.
	// +optional
	ContentOf int64 `json:"contentOf,omitempty"`

	// Cause says in a word why it was made: Edited, Adopted, UndoneByPerson, Aborted or RolledBack.
	// +optional
	Cause string `json:"cause,omitempty"`

	// Message says why in a sentence, where the cause does not: of what was rolled back, which
	// clusters failed.
	// +optional
	Message string `json:"message,omitempty"`

	// Passed says that it has passed every wave. One that an older hub recorded, and that was stable no
	// more when this field came, does not have it and counts as one that has not; the stable one
	// counts as passed in any case.
	// +optional
	Passed bool `json:"passed,omitempty"`
}

// Values of RevisionStatus.Cause.
const (
	// CauseEdited : the template, an override or a dependent was changed.
	CauseEdited = "Edited"
	// CauseAdopted : it is what was found when the strategy was added.
	CauseAdopted = "Adopted"
	// CauseUndone : a person went back to an older revision.
	CauseUndone = "UndoneByPerson"
	// CauseAborted : a person went back to the stable revision at once.
	CauseAborted = "Aborted"
	// CauseRolledBack : a wave failed, and the strategy says RollBack.
	CauseRolledBack = "RolledBack"
)

// ClusterGroup is targets that are to have the same revision and are alike.
type ClusterGroup struct {
	// State they are in.
	// +required
	State ClusterState `json:"state"`

	// Revision that they are to have; 0 is what they have.
	// +optional
	Revision int64 `json:"revision,omitempty"`

	// Reason why they are in that state, a word; empty if the state says it.
	// +optional
	Reason string `json:"reason,omitempty"`

	// Names of the clusters, sorted.
	// +required
	Names []string `json:"names"`
}

// ClusterState is how a target is in a rollout. Each target is in exactly one.
type ClusterState string

// Values of ClusterState.
const (
	// ClusterHeld : it waits for its turn, with what it has.
	ClusterHeld ClusterState = "Held"
	// ClusterInFlight : it was sent the revision and is not healthy yet.
	ClusterInFlight ClusterState = "InFlight"
	// ClusterHealthy : it is healthy with the revision, or not changed by it.
	ClusterHealthy ClusterState = "Healthy"
	// ClusterFailed : it was refused, or fell ill, or took too long.
	ClusterFailed ClusterState = "Failed"
	// ClusterLost : it was sent the revision and has been silent since.
	ClusterLost ClusterState = "Lost"
	// ClusterSetAside : it is silent or suspended, and was not sent the revision.
	ClusterSetAside ClusterState = "SetAside"
	// ClusterReturning : it was set aside, is heard from again, and waits for a place to catch up.
	ClusterReturning ClusterState = "Returning"
	// ClusterCatchingUp : it was set aside, and was sent what it had missed. With a reason, that failed.
	ClusterCatchingUp ClusterState = "CatchingUp"
	// ClusterSkipped : a person left it out of this revision.
	ClusterSkipped ClusterState = "Skipped"
)

// Reasons of ClusterGroups.
const (
	// ClusterReasonSilent : nothing is heard of the cluster.
	ClusterReasonSilent = "Silent"
	// ClusterReasonSilentForLong : for longer than the strategy's warnAfter.
	ClusterReasonSilentForLong = "SilentForLong"
	// ClusterReasonSuspended : a person suspended dispatching to it.
	ClusterReasonSuspended = "Suspended"
	// ClusterReasonDeadline : it was not healthy within the strategy's progressDeadline.
	ClusterReasonDeadline = "DeadlineExceeded"
	// ClusterReasonRefused : the member refused it as invalid or forbidden.
	ClusterReasonRefused = "Refused"
	// ClusterReasonUnhealthy : it was healthy with the revision, and is not any more.
	ClusterReasonUnhealthy = "Unhealthy"
	// ClusterReasonUnchanged : the revision changes nothing there.
	ClusterReasonUnchanged = "Unchanged"
	// ClusterReasonLeft : it is no target any more, and was lost, or is InFlight until its silence is believed; it still counts.
	ClusterReasonLeft = "Left"
	// ClusterReasonSettling : it is heard from again, but not for long.
	ClusterReasonSettling = "Settling"
	// ClusterReasonSlot : it waits for one of the strategy's places to catch up.
	ClusterReasonSlot = "WaitingForSlot"
	// ClusterReasonNobodyLetIn : it would catch up, or does, but its rollout lets nobody in, since it is paused or held up, or as many as
	// may catch up at a time have failed at that: it takes none of the strategy's places.
	ClusterReasonNobodyLetIn = "NobodyLetIn"
	// ClusterReasonStable : its wave has gone by, and it waits until the revision is stable.
	ClusterReasonStable = "WaitingForStable"
)

// Conditions of StagedRollouts and their reasons. Their one writer is the stage rollout of the hub.
const (
	// RolloutConditionProgressing : True while the revision goes on by itself; its message is a
	// sentence with what is waited for.
	RolloutConditionProgressing = "Progressing"
	// RolloutConditionHalted : True if a wave had more failures than it may.
	RolloutConditionHalted = "Halted"
	// RolloutConditionCaughtUp : False while clusters were left behind by a revision that has passed;
	// its message says how many and names the oldest. False as well while a target has not been
	// given that revision yet because it was only just chosen, or because all are given it at once.
	RolloutConditionCaughtUp = "CaughtUp"

	ReasonRolloutWave           = "WaveInProgress"
	ReasonRolloutSoaking        = "Soaking"
	ReasonRolloutNeedsApproval  = "WaitingForApproval"
	ReasonRolloutTooFewHeard    = "TooFewHeardFrom"
	ReasonRolloutPaused         = "Paused"
	ReasonRolloutTooManyFailed  = "TooManyFailed"
	ReasonRolloutLostOnly       = "ClustersLost"
	ReasonRolloutCompleted      = "Completed"
	ReasonRolloutStrategyAbsent = "StrategyNotFound"
	ReasonRolloutRevisionAbsent = "RevisionNotFound"
	ReasonRolloutTooLarge       = "RevisionTooLarge"
	ReasonRolloutHubSuspect     = "HubIsolated"
	ReasonRolloutClustersBehind = "ClustersBehind"
	ReasonRolloutBeingSent      = "BeingSent"
	ReasonRolloutNobodyBehind   = "NobodyBehind"
)
