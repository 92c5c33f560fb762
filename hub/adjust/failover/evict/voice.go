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

// voice gathers what is to be said on a binding. What was said first gives the reason.
type voice struct {
	reason    string
	status    metav1.ConditionStatus
	sentences []string
}

func (v *voice) say(reason string, status metav1.ConditionStatus, sentence string) {
	if v.reason == "" {
		v.reason, v.status = reason, status
	}
	v.sentences = append(v.sentences, sentence)
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
func (v *voice) leave(task *workv1alpha2.GracefulEvictionTask, waits string) {
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
	v.say(reason, metav1.ConditionTrue, strings.Join(append(said, waits), " "))
}

// purge says that new copies wait for the old one to go.
func (v *voice) purge(task *workv1alpha2.GracefulEvictionTask, heard bool) {
	said := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		said = append(said, task.Message)
	}
	said = append(said, "The copy there is removed before others are made.")
	if !heard {
		said = append(said, fmt.Sprintf("That waits for the cluster to be heard from again. If it will not come back: hub forget %s.", task.FromCluster))
	}
	v.say(workv1alpha2.ReasonWaitingForOldCopy, metav1.ConditionTrue, strings.Join(said, " "))
}

// held says that a copy that is to go before others are made stays, because its cluster is
// silent: nothing is left before it can be.
func (v *voice) held(cluster, why string) {
	v.say(workv1alpha2.ReasonWaitingForOldCopy, metav1.ConditionFalse, fmt.Sprintf(
		"%s The copy there is to be removed before others are made, and that waits for the cluster to be heard from again. If it will not come back: hub forget %s.", why, cluster))
}

// stuck says that a copy stays although its time is over.
func (v *voice) stuck(task *workv1alpha2.GracefulEvictionTask) {
	said := []string{fmt.Sprintf("Leaving %s.", task.FromCluster)}
	if task.Message != "" {
		said = append(said, task.Message)
	}
	said = append(said, "The copy there stays, because no cluster takes its place; see condition Scheduled.")
	v.say(workv1alpha2.ReasonWaitingForRoom, metav1.ConditionTrue, strings.Join(said, " "))
}

func (v *voice) condition(now time.Time) *metav1.Condition {
	if v.reason == "" {
		return nil
	}
	return &metav1.Condition{
		Type: workv1alpha2.BindingEvicting, Status: v.status, Reason: v.reason, Message: prose.Cut(strings.Join(v.sentences, " "), prose.OfCondition),
		LastTransitionTime: metav1.NewTime(now),
	}
}
