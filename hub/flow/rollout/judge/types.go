package judge

import (
	"time"

	"fairlead.dev/common/revision"
)

// Work is what is known of the Work of an application in one cluster. The zero value is that there
// is none.
type Work struct {
	// Exists says that there is a Work.
	Exists bool
	// Revision is what its annotation contract.RevisionAnnotation says. A Work without it that is
	// what the revision renders that was found when the strategy was added has that revision,
	// unchanged. Any other Work without it has none.
	Revision revision.ID
	// Unchanged says that its content was the same before it was given Revision, and was the stable one:
	// the revision does not concern the cluster. Its annotation contract.RevisionSinceAnnotation is from before the
	// revision was made.
	Unchanged bool
	// Report is what the agent says of it.
	Report Report
}

// Report is what an agent says of a Work. The zero value is that nothing is known.
type Report struct {
	// Current says that the report is about the generation that the Work has now: the status and
	// the condition Applied both name it. The rest is believed only then.
	Current bool
	// Applied says that every manifest was applied.
	Applied bool
	// Refused says that the member refused a manifest as invalid or forbidden, so that trying
	// again is of no use.
	Refused bool
	// Health is the worst of what the interpreter says of the manifests. Manifests of kinds
	// without health count as healthy once they are applied.
	Health Health
	// Message is what the agent says of what does not work; for people.
	Message string
}

// Health is how the objects of a Work are.
type Health string

// Values of Health.
const (
	Unknown   Health = "" // Waited for.
	Healthy   Health = "Healthy"
	Unhealthy Health = "Unhealthy"
)

// Progress is what is remembered of a cluster that is on its way, in memory only. It starts over
// when the hub does.
type Progress struct {
	// Revision that this is about, by number.
	Revision int64
	// Elapsed is how long the cluster has been heard from without being healthy since it was sent
	// the revision, up to At, which is zero if it was silent then, or the hub suspected itself.
	Elapsed time.Duration
	At      time.Time
	// UnhealthySince is since when a cluster that was healthy is not.
	UnhealthySince time.Time
	// SilentAt is since when such a one is silent without that being believed: the time in between does not count.
	SilentAt time.Time
	// RetriedAt is when a person asked for another try.
	RetriedAt time.Time
}
