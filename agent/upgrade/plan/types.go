package plan

import (
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// Request is the upgrade that an agent asks its guard for.
type Request struct {
	Image        string        `json:"image"`
	Attempt      int64         `json:"attempt,omitempty"`
	ReportWithin time.Duration `json:"reportWithin"`
}

// Record is the guard's memory of the last upgrade.
type Record struct {
	Image   string                            `json:"image"`
	Attempt int64                             `json:"attempt,omitempty"`
	Phase   clusterv1alpha1.AgentUpgradePhase `json:"phase"`
	Message string                            `json:"message,omitempty"`
	// Previous is the image before.
	Previous string `json:"previous,omitempty"`
	// Start identifies the first start of the new image. The new agent reports it once it has reached the hub.
	Start string `json:"start,omitempty"`
	// Deadline is until when it may.
	Deadline time.Time `json:"deadline,omitzero"`
	// Within is how long that was.
	Within time.Duration `json:"within,omitempty"`
}

// About says whether a record is about what is wanted.
func (r *Record) About(image string, attempt int64) bool {
	return r != nil && r.Image == image && r.Attempt == attempt
}

// After says whether a record is of a later attempt than what is wanted: the hub was restored from a backup of before that, and wants what it
// wanted then.
func (r *Record) After(attempt int64) bool { return r != nil && r.Attempt > attempt }

// Input holds everything that a guard's decision depends on.
type Input struct {
	// Request is the agent's request; nil if there is none.
	Request *Request
	// Record is the memory of the last upgrade; nil if there was none.
	Record *Record
	// Image is that of the agent's Deployment.
	Image string
	// Reported is the last start of the agent that the hub has heard.
	Reported string
	// Allowed are the repositories from which images may come, see Allows.
	Allowed []string
	// Trouble says, for people, why the agent's pod does not start; empty if it does.
	Trouble string
	// Now is the current time.
	Now time.Time
}

// Step is the next action of a guard.
type Step struct {
	// Record is to be written; nil if it stays.
	Record *Record
	// Image and Start are to be written along with it; empty if they stay.
	Image, Start string
	// Done says that there is nothing to watch.
	Done bool
}
