package admit

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// Input is all that is known of one rollout.
type Input struct {
	// Now is the time of the hub.
	Now time.Time
	// Generation and Spec are what people say.
	Generation int64
	Spec       fairleadv1alpha1.StagedRolloutSpec
	// Status is what was last written; the zero value if nothing was.
	Status fairleadv1alpha1.StagedRolloutStatus
	// Frozen is what is kept with the newest revision, Status.Revision. Nil if there is none yet,
	// or if it cannot be read: then nothing is sent.
	Frozen *Frozen
	// Live is the content as it is now; nil if it cannot be read, is too large, or the strategy is
	// gone: then no revision is made of it.
	Live *Live
	// Clusters are the targets, and those that are left and still have a Work, or are named by Status.
	Clusters []Cluster
	// Slots are the clusters that may catch up, as package catchup says of all rollouts of the
	// strategy.
	Slots sets.Set[string]
	// HubSuspect says that the hub suspects its own network: nobody is sent anything, deadlines
	// stand still, and nobody counts as lost.
	HubSuspect bool
	// Began is since when this process follows the clusters, without having been stopped, and Heard from when on each of them has reported since then or is known
	// to be silent: what is known before that may be from before the process, in whose absence a soak proves nothing.
	Began, Heard time.Time
	// Hold, if set, is why nobody may be sent anything new, which only the caller knows: the strategy is
	// gone, or the content of a revision cannot be read. A person may go back all the same.
	Hold *Reason
	// Memory is what the last Decision returned, or the zero value after a start.
	Memory Memory
}

// Frozen is what is kept with a revision.
type Frozen struct {
	// Strategy as it was when the revision was made. What it leaves out has its default.
	Strategy fairleadv1alpha1.RolloutStrategySpec
	// Waves as plan.Waves returned them.
	Waves []revision.Wave
}

// Live is the content of the template, its overrides and dependents as they are now.
type Live struct {
	// Hash of the content.
	Hash string
	// Edited says that it is not the content of the newest revision that was made of an edit or
	// of what was found, with both hashed by the rules of now; true if there is no such revision.
	Edited bool
	// Settle is how long the strategy waits for further edits, and Since from when on: from now on if it is zero.
	Settle time.Duration
	Since  time.Time
}

// Cluster is one cluster that has to do with the rollout.
type Cluster struct {
	// Cluster is the object; of one that is no more only the name is set.
	Cluster *clusterv1alpha1.Cluster
	// Target says that the application is to run there. Others were left.
	Target bool
	// SilentSince is since when nothing is heard; zero if it is heard from.
	SilentSince time.Time
	// HeardSince is since when it is heard from; zero if it always was.
	HeardSince time.Time
	// Gone says that there is no such Cluster any more, though the binding names it.
	Gone bool
	// Unconfirmed says that its silence is not believed yet: it fell silent with most others, or Early.
	Unconfirmed bool
	// Early says that it is silent, but not for as long as it takes to give it up: its line was lost a moment ago, or the hub
	// has only just started. Nobody takes that for proof of anything, and clocks stand still.
	Early bool
	// Suspended says that nothing is dispatched to it by the will of a person.
	Suspended bool
	// Work is what it has.
	Work judge.Work
}

// Reason is a reason of a condition with its sentence.
type Reason struct {
	Reason, Message string
}

// Memory is what a Decision needs to know again, and may forget: it is in memory only. A hub that
// starts gives everybody their time anew.
type Memory struct {
	// LiveHash is the content seen last, LiveSince since when, and EditedSince since when it is
	// not the newest revision.
	LiveHash               string
	LiveSince, EditedSince time.Time
	// Soak is what is known of the soak of the wave that goes on.
	Soak Soak
	// Progress is that of clusters that are on their way, by name.
	Progress map[string]judge.Progress
}

// Soak is what is remembered of a soak that stood still while nothing was heard of clusters that are to prove something.
type Soak struct {
	// Wave is its name.
	Wave string
	// Still is since when it stands still; zero if it does not.
	Still time.Time
	// WellSince is when the soak would have begun had it not stood still; the status may not say so yet.
	WellSince time.Time
}

// Decision is what is to be done. If Cut is set, only Status and Memory are, beside it.
type Decision struct {
	// Cut, if set, is a revision that is to be made: the caller writes its content, and decides
	// again, from what Begin makes of Status and from what was frozen. That decision has no Cut, and
	// one write of the status carries both.
	Cut *Cut
	// Status is to be written if it differs from the one that was given. It is complete, with
	// conditions.
	Status fairleadv1alpha1.StagedRolloutStatus
	// Urgent says that a difference is not to wait for others: a person or a gate is behind it.
	Urgent bool
	// Events are to be emitted once Status is written.
	Events []Event
	// Forget are the numbers of revisions whose content may be deleted once Status is written,
	// which does not have them any more.
	Forget []int64
	// OldestSetAside is since when the cluster is silent that was set aside the longest ago; zero
	// if none is.
	OldestSetAside time.Time
	// Memory is to be passed to the next decision, whether or not Status could be written.
	Memory Memory
	// RetryAfter is when to decide again if nothing happens; 0 is that time changes nothing.
	RetryAfter time.Duration
}

// Cut is a revision that is to be made.
type Cut struct {
	// Number it is to have.
	Number int64
	// ContentOf is the revision whose content it has; 0 is the live content.
	ContentOf int64
	// Cause is one of the values of RevisionStatus.Cause.
	Cause string
	// Immediately says that it is to go to all clusters at once; Begin says whether it does.
	Immediately bool
	// Message says why in a sentence, if the cause does not.
	Message string
}

// Event is something that happened, for people; Warning if somebody is to look.
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
