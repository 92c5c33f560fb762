package judge

import (
	"time"

	"fairlead.dev/common/revision"
)

// Work is the state of an application's Work in one cluster. The zero value means that there is none.
type Work struct {
	// Exists says that there is a Work.
	Exists bool
	// Revision is the value of its annotation contract.RevisionAnnotation. A Work without the annotation has the revision that was found
	// when the strategy was added, unchanged, if it equals what that renders; otherwise it has none.
	Revision revision.ID
	// Unchanged says that the Work already had this content, as that of the stable revision, before it was given Revision, so that the
	// revision does not affect the cluster: the annotation contract.RevisionSinceAnnotation is from before the revision was made.
	Unchanged bool
	// Report is the agent's report on it.
	Report Report
}

// Report is an agent's report on a Work. The zero value means that nothing is known.
type Report struct {
	// Current says that the report is about the current generation of the Work: both the status and the condition Applied name it. The
	// other fields are believed only then.
	Current bool
	// Applied says that every manifest was applied.
	Applied bool
	// Refused says that the member rejected a manifest as invalid or forbidden, so that retrying is useless.
	Refused bool
	// Health is the worst health of the manifests, by the interpreter. Manifests of kinds without health count as healthy once they are
	// applied.
	Health Health
	// Message is the agent's error message, for people.
	Message string
}

// Health is the health of the objects of a Work.
type Health string

// Values of Health.
const (
	Unknown   Health = "" // not reported yet
	Healthy   Health = "Healthy"
	Unhealthy Health = "Unhealthy"
)

// Progress is the in-memory state of a cluster that was sent a revision. It starts over when the hub does.
type Progress struct {
	// Revision is the number of the revision that this is about.
	Revision int64
	// Elapsed is how long the cluster has been heard from without being healthy since it was sent the revision, up to At. At is zero if the
	// cluster was silent then, or the hub suspected its own network.
	Elapsed time.Duration
	At      time.Time
	// UnhealthySince is since when a cluster that was healthy is unhealthy.
	UnhealthySince time.Time
	// SilentAt is since when such a cluster is silent without its silence being believed: the time since then does not count.
	SilentAt time.Time
	// RetriedAt is when a person requested a retry.
	RetriedAt time.Time
}
