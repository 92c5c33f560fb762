package rollouts

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
)

// Rollout is the progress of an application's staged rollout.
type Rollout struct {
	applications.Template
	// Binding is the name of its binding and of its StagedRollout.
	Binding string `json:"binding"`
	// Strategy is the RolloutStrategy of Revision.
	Strategy string                        `json:"strategy,omitempty"`
	Phase    fairleadv1alpha1.RolloutPhase `json:"phase,omitempty"`
	// Line is a summary in one line.
	Line string `json:"line"`
	// Revision is the newest revision; 0 if there is none yet. Stable is the last that has passed every wave.
	Revision int64 `json:"revision,omitempty"`
	Stable   int64 `json:"stable,omitempty"`
	// Paused says that a person paused it, and Immediately that Revision goes to all clusters at once.
	Paused      bool `json:"paused,omitempty"`
	Immediately bool `json:"immediately,omitempty"`
	// Done says that Revision has passed every wave, and CaughtUp that all clusters have it.
	Done     bool `json:"done"`
	CaughtUp bool `json:"caughtUp"`
	// Halted says that it stopped because clusters failed or were lost.
	Halted bool `json:"halted,omitempty"`
	// Waits is a sentence about what it waits for, and Behind one about clusters that are behind; empty if there is
	// nothing to say.
	Waits  string `json:"waits,omitempty"`
	Behind string `json:"behind,omitempty"`
	// Next lists the commands that a person can run now; empty if there are none.
	Next string `json:"next,omitempty"`
	// Wave is the present wave; empty if there is none.
	Wave  string `json:"wave,omitempty"`
	Waves []Wave `json:"waves,omitempty"`
	// Groups are clusters in the same state; those that need attention come first. Clusters that have Stable, and
	// should, are in no group.
	Groups []Group `json:"groups,omitempty"`
	// Revisions are the stored revisions, the newest first.
	Revisions []Revision `json:"revisions,omitempty"`
}

// Revision is a stored revision.
type Revision struct {
	Number int64  `json:"number"`
	Hash   string `json:"hash"`
	// Cause says in words why the revision was made.
	Cause string `json:"cause"`
	// TemplateGeneration is the metadata.generation of the template at the time.
	TemplateGeneration int64     `json:"templateGeneration,omitempty"`
	CreatedAt          time.Time `json:"createdAt"`
	// Clusters is how many clusters have it; nil if unknown.
	Clusters *int `json:"clusters,omitempty"`
}

// Of returns a rollout as people see it, given its template. It does not change the object.
func Of(ro fairleadv1alpha1.Rollout, of applications.Template, now time.Time) Rollout {
	spec, status := ro.RolloutSpec(), ro.RolloutStatus()
	out := Rollout{
		Template: of, Binding: ro.GetName(), Strategy: status.Strategy, Phase: status.Phase,
		Revision: status.Revision, Stable: status.Stable, Paused: spec.Paused, Immediately: status.Immediately,
		Wave: status.Wave, Waves: wavesOf(status), Groups: groupsOf(status), Revisions: revisionsOf(status),
	}
	out.Done = status.Phase == fairleadv1alpha1.RolloutCompleted && status.Stable == status.Revision && status.Revision > 0
	out.Halted = status.Phase == fairleadv1alpha1.RolloutHalted
	behind := meta.FindStatusCondition(status.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)
	out.CaughtUp = out.Done && (behind == nil || behind.Status != metav1.ConditionFalse)
	if behind != nil && behind.Status == metav1.ConditionFalse {
		out.Behind = behind.Message
	}
	out.Waits = waitingFor(status)
	out.Line = out.line(now)
	out.Next = next(&out, status)
	return out
}

// Named returns the application as an argument of commands: deployment/web.
func (r *Rollout) Named() string { return Named(r.Template) }

// revisionsOf returns the stored revisions, the newest first.
func revisionsOf(status *fairleadv1alpha1.StagedRolloutStatus) []Revision {
	out := make([]Revision, 0, len(status.Revisions))
	for i := len(status.Revisions) - 1; i >= 0; i-- {
		r := &status.Revisions[i]
		out = append(out, Revision{
			Number: r.Number, Hash: r.Hash, Cause: causeOf(r), TemplateGeneration: r.TemplateGeneration, CreatedAt: r.CreatedAt.Time,
		})
	}
	return out
}

// causeOf says why a revision was made.
func causeOf(r *fairleadv1alpha1.RevisionStatus) string {
	switch r.Cause {
	case fairleadv1alpha1.CauseEdited:
		return "edited"
	case fairleadv1alpha1.CauseAdopted:
		return "what ran when the strategy was set"
	case fairleadv1alpha1.CauseUndone:
		return fmt.Sprintf("undone to the content of r%d", r.ContentOf)
	case fairleadv1alpha1.CauseAborted:
		return fmt.Sprintf("aborted to the content of r%d", r.ContentOf)
	case fairleadv1alpha1.CauseRolledBack:
		return fmt.Sprintf("rolled back to the content of r%d, since clusters failed", r.ContentOf)
	default:
		return r.Cause
	}
}

// Count sets for each revision how many clusters have it, according to their Works.
func (r *Rollout) Count(have map[string]int64) {
	counts := map[int64]int{}
	for _, number := range have {
		counts[number]++
	}
	for i := range r.Revisions {
		n := counts[r.Revisions[i].Number]
		r.Revisions[i].Clusters = &n
	}
}
