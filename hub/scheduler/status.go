package scheduler

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/scheduler/decide"
)

// successMessage is what the condition says when clusters were found.
const successMessage = "Binding has been scheduled successfully."

// change is what a decision changed for people.
type change struct {
	// targets says that the clusters or their shares are others than before.
	targets bool
	// verdict says that the condition is: it became true or false, or is false for
	// another reason.
	verdict bool
}

// record sets on a binding what a decision says, and returns what that changed.
func record(b kube.Binding, d decide.Decision, now metav1.Time) change {
	spec, status := b.BindingSpec(), b.BindingStatus()
	// What the status says is about the binding as it will be: whoever changes the
	// targets changes the generation, by one.
	generation := b.GetGeneration()
	c := change{}
	placed := false
	if d.Outcome == decide.Scheduled || d.Outcome == decide.NoClusterFit {
		if !sameTargets(spec.Clusters, d.Targets) {
			spec.Clusters = d.Targets
			generation++
			c.targets = true
		}
		placed = setAppliedPlacement(b, d.Placement)
	}
	c.verdict = setScheduled(&status.Conditions, condition(d, generation, now))
	if d.Outcome == decide.Scheduled || d.Outcome == decide.Keep {
		status.SchedulerObservedGeneration = generation
		status.SchedulerObservedAffinityName = affinityName(spec, d)
		if c.targets || c.verdict || placed || d.Trigger == decide.TriggerRequested || status.LastScheduledTime == nil {
			status.LastScheduledTime = &now
		}
	}
	return c
}

// affinityName returns the group in use, none once the placement has no groups.
func affinityName(spec *workv1alpha2.ResourceBindingSpec, d decide.Decision) string {
	if spec.Placement == nil || len(spec.Placement.ClusterAffinities) == 0 {
		return ""
	}
	return d.Affinity
}

func condition(d decide.Decision, generation int64, now metav1.Time) metav1.Condition {
	c := metav1.Condition{
		Type:               workv1alpha2.BindingScheduled,
		Status:             metav1.ConditionFalse,
		ObservedGeneration: generation,
		LastTransitionTime: now,
		Message:            d.Message,
	}
	switch d.Outcome {
	case decide.NoClusterFit:
		c.Reason = workv1alpha2.ReasonNoClusterFit
	case decide.Unschedulable:
		c.Reason = workv1alpha2.ReasonUnschedulable
	case decide.Refused:
		c.Reason = workv1alpha2.ReasonSchedulerError
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, workv1alpha2.ReasonScheduledSuccess, successMessage
	}
	return c
}

// setScheduled sets the condition and says whether it tells something new.
func setScheduled(conditions *[]metav1.Condition, c metav1.Condition) bool {
	before := meta.FindStatusCondition(*conditions, c.Type)
	news := before == nil || before.Status != c.Status || before.Reason != c.Reason || before.Message != c.Message
	meta.SetStatusCondition(conditions, c)
	return news
}

// setAppliedPlacement records the placement that was used and says whether that is
// new.
func setAppliedPlacement(b kube.Binding, placement string) bool {
	annotations := b.GetAnnotations()
	if annotations[contract.AppliedPlacementAnnotation] == placement {
		return false
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.AppliedPlacementAnnotation] = placement
	b.SetAnnotations(annotations)
	return true
}

// sameTargets compares targets in any order; those of a decision are sorted by name.
func sameTargets(have, want []workv1alpha2.TargetCluster) bool {
	if len(have) != len(want) {
		return false
	}
	byName := slices.SortedFunc(slices.Values(have), func(a, b workv1alpha2.TargetCluster) int {
		return strings.Compare(a.Name, b.Name)
	})
	return equality.Semantic.DeepEqual(byName, want)
}
