package rollouts

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
)

// Rollout is how far the changes of one application have reached its clusters.
type Rollout struct {
	applications.Template
	// Binding is the name of its binding, which is that of its StagedRollout.
	Binding string `json:"binding"`
	// Strategy is the RolloutStrategy that Revision goes by.
	Strategy string                        `json:"strategy,omitempty"`
	Phase    fairleadv1alpha1.RolloutPhase `json:"phase,omitempty"`
	// Line sums it up in one line.
	Line string `json:"line"`
	// Revision is the newest; 0 if there is none yet. Stable is the last that has passed every wave.
	Revision int64 `json:"revision,omitempty"`
	Stable   int64 `json:"stable,omitempty"`
	// Paused says that a person paused it, Immediately that Revision goes to all clusters at once.
	Paused      bool `json:"paused,omitempty"`
	Immediately bool `json:"immediately,omitempty"`
	// Done says that Revision has passed every wave, CaughtUp that nobody is behind it either.
	Done     bool `json:"done"`
	CaughtUp bool `json:"caughtUp"`
	// Halted says that it goes on no further by itself because clusters failed or were lost.
	Halted bool `json:"halted,omitempty"`
	// Waits is a sentence about what is waited for, Behind one about who is behind; empty if that
	// is nothing and nobody.
	Waits  string `json:"waits,omitempty"`
	Behind string `json:"behind,omitempty"`
	// Next names the commands that a person can run now; empty if there are none.
	Next string `json:"next,omitempty"`
	// Wave is the wave that is going on; empty if none is.
	Wave  string `json:"wave,omitempty"`
	Waves []Wave `json:"waves,omitempty"`
	// Groups are clusters that are alike, those first that somebody should look at. Clusters that
	// are at Stable, and are to be, are in none.
	Groups []Group `json:"groups,omitempty"`
	// Revisions are the revisions that are kept, the newest first.
	Revisions []Revision `json:"revisions,omitempty"`
}

// Revision is one that is kept.
type Revision struct {
	Number int64  `json:"number"`
	Hash   string `json:"hash"`
	// Cause says why there is this revision, in words.
	Cause string `json:"cause"`
	// TemplateGeneration is the metadata.generation of the template at the time.
	TemplateGeneration int64     `json:"templateGeneration,omitempty"`
	CreatedAt          time.Time `json:"createdAt"`
	// Clusters is how many have it; nil if that is not known.
	Clusters *int `json:"clusters,omitempty"`
}

// Of returns what is to be shown of a rollout, whose template is given. It is not changed.
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

// Named is how people write the application in commands: deployment/web.
func (r *Rollout) Named() string { return Named(r.Template) }

// revisionsOf returns what is kept, the newest first.
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
		return "what ran when the strategy was given"
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

// Count counts for each revision the clusters that have it, by what their Works say.
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
