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

// Record is the guard's record of the last upgrade.
type Record struct {
	Image   string                            `json:"image"`
	Attempt int64                             `json:"attempt,omitempty"`
	Phase   clusterv1alpha1.AgentUpgradePhase `json:"phase"`
	Message string                            `json:"message,omitempty"`
	// Previous is the image before the upgrade.
	Previous string `json:"previous,omitempty"`
	// Start identifies the first start of the new image. The new agent reports it once it has reached the hub.
	Start string `json:"start,omitempty"`
	// Deadline is until when the new agent may report.
	Deadline time.Time `json:"deadline,omitzero"`
	// Within is the time that it had for that.
	Within time.Duration `json:"within,omitempty"`
}

// About returns whether the record is about this image and attempt.
func (r *Record) About(image string, attempt int64) bool {
	return r != nil && r.Image == image && r.Attempt == attempt
}

// After returns whether the record has a later attempt than the request: the hub was then restored from an older
// backup and repeats what it wanted at that time.
func (r *Record) After(attempt int64) bool { return r != nil && r.Attempt > attempt }

// Input holds everything that a guard's decision depends on.
type Input struct {
	// Request is the agent's request; nil if there is none.
	Request *Request
	// Record is the record of the last upgrade; nil if there was none.
	Record *Record
	// Image is that of the agent's Deployment.
	Image string
	// Reported is the last start of the agent that the hub has heard.
	Reported string
	// Allowed are the repositories that images may come from, see Allows.
	Allowed []string
	// Trouble is why the agent's pod does not start, for people; empty if it does.
	Trouble string
	// Now is the current time.
	Now time.Time
}

// Step is the guard's next action.
type Step struct {
	// Record is the new record; nil if it does not change.
	Record *Record
	// Image and Start are written together with the record; empty if they do not change.
	Image, Start string
	// Done says that nothing is in progress.
	Done bool
}
