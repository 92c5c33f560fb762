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

// conditionBuilder collects the sentences of a binding's condition Evicting. The first one determines the reason.
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

// What the copy in a cluster waits for during an eviction.
const (
	untilHealthy  = "The copy there stays until the copies elsewhere are healthy."
	untilGrace    = "The copy there stays until the copies elsewhere are healthy, or until its grace period is over."
	untilHeard    = "The copy there stays until the cluster is heard from again, and is then removed if the copies elsewhere are healthy. If the cluster will not come back, run hub forget %s."
	untilReported = "The copy there stays until the copies elsewhere, healthy before the hub started, have had time to report to it."
	untilChosen   = "The copy there stays: the scheduler is about to choose the cluster again."
	untilReleased = "The copy there stays until suppressDeletion of its task in spec.gracefulEvictionTasks is set to false."
)

// leave adds that a cluster is being left, and what the copy there waits for.
func (b *conditionBuilder) leave(task *workv1alpha2.GracefulEvictionTask, waits string) {
	sentences := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		sentences = append(sentences, task.Message)
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
	b.add(reason, metav1.ConditionTrue, strings.Join(append(sentences, waits), " "))
}

// purge adds that new copies wait until the old one is gone.
func (b *conditionBuilder) purge(task *workv1alpha2.GracefulEvictionTask, heard bool) {
	sentences := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		sentences = append(sentences, task.Message)
	}
	sentences = append(sentences, "The copy there is removed before others are made.")
	if !heard {
		sentences = append(sentences, fmt.Sprintf("This waits until the cluster is heard from again. If it will not come back, run hub forget %s.", task.FromCluster))
	}
	b.add(workv1alpha2.ReasonWaitingForOldCopy, metav1.ConditionTrue, strings.Join(sentences, " "))
}

// held adds that a direct eviction does not start because the cluster is silent: the copy there could not be deleted.
func (b *conditionBuilder) held(cluster, why string) {
	b.add(workv1alpha2.ReasonWaitingForOldCopy, metav1.ConditionFalse, fmt.Sprintf(
		"%s The copy there must be removed before others are made, and this waits until the cluster is heard from again. If it will not come back, run hub forget %s.", why, cluster))
}

// stuck adds that a copy stays although its grace period is over.
func (b *conditionBuilder) stuck(task *workv1alpha2.GracefulEvictionTask) {
	sentences := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		sentences = append(sentences, task.Message)
	}
	sentences = append(sentences, "The copy there stays, because no cluster takes its place; see condition Scheduled.")
	b.add(workv1alpha2.ReasonWaitingForRoom, metav1.ConditionTrue, strings.Join(sentences, " "))
}

// unsent adds that a copy stays because dispatching to the clusters of its replacements is suspended.
func (b *conditionBuilder) unsent(task *workv1alpha2.GracefulEvictionTask, clusters []string) {
	sentences := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		sentences = append(sentences, task.Message)
	}
	sentences = append(sentences, fmt.Sprintf("The copy there stays, because dispatching to the clusters that are to take its place is suspended: %s. "+
		"Resume it in spec.suspension of the policy.", strings.Join(clusters, ", ")))
	b.add(workv1alpha2.ReasonDispatchingSuspended, metav1.ConditionTrue, strings.Join(sentences, " "))
}

// suspended adds that a direct eviction does not start because no replacement would be dispatched.
func (b *conditionBuilder) suspended(why string) {
	b.add(workv1alpha2.ReasonDispatchingSuspended, metav1.ConditionFalse, why+" The copy there would be removed before others are made, and stays, "+
		"because dispatching to the clusters that would get them is suspended. Resume it in spec.suspension of the policy.")
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
