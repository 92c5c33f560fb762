package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/prose"
)

// keepCondition sets the condition RollingOut of the binding. Its message has no numbers that change with each cluster; these are in the
// status of the rollout.
func (r *reconciler) keepCondition(ctx context.Context, s *scope, status *fairleadv1alpha1.StagedRolloutStatus) error {
	want := rollingOut(s.rollout, status)
	if want != nil && s.in.Frozen != nil {
		want.Message = prose.Cut(want.Message+unordered(&s.in.Frozen.Strategy, s.targets), prose.OfCondition)
	}
	return r.setCondition(ctx, s.binding, want)
}

// setCondition sets the condition of a binding, or removes it if want is nil. It writes nothing if that changes nothing.
func (r *reconciler) setCondition(ctx context.Context, shared kube.Binding, want *metav1.Condition) error {
	before := meta.FindStatusCondition(shared.BindingStatus().Conditions, workv1alpha2.BindingRollingOut)
	if before == nil && want == nil || before != nil && want != nil && before.Reason == want.Reason && before.Message == want.Message {
		return nil
	}
	b, ok := shared.DeepCopyObject().(kube.Binding)
	if !ok {
		return fmt.Errorf("copying %q: it is no binding", shared.GetName())
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	if want == nil {
		meta.RemoveStatusCondition(&b.BindingStatus().Conditions, workv1alpha2.BindingRollingOut)
	} else {
		want.ObservedGeneration = b.GetGeneration()
		meta.SetStatusCondition(&b.BindingStatus().Conditions, *want)
	}
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerRollout); err != nil {
		return fmt.Errorf("saying on %q how its rollout is: %w", b.GetName(), err)
	}
	return nil
}

// unordered returns sentences about waves that are ordered by a label that no target has; empty if there are none.
func unordered(strategy *fairleadv1alpha1.RolloutStrategySpec, targets []*clusterv1alpha1.Cluster) string {
	var out strings.Builder
	for i := range strategy.Waves {
		w := &strategy.Waves[i]
		has := func(c *clusterv1alpha1.Cluster) bool {
			_, ok := c.Labels[w.OrderByLabel]
			return ok
		}
		if w.OrderByLabel != "" && len(targets) > 0 && !slices.ContainsFunc(targets, has) {
			_, _ = fmt.Fprintf(&out, " None of the clusters has the label %s, which orders wave %s; label them, or change the strategy.", w.OrderByLabel, w.Name)
		}
	}
	return out.String()
}

// rollingOut returns the condition RollingOut; nil if the newest revision has passed every wave.
func rollingOut(rollout kube.Rollout, status *fairleadv1alpha1.StagedRolloutStatus) *metav1.Condition {
	out := &metav1.Condition{Type: workv1alpha2.BindingRollingOut, Status: metav1.ConditionTrue}
	progressing := meta.FindStatusCondition(status.Conditions, fairleadv1alpha1.RolloutConditionProgressing)
	if held := heldUp(progressing); held != nil {
		out.Reason, out.Message = held.Reason, held.Message
		return out
	}
	if status.Phase == fairleadv1alpha1.RolloutCompleted || status.Phase == "" {
		return nil
	}
	out.Reason = string(status.Phase)
	where := "to no cluster yet"
	if at := waveNumber(status); at > 0 {
		where = fmt.Sprintf("wave %s (%d of %d)", status.Wave, at, len(status.Waves))
	}
	what := map[fairleadv1alpha1.RolloutPhase]string{
		fairleadv1alpha1.RolloutProgressing: "is on its way",
		fairleadv1alpha1.RolloutSoaking:     "is healthy so far, and its soak is not over yet",
		fairleadv1alpha1.RolloutWaiting:     "waits",
		fairleadv1alpha1.RolloutPaused:      "was paused by somebody",
		fairleadv1alpha1.RolloutHalted:      "was halted, because too many clusters failed",
	}[status.Phase]
	out.Message = fmt.Sprintf("Revision %d %s: %s. See hub rollout status for what it waits for, %s %q.", status.Revision, what, where, kindName(rollout), rollout.GetName())
	return out
}

// heldUp returns the condition if it names what somebody has to mend before anything is sent.
func heldUp(progressing *metav1.Condition) *metav1.Condition {
	if progressing == nil {
		return nil
	}
	switch progressing.Reason {
	case fairleadv1alpha1.ReasonRolloutStrategyAbsent, fairleadv1alpha1.ReasonRolloutRevisionAbsent, fairleadv1alpha1.ReasonRolloutTooLarge, workv1alpha2.ReasonEditNotSeen:
		return progressing
	}
	return nil
}

func waveNumber(status *fairleadv1alpha1.StagedRolloutStatus) int {
	for i := range status.Waves {
		if status.Waves[i].Name == status.Wave {
			return i + 1
		}
	}
	return 0
}

func kindName(rollout kube.Rollout) string { return kube.RolloutsIn(rollout.GetNamespace()).Kind }
