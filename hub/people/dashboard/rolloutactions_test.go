package dashboard

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/rollouts"
)

func TestUndoIsOfferedWhereItHasAnEffect(t *testing.T) {
	t.Parallel()
	kept := func(cause string, hashes ...string) *fairleadv1alpha1.StagedRollout {
		ro := &fairleadv1alpha1.StagedRollout{}
		for i, hash := range hashes {
			ro.Status.Revisions = append(ro.Status.Revisions, fairleadv1alpha1.RevisionStatus{Number: int64(i + 1), Hash: hash})
		}
		newest := &ro.Status.Revisions[len(hashes)-1]
		newest.Cause, newest.ContentOf = cause, 1
		ro.Status.Revision, ro.Status.Stable, ro.Status.Phase = newest.Number, newest.Number, fairleadv1alpha1.RolloutCompleted
		return ro
	}
	undo := HaveField("Text", "Undo")
	for name, c := range map[string]struct {
		ro      *fairleadv1alpha1.StagedRollout
		offered bool
	}{
		"after an edit":             {kept(fairleadv1alpha1.CauseEdited, "a", "b"), true},
		"after somebody undid":      {kept(fairleadv1alpha1.CauseUndone, "a", "b", "a"), true},
		"after a rollback":          {kept(fairleadv1alpha1.CauseRolledBack, "a", "b", "a"), false},
		"after an abort":            {kept(fairleadv1alpha1.CauseAborted, "a", "b", "a"), false},
		"of the first":              {kept(fairleadv1alpha1.CauseEdited, "a"), false},
		"while all are of the same": {kept(fairleadv1alpha1.CauseEdited, "a", "a"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rollouts.Of(c.ro, applications.Template{}, time.Now())
			offers := ContainElement(undo)
			if !c.offered {
				offers = Not(offers)
			}
			NewWithT(t).Expect(rolloutActions(&r, &c.ro.Status, true)).To(offers)
		})
	}
}
