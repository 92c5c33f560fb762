package admit

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
)

// Made is a revision whose content has been written.
type Made struct {
	Cut
	// Hash of its content.
	Hash string
	// TemplateGeneration that the template had.
	TemplateGeneration int64
	// Strategy is the name of the one that was frozen.
	Strategy string
	// At is when it was made.
	At time.Time
}

// Begin returns the status with which a revision begins that was made: nobody has been sent it.
// Clusters that were sent the one before keep it until it is their turn. It is to be passed to
// Decide, and what Decide returns is to be written.
func Begin(status fairleadv1alpha1.StagedRolloutStatus, made Made) fairleadv1alpha1.StagedRolloutStatus {
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
			continue // They go on waiting, or with what they were sent.
		default:
		}
		if group.Revision != status.Stable {
			group.Revision = 0
		}
		group.State, group.Reason = fairleadv1alpha1.ClusterHeld, ""
	}
	return out
}
