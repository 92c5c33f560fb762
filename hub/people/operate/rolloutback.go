package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Undo returns to the content of an older revision, in waves or immediately; to the previous one if the revision is 0.
// It returns the target.
func (r Rollout) Undo(ctx context.Context, to int64, immediately bool) (fairleadv1alpha1.RolloutTarget, error) {
	var target fairleadv1alpha1.RolloutTarget
	_, err := r.edit(ctx, "undoing", func(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus) error {
		number, err := OlderRevision(status, to)
		if err != nil {
			return err
		}
		target = fairleadv1alpha1.RolloutTarget{Revision: number, Over: status.Revision, Immediately: immediately}
		spec.Target = &target
		return nil
	})
	return target, err
}

// OlderRevision returns the revision to return to: the given one, or, for 0, the last one with different content, which
// is the stable one while another is being rolled out. If the newest revision reverted another one, the last different
// content is the one that failed: then the person must name a revision.
func OlderRevision(status *fairleadv1alpha1.StagedRolloutStatus, to int64) (int64, error) {
	hashes := map[int64]string{}
	var kept []string
	for _, one := range status.Revisions {
		hashes[one.Number] = one.Hash
		kept = append(kept, fmt.Sprint(one.Number))
	}
	newest := newestOf(status)
	atStable := hashes[status.Stable] == newest.Hash
	switch {
	case to == 0 && isReversal(newest.Cause, status.Stable < status.Revision && atStable):
		return 0, refuse("r%d already goes back to the content of r%d; to go to another revision, name it with --to-revision", newest.Number, newest.ContentOf)
	case to == 0 && status.Stable > 0 && status.Stable < status.Revision && !atStable:
		return status.Stable, nil
	case to == 0:
		if number := lastDifferent(status, newest.Hash); number > 0 {
			return number, nil
		}
		return 0, refuse("there is no older revision to go back to")
	case to == status.Revision:
		return 0, refuse("r%d is already the newest", to)
	case hashes[to] == "":
		return 0, refuse("r%d is not kept; the kept revisions are %s", to, strings.Join(kept, ", "))
	case hashes[to] == newest.Hash:
		return 0, refuse("r%d already has the content of r%d", status.Revision, to)
	default:
		return to, nil
	}
}

// lastDifferent returns the last revision whose content differs from the newest, which has the given hash; 0 if none is
// stored. Revisions that were rolled back or aborted are skipped: after that an author often restores the older content
// in the template, which makes a new revision.
func lastDifferent(status *fairleadv1alpha1.StagedRolloutStatus, hash string) int64 {
	before := status.Revision
	for _, one := range slices.Backward(status.Revisions) {
		switch {
		case one.Number >= before:
		case one.Hash != hash:
			return one.Number
		case isReversal(one.Cause, false):
			before = one.ContentOf
		}
	}
	return 0
}

// isReversal says whether a revision with this cause reverted one that had not passed every wave. For an undo by a
// person that is known only while the stable content is being rolled out again: later, the reverted one may have been
// stable, and the undo may itself be undone.
func isReversal(cause string, stableOnItsWay bool) bool {
	switch cause {
	case fairleadv1alpha1.CauseRolledBack, fairleadv1alpha1.CauseAborted:
		return true
	case fairleadv1alpha1.CauseUndone:
		return stableOnItsWay
	default:
		return false
	}
}

// Abort reverts the newest revision at once wherever it was sent, to the stable one, which it returns.
func (r Rollout) Abort(ctx context.Context) (fairleadv1alpha1.RolloutTarget, error) {
	var target fairleadv1alpha1.RolloutTarget
	_, err := r.edit(ctx, "aborting", func(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus) error {
		var err error
		target, err = abortIn(spec, status)
		return err
	})
	return target, err
}

func abortIn(spec *fairleadv1alpha1.StagedRolloutSpec, status *fairleadv1alpha1.StagedRolloutStatus) (fairleadv1alpha1.RolloutTarget, error) {
	newest := newestOf(status)
	switch {
	case status.Stable == 0:
		return fairleadv1alpha1.RolloutTarget{}, refuse("no revision is stable yet, so there is nothing to go back to; pause the rollout, or correct the template")
	case status.Stable == status.Revision && isReversal(newest.Cause, false):
		return fairleadv1alpha1.RolloutTarget{}, refuse("r%d already goes back to the content of r%d, so there is nothing to abort", newest.Number, newest.ContentOf)
	case status.Stable == status.Revision:
		return fairleadv1alpha1.RolloutTarget{},
			refuse("r%d has passed every wave, so there is nothing to abort; undo goes back to the revision before", status.Revision)
	}
	spec.Target = &fairleadv1alpha1.RolloutTarget{Revision: status.Stable, Over: status.Revision, Immediately: true}
	return *spec.Target, nil
}

// newestOf returns the status of the newest revision.
func newestOf(status *fairleadv1alpha1.StagedRolloutStatus) fairleadv1alpha1.RevisionStatus {
	for _, one := range status.Revisions {
		if one.Number == status.Revision {
			return one
		}
	}
	return fairleadv1alpha1.RevisionStatus{}
}
