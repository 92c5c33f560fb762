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
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/decide"
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
	// first says that nothing was ever decided about the binding before.
	first bool
	// routine says that nobody waits for what the status says of it: a new binding got clusters,
	// or one that changed keeps them.
	routine bool
}

// record sets on a binding what a decision says, and returns what that changed.
func record(b kube.Binding, d decide.Decision, now metav1.Time) (change, error) {
	spec, status := b.BindingSpec(), b.BindingStatus()
	// What the status says is about the binding as it will be: whoever changes the
	// targets changes the generation, by one.
	generation := b.GetGeneration()
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
			c.verdict = false // it was decided before, and is told
		}
		c.routine = unsaid || !c.targets && !c.verdict && d.Trigger != decide.TriggerRequested
		if c.targets || c.verdict || placed || d.Trigger == decide.TriggerRequested || status.LastScheduledTime == nil {
			status.LastScheduledTime = later(now, spec.RescheduleTriggeredAt)
		}
	} else if asked := spec.RescheduleTriggeredAt; d.Pending != "" && status.LastScheduledTime.Before(asked) {
		if at := later(now, asked); wish || !at.Before(asked) {
			status.LastScheduledTime = at // it was looked at
		}
	}
	setAnswered(b, d)
	return c, nil
}

// setAnswered notes a wish for a decision from scratch that is done, if the time of the last decision does not say so because the wish
// is later. The note stays until there is another wish: it may be written before that time is.
func setAnswered(b kube.Binding, d decide.Decision) {
	if d.Answered != b.GetAnnotations()[contract.RescheduleAnsweredAnnotation] &&
		!b.BindingStatus().LastScheduledTime.Before(b.BindingSpec().RescheduleTriggeredAt) {
		d.Answered = ""
	}
	setAnnotation(b, contract.RescheduleAnsweredAnnotation, d.Answered)
}

// decided says that a decision is one about the targets, and does not leave them to what comes.
func decided(d decide.Decision) bool {
	return d.Outcome == decide.Scheduled || d.Outcome == decide.NoClusterFit
}

// moves says whether a decision changes where an application is, or how it leaves a cluster.
func moves(spec *workv1alpha2.ResourceBindingSpec, d decide.Decision) bool {
	return len(d.Leave) > 0 || decided(d) && !sameTargets(spec.Clusters, d.Targets)
}

// leave puts down the tasks of clusters that are left in their own time, from where failover
// goes on with them, takes back those of clusters that are chosen again, and remembers both.
func leave(b kube.Binding, d decide.Decision, now metav1.Time) error {
	if len(d.Leave)+len(d.Return) == 0 {
		return nil
	}
	spec := b.BindingSpec()
	past, at := workv1alpha2.EvictionsOf(b), metav1.NewTime(now.Truncate(time.Second))
	left := func(cluster string) bool {
		return slices.ContainsFunc(d.Leave, func(l decide.Departure) bool { return l.Cluster == cluster })
	}
	tasks := slices.DeleteFunc(slices.Clone(spec.GracefulEvictionTasks), func(t workv1alpha2.GracefulEvictionTask) bool {
		return slices.Contains(d.Return, t.FromCluster) || left(t.FromCluster) // left for another reason from now on
	})
	for i := range past {
		if e := &past[i]; e.Ended == nil && slices.Contains(d.Return, e.From) {
			e.Before, e.How, e.Ended = nil, workv1alpha2.EvictionReturned, at.DeepCopy()
		}
	}
	before := workv1alpha2.TargetsBefore(spec.Clusters)
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
	if err := workv1alpha2.SetEvictions(b, past); err != nil {
		return fmt.Errorf("remembering which clusters %q leaves: %w", b.GetName(), err)
	}
	return nil
}

// departure is the task of a cluster that is left in its own time.
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

// skew is by how much the clock of whoever asks for a decision may be ahead of ours.
const skew = time.Minute

// later returns when something was decided: not before it was asked for, or else it would
// be asked for still.
func later(now metav1.Time, asked *metav1.Time) *metav1.Time {
	if asked != nil && now.Before(asked) && asked.Sub(now.Time) < skew {
		return asked.DeepCopy()
	}
	return &now
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
	if c.Reason = reasonOf(d); c.Reason == workv1alpha2.ReasonScheduledSuccess {
		c.Status, c.Message = metav1.ConditionTrue, strings.TrimSpace(successMessage+" "+d.Message)
	}
	return c
}

// reasonOf is the reason of the condition.
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

// counts says whether the messages of a reason have numbers that change with every report
// of a cluster, or with what others use.
func counts(reason string) bool {
	return reason == workv1alpha2.ReasonUnschedulable || reason == workv1alpha2.ReasonQuotaExceeded
}

// setScheduled sets the condition and says whether it tells something new. How much is
// lacking is no news while nobody asks for another amount.
func setScheduled(conditions *[]metav1.Condition, c metav1.Condition) bool {
	before := meta.FindStatusCondition(*conditions, c.Type)
	news := before == nil || before.Status != c.Status || before.Reason != c.Reason ||
		before.Message != c.Message && (!counts(c.Reason) || before.ObservedGeneration != c.ObservedGeneration)
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

// setAnnotation sets an annotation of a binding, or takes it off if there is nothing to say.
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
