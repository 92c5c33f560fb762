package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/evictions"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// successMessage is the condition's message when clusters were found.
const successMessage = "Binding has been scheduled successfully."

// change says what a decision changed.
type change struct {
	// targets says that the clusters or their replicas changed.
	targets bool
	// verdict says that the condition changed: it became true or false, or is false for another reason.
	verdict bool
	// first says that the binding had no decision before.
	first bool
	// routine says that the status is not urgent: a new binding got clusters, or a changed one keeps them.
	routine bool
}

// record sets a decision on a binding, and returns what that changed.
func record(b kube.Binding, d decide.Decision, now metav1.Time) (change, error) {
	spec, status := b.BindingSpec(), b.BindingStatus()
	// The status names the generation after the write: a change of the targets increments it by one.
	generation := b.GetGeneration()
	if before := b.GetAnnotations()[contract.AppliedPlacementAnnotation]; before != "" {
		setAnnotation(b, contract.AppliedPlacementAnnotation, decide.Shortened(before)) // earlier versions wrote the whole placement
	}
	unsaid := meta.FindStatusCondition(status.Conditions, workv1alpha2.BindingScheduled) == nil
	c := change{first: unsaid && len(spec.Clusters) == 0}
	placed := false
	if moves(spec, d) {
		if err := leave(b, d, now); err != nil {
			return c, err
		}
		spec.Clusters = d.Targets
		generation++
		c.targets = true
	}
	if decided(d) {
		placed = setAppliedPlacement(b, d.Placement)
	}
	setAnnotation(b, contract.AdmittedRequestsAnnotation, d.AdmittedRequests)
	wish := d.Pending != b.GetAnnotations()[contract.ReschedulePendingAnnotation]
	setAnnotation(b, contract.ReschedulePendingAnnotation, d.Pending)
	c.verdict = setScheduled(&status.Conditions, condition(d, generation, now))
	if d.Outcome == decide.Scheduled || d.Outcome == decide.Keep {
		status.SchedulerObservedGeneration = generation
		status.SchedulerObservedAffinityName = affinityName(spec, d)
		if unsaid && !c.first {
			c.verdict = false // the binding had clusters, so only the condition is missing, which is no news
		}
		c.routine = unsaid || !c.targets && !c.verdict && d.Trigger != decide.TriggerRequested
		if c.targets || c.verdict || placed || d.Trigger == decide.TriggerRequested || status.LastScheduledTime == nil {
			status.LastScheduledTime = later(now, spec.RescheduleTriggeredAt)
		}
	} else if asked := spec.RescheduleTriggeredAt; d.Pending != "" && status.LastScheduledTime.Before(asked) {
		if at := later(now, asked); wish || !at.Before(asked) {
			status.LastScheduledTime = at // the request was considered
		}
	}
	setAnswered(b, d)
	return c, nil
}

// setAnswered records that a request for a decision from scratch is done, if lastScheduledTime does not show it because the request is
// later. The annotation stays until the next request, since it may be written before lastScheduledTime is.
func setAnswered(b kube.Binding, d decide.Decision) {
	if d.Answered != b.GetAnnotations()[contract.RescheduleAnsweredAnnotation] &&
		!b.BindingStatus().LastScheduledTime.Before(b.BindingSpec().RescheduleTriggeredAt) {
		d.Answered = ""
	}
	setAnnotation(b, contract.RescheduleAnsweredAnnotation, d.Answered)
}

// decided returns whether a decision sets the targets rather than leaving them as they are.
func decided(d decide.Decision) bool {
	return d.Outcome == decide.Scheduled || d.Outcome == decide.NoClusterFit
}

// moves returns whether a decision changes the targets of an application or starts to evict it from a cluster.
func moves(spec *workv1alpha2.ResourceBindingSpec, d decide.Decision) bool {
	return len(d.Leave) > 0 || decided(d) && !sameTargets(spec.Clusters, d.Targets)
}

// leave adds eviction tasks for the clusters that are left gracefully, which failover then completes, removes those of clusters that are
// chosen again, and records both in the history of evictions.
func leave(b kube.Binding, d decide.Decision, now metav1.Time) error {
	if len(d.Leave)+len(d.Return) == 0 {
		return nil
	}
	spec := b.BindingSpec()
	past, at := evictions.Of(b), metav1.NewTime(now.Truncate(time.Second))
	left := func(cluster string) bool {
		return slices.ContainsFunc(d.Leave, func(l decide.Departure) bool { return l.Cluster == cluster })
	}
	tasks := slices.DeleteFunc(slices.Clone(spec.GracefulEvictionTasks), func(t workv1alpha2.GracefulEvictionTask) bool {
		return slices.Contains(d.Return, t.FromCluster) || left(t.FromCluster) // replaced by a task with the new reason
	})
	for i := range past {
		if e := &past[i]; e.Ended == nil && slices.Contains(d.Return, e.From) {
			e.Before, e.How, e.Ended = nil, workv1alpha2.EvictionReturned, at.DeepCopy()
		}
	}
	before := evictions.TargetsBefore(spec.Clusters)
	for _, l := range d.Leave {
		task := departure(spec, l, at)
		tasks = append(tasks, task)
		if i := slices.IndexFunc(past, func(e workv1alpha2.Eviction) bool { return e.Ended == nil && e.From == l.Cluster }); i >= 0 {
			past[i].Reason, past[i].Message = task.Reason, task.Message
			continue
		}
		past = append(past, workv1alpha2.Eviction{
			From: l.Cluster, At: at, Reason: task.Reason, Message: task.Message, Template: spec.Resource.ResourceVersion, Before: before,
		})
	}
	spec.GracefulEvictionTasks = tasks
	if err := evictions.Set(b, past); err != nil {
		return fmt.Errorf("remembering which clusters %q leaves: %w", b.GetName(), err)
	}
	return nil
}

