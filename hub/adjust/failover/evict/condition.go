package evict

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/prose"
)

// conditionBuilder gathers the sentences of condition Evicting of a binding. The first gives the reason.
type conditionBuilder struct {
	reason    string
	status    metav1.ConditionStatus
	sentences []string
}

func (b *conditionBuilder) add(reason string, status metav1.ConditionStatus, sentence string) {
	if b.reason == "" {
		b.reason, b.status = reason, status
	}
	b.sentences = append(b.sentences, sentence)
}

// What the copy in a cluster that is being left waits for.
const (
	untilHealthy  = "The copy there stays until those elsewhere are healthy."
	untilGrace    = "The copy there stays until those elsewhere are healthy, or its grace period is over."
	untilHeard    = "The copy there stays until the cluster is heard from again, and goes then if those elsewhere are healthy. If the cluster will not come back: hub forget %s."
	untilChosen   = "The copy there stays: the scheduler is about to choose the cluster again."
	untilReleased = "The copy there stays until suppressDeletion of its task in spec.gracefulEvictionTasks is set to false."
)

// leave says that a cluster is being left, and what the copy there waits for.
func (b *conditionBuilder) leave(task *workv1alpha2.GracefulEvictionTask, waits string) {
	said := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		said = append(said, task.Message)
	}
	reason := workv1alpha2.ReasonWaitingForReplacement
	switch {
	case waits == untilReleased:
		reason = workv1alpha2.ReasonOldCopyKept
	case task.PurgeMode.Canonical() == policyv1alpha1.PurgeDirectly:
		waits = "The copy there is removed before others are made."
	case waits == untilHeard:
		reason, waits = workv1alpha2.ReasonWaitingForCluster, fmt.Sprintf(untilHeard, task.FromCluster)
	}
	b.add(reason, metav1.ConditionTrue, strings.Join(append(said, waits), " "))
}

// purge says that new copies wait for the old one to go.
func (b *conditionBuilder) purge(task *workv1alpha2.GracefulEvictionTask, heard bool) {
	said := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		said = append(said, task.Message)
	}
	said = append(said, "The copy there is removed before others are made.")
	if !heard {
		said = append(said, fmt.Sprintf("That waits for the cluster to be heard from again. If it will not come back: hub forget %s.", task.FromCluster))
	}
	b.add(workv1alpha2.ReasonWaitingForOldCopy, metav1.ConditionTrue, strings.Join(said, " "))
}

// held says that a copy that is to go before others are made stays, because its cluster is
// silent: nothing is left before it can be.
func (b *conditionBuilder) held(cluster, why string) {
	b.add(workv1alpha2.ReasonWaitingForOldCopy, metav1.ConditionFalse, fmt.Sprintf(
		"%s The copy there is to be removed before others are made, and that waits for the cluster to be heard from again. If it will not come back: hub forget %s.", why, cluster))
}

// stuck says that a copy stays although its time is over.
func (b *conditionBuilder) stuck(task *workv1alpha2.GracefulEvictionTask) {
	said := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		said = append(said, task.Message)
	}
	said = append(said, "The copy there stays, because no cluster takes its place; see condition Scheduled.")
	b.add(workv1alpha2.ReasonWaitingForRoom, metav1.ConditionTrue, strings.Join(said, " "))
}

// unsent says that a copy stays, because what is to take its place is not sent to these clusters.
func (b *conditionBuilder) unsent(task *workv1alpha2.GracefulEvictionTask, clusters []string) {
	said := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		said = append(said, task.Message)
	}
	said = append(said, fmt.Sprintf("The copy there stays, because dispatching to what is to take its place is suspended: %s. "+
		"Resume it in spec.suspension of the policy.", strings.Join(clusters, ", ")))
	b.add(workv1alpha2.ReasonDispatchingSuspended, metav1.ConditionTrue, strings.Join(said, " "))
}

// suspended says that a copy that is to go before others are made stays, because none would be.
func (b *conditionBuilder) suspended(why string) {
	b.add(workv1alpha2.ReasonDispatchingSuspended, metav1.ConditionFalse, why+" The copy there is to be removed before others are made, and stays, "+
		"because dispatching to the clusters that would have those is suspended. Resume it in spec.suspension of the policy.")
}

func (b *conditionBuilder) condition(now time.Time) *metav1.Condition {
	if b.reason == "" {
		return nil
	}
	return &metav1.Condition{
		Type: workv1alpha2.BindingEvicting, Status: b.status, Reason: b.reason, Message: prose.Cut(strings.Join(b.sentences, " "), prose.OfCondition),
		LastTransitionTime: metav1.NewTime(now),
	}
}
