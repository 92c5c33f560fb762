package admit

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// Input is the state of one rollout.
type Input struct {
	// Now is the current time.
	Now time.Time
	// Generation and Spec are those of the StagedRollout.
	Generation int64
	Spec       fairleadv1alpha1.StagedRolloutSpec
	// Status is the status that was last written; the zero value if none was.
	Status fairleadv1alpha1.StagedRolloutStatus
	// Frozen is what was stored with the newest revision, Status.Revision; nil if there is none yet or it cannot be read. Nothing is sent
	// then.
	Frozen *Frozen
	// Live is the current content; nil if it cannot be read, is too large, or the strategy does not exist. No revision is made of it then.
	Live *Live
	// Clusters are the targets, and former targets that still have a Work or are in Status.
	Clusters []Cluster
	// Slots are the clusters that may catch up, by package catchup over all rollouts of the strategy.
	Slots sets.Set[string]
	// HubSuspect says that the hub suspects its own network: nothing is sent, deadlines stand still, and no cluster counts as lost.
	HubSuspect bool
	// Began is since when this process has watched the clusters without interruption. Heard is when each of them will have reported since
	// then, or is known to be silent: earlier reports may be from before the process, and a soak without a hub proves nothing.
	Began, Heard time.Time
	// Hold, if set, is why nothing new may be sent, which only the caller knows: the strategy does not exist, or the content of a revision
	// cannot be read. A person may roll back nevertheless.
	Hold *Reason
	// Unseen says why no revision is made of an edit yet, if that has lasted long; empty otherwise. The current rollout proceeds.
	Unseen string
	// Memory is what the last Decision returned, or the zero value after a start.
	Memory Memory
}

// Frozen is what is stored with a revision.
type Frozen struct {
	// Strategy is the strategy as it was when the revision was made. Unset fields have their defaults.
	Strategy fairleadv1alpha1.RolloutStrategySpec
	// Waves is the result of plan.Waves.
	Waves []revision.Wave
}

// Live is the current content of the template, its overrides and dependencies.
type Live struct {
	// Hash is the hash of the content.
	Hash string
	// Edited says that the content differs from that of the newest revision made of an edit or of what was found, with both hashed by the
	// current rules; true if there is no such revision.
	Edited bool
	// Settle is how long the strategy waits for further edits, and Since from when on; zero means from now on.
	Settle time.Duration
	Since  time.Time
}

// Cluster is a cluster that is or was part of the rollout.
type Cluster struct {
	// Cluster is the object; only the name is set if it was deleted.
	Cluster *clusterv1alpha1.Cluster
	// Target says that the cluster is a target of the application. Others are former targets.
	Target bool
	// SilentSince is since when the cluster is silent; zero if it is not.
	SilentSince time.Time
	// HeardSince is since when it is heard from; zero if it always was.
	HeardSince time.Time
	// Gone says that the Cluster was deleted, although the binding names it.
	Gone bool
	// Unconfirmed says that its silence is not believed yet: it fell silent together with most others, or Early is set.
	Unconfirmed bool
	// Early says that it has been silent for less time than it takes to give it up: its line was just lost, or the hub has just started.
	// That proves nothing, and clocks stand still.
	Early bool
	// Suspended says that a person suspended dispatching to it.
	Suspended bool
	// Work is its Work.
	Work judge.Work
}

// Reason is the reason of a condition with its message.
type Reason struct {
	Reason, Message string
}

// Memory is state that decisions pass on in memory only. A hub that starts without it restarts all waits.
type Memory struct {
	// LiveHash is the last seen content, LiveSince since when it is that, and EditedSince since when it differs from the newest revision.
	LiveHash               string
	LiveSince, EditedSince time.Time
	// Soak is the state of the current wave's soak.
	Soak Soak
	// Progress is the progress of clusters that were sent a revision, by name.
	Progress map[string]judge.Progress
}

// Soak is the state of a soak that is paused while clusters of its wave are not heard from.
type Soak struct {
	// Wave is the name of the wave.
	Wave string
	// Still is since when the soak is paused; zero if it is not.
	Still time.Time
	// WellSince is the start of the soak, shifted by its pauses; the status may not have it yet.
	WellSince time.Time
}

// Decision is the result of Decide. If Cut is set, only Status and Memory are set besides.
type Decision struct {
	// Cut, if set, is a revision to make: the caller stores its content, and decides again with the result of Begin and what was frozen.
	// That decision has no Cut, and one write of the status covers both.
	Cut *Cut
	// Status must be written if it differs from Input.Status. It is complete, including conditions.
	Status fairleadv1alpha1.StagedRolloutStatus
	// Urgent says that Status must be written at once: a person, a gate or a failure changed it.
	Urgent bool
	// Events must be emitted once Status is written.
	Events []Event
	// Forget are the numbers of revisions whose content may be deleted once Status, which does not name them any more, is written.
	Forget []int64
	// OldestSetAside is since when the longest set aside cluster has been silent; zero if there is none.
	OldestSetAside time.Time
	// Memory must be passed to the next decision, whether or not Status was written.
	Memory Memory
	// RetryAfter is after how long to decide again if nothing happens; 0 means never.
	RetryAfter time.Duration
}

// Cut is a revision to make.
type Cut struct {
	// Number is its number.
	Number int64
	// ContentOf is the revision whose content it has; 0 means the live content.
	ContentOf int64
	// Cause is one of the values of RevisionStatus.Cause.
	Cause string
	// Immediately requests that it goes to all clusters at once; Begin decides whether it does.
	Immediately bool
	// Message says why, if the cause does not.
	Message string
}

// Event is an event for people; a Warning needs attention.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Reasons of events.
const (
	EventRevisionCut        = "RevisionCut"
	EventWaveStarted        = "WaveStarted"
	EventWavePassed         = "WavePassed"
	EventWaitingForApproval = "WaitingForApproval"
	EventHalted             = "Halted"
	EventRolledBack         = "RolledBack"
	EventSetAside           = "SetAside"
	EventCaughtUp           = "CaughtUp"
	EventLongSilent         = "SilentForLong"
)