// departure returns the eviction task of a cluster that is left gracefully.
func departure(spec *workv1alpha2.ResourceBindingSpec, d decide.Departure, at metav1.Time) workv1alpha2.GracefulEvictionTask {
	task := workv1alpha2.GracefulEvictionTask{
		FromCluster: d.Cluster, Reason: workv1alpha2.EvictionPreferred, Producer: workv1alpha2.ProducerScheduler,
		PurgeMode: policyv1alpha1.PurgeGracefully, Message: d.Why, CreationTimestamp: at.DeepCopy(),
	}
	if f := spec.Failover; f != nil && f.Cluster != nil {
		task.PurgeMode = cmp.Or(f.Cluster.PurgeMode.Canonical(), policyv1alpha1.PurgeGracefully)
	}
	if d.NotAllowed {
		task.Reason, task.Producer = workv1alpha2.EvictionNotAllowed, workv1alpha2.ProducerNamespaceClusters
	}
	if d.Replicas > 0 {
		task.Replicas = new(d.Replicas)
	}
	return task
}

// skew is by how much the clock of a client that requests a decision may be ahead of the hub's.
const skew = time.Minute

// later returns the time of a decision, but not before it was requested within skew: otherwise the request would seem unanswered.
func later(now metav1.Time, asked *metav1.Time) *metav1.Time {
	if asked != nil && now.Before(asked) && asked.Sub(now.Time) < skew {
		return asked.DeepCopy()
	}
	return &now
}

// affinityName returns the name of the affinity group in use; empty if the placement has no groups.
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
	if c.Reason = reasonOf(d); c.Reason == workv1alpha2.ReasonScheduledSuccess {
		c.Status, c.Message = metav1.ConditionTrue, strings.TrimSpace(successMessage+" "+d.Message)
	}
	return c
}

// reasonOf returns the reason of the condition.
func reasonOf(d decide.Decision) string {
	switch d.Outcome {
	case decide.NoClusterFit:
		return workv1alpha2.ReasonNoClusterFit
	case decide.Unschedulable:
		return workv1alpha2.ReasonUnschedulable
	case decide.OverQuota:
		return workv1alpha2.ReasonQuotaExceeded
	case decide.Refused:
		return workv1alpha2.ReasonSchedulerError
	default:
		return workv1alpha2.ReasonScheduledSuccess
	}
}

// counts returns whether the messages of a reason contain numbers that change with every report of a cluster, or with the usage of other
// bindings.
func counts(reason string) bool {
	return reason == workv1alpha2.ReasonUnschedulable || reason == workv1alpha2.ReasonQuotaExceeded
}

// setScheduled sets the condition and returns whether it says something new. A different shortage is not new as long as the binding's
// generation, and so what it requests, is the same.
func setScheduled(conditions *[]metav1.Condition, c metav1.Condition) bool {
	before := meta.FindStatusCondition(*conditions, c.Type)
	news := before == nil || before.Status != c.Status || before.Reason != c.Reason ||
		before.Message != c.Message && (!counts(c.Reason) || before.ObservedGeneration != c.ObservedGeneration)
	meta.SetStatusCondition(conditions, c)
	return news
}

// setAppliedPlacement records the placement of the decision and returns whether it changed.
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

// setAnnotation sets an annotation of a binding, or removes it if the value is empty.
func setAnnotation(b kube.Binding, key, value string) {
	if b.GetAnnotations()[key] == value {
		return
	}
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	if value == "" {
		delete(annotations, key)
	}
	b.SetAnnotations(annotations)
}

// sameTargets compares targets in any order; those of a decision are sorted by name.
func sameTargets(have, want []workv1alpha2.TargetCluster) bool {
	if len(have) != len(want) {
		return false
	}
	byName := func(a, b workv1alpha2.TargetCluster) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(have, byName) {
		have = slices.SortedFunc(slices.Values(have), byName)
	}
	return slices.EqualFunc(have, want, func(a, b workv1alpha2.TargetCluster) bool {
		return a.Name == b.Name && a.Replicas == b.Replicas && slices.Equal(a.Components, b.Components)
	})
}
