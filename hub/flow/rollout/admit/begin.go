package admit

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/plan"
)

// Made is a revision whose content has been written.
type Made struct {
	Cut
	// Hash is the hash of its content.
	Hash string
	// TemplateGeneration is the generation of the template.
	TemplateGeneration int64
	// Strategy is the name of the strategy that was frozen with it.
	Strategy string
	// At is when it was made.
	At time.Time
}

// Begin returns the initial status of a new revision with the strategy that was frozen with it: no cluster has been sent it, and clusters
// keep the revision before until it is their turn. The caller passes it to Decide, and writes what that returns.
func Begin(status fairleadv1alpha1.StagedRolloutStatus, made Made, strategy fairleadv1alpha1.RolloutStrategySpec) fairleadv1alpha1.StagedRolloutStatus {
	made.Cut = gated(made.Cut, &status, strategy)
	out := *status.DeepCopy()
	out.Strategy, out.Revision, out.Immediately = made.Strategy, made.Number, made.Immediately
	out.Revisions = append(out.Revisions, fairleadv1alpha1.RevisionStatus{
		Number: made.Number, Hash: made.Hash, CreatedAt: metav1.NewTime(made.At.Truncate(time.Second)),
		TemplateGeneration: made.TemplateGeneration, ContentOf: made.ContentOf, Cause: made.Cause, Message: made.Message,
	})
	out.Phase, out.Wave, out.Waves, out.Retried = "", "", nil, nil
	meta.RemoveStatusCondition(&out.Conditions, fairleadv1alpha1.RolloutConditionHalted)
	for i := range out.Clusters {
		group := &out.Clusters[i]
		switch group.State {
		case fairleadv1alpha1.ClusterSetAside, fairleadv1alpha1.ClusterReturning, fairleadv1alpha1.ClusterCatchingUp:
			continue // they keep waiting, or catching up
		default:
		}
		if group.Revision != status.Stable {
			group.Revision = 0
		}
		group.State, group.Reason = fairleadv1alpha1.ClusterHeld, ""
	}
	return out
}

// gated drops Immediately from a revision whose content never passed every wave, if its strategy asks for approvals. Otherwise the right to
// edit a template would include approving: every edit is stored as a revision, and a rollback to it would reach all clusters at once.
func gated(c Cut, status *fairleadv1alpha1.StagedRolloutStatus, strategy fairleadv1alpha1.RolloutStrategySpec) Cut {
	if !c.Immediately || hasPassed(status, c.ContentOf) || !plan.AsksApproval(strategy) {
		return c
	}
	c.Immediately = false
	c.Message += fmt.Sprintf(" It goes out in waves, although all clusters at once were requested: the strategy asks for approvals, and revision %d is not known to have passed every wave.", c.ContentOf)
	return c
}

// hasPassed returns whether a revision is known to have passed every wave. Of revisions recorded by older versions, only the stable one is.
func hasPassed(status *fairleadv1alpha1.StagedRolloutStatus, number int64) bool {
	return slices.ContainsFunc(status.Revisions, func(one fairleadv1alpha1.RevisionStatus) bool {
		return one.Number == number && (one.Passed || number == status.Stable)
	})
}
