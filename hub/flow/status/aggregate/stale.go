package aggregate

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/prose"
)

// age sets staleSince on the items of silent clusters.
func age(items []workv1alpha2.AggregatedStatusItem, silent map[string]time.Time) {
	for i := range items {
		item := &items[i]
		if since := silent[item.ClusterName]; !since.IsZero() && (item.Applied || item.AppliedMessage != "") {
			item.StaleSince = new(metav1.NewTime(since.Truncate(time.Second)))
		}
	}
}

// stale returns the condition Stale of a binding, which names its silent clusters; nil if none is silent.
func stale(in Input, items []workv1alpha2.AggregatedStatusItem) *metav1.Condition {
	message, silent := Staleness(items)
	if silent == 0 {
		return nil
	}
	return &metav1.Condition{
		Type: workv1alpha2.BindingStale, Status: metav1.ConditionTrue, Reason: workv1alpha2.ReasonClustersSilent, Message: message,
		ObservedGeneration: in.Generation, LastTransitionTime: metav1.NewTime(in.Now),
	}
}

// Staleness returns a message that says how many clusters a status is made of, and which of them are silent since when, and the number of
// those.
func Staleness(items []workv1alpha2.AggregatedStatusItem) (message string, silent int) {
	var names []string
	var from metav1.Time
	for i := range items {
		if since := items[i].StaleSince; since != nil {
			names = append(names, items[i].ClusterName)
			if from.IsZero() || since.Before(&from) {
				from = *since
			}
		}
	}
	switch len(names) {
	case 0:
		return fmt.Sprintf("Made of the reports of %d clusters.", len(items)), 0
	case 1:
		return fmt.Sprintf("1 of %d clusters is silent, and its last report is shown: %s since %s.", len(items), names[0], from.UTC().Format(time.RFC3339)), 1
	default:
		return fmt.Sprintf("%d of %d clusters are silent, and their last reports are shown: %s, the first since %s.",
			len(names), len(items), prose.Names(names, maxNames), from.UTC().Format(time.RFC3339)), len(names)
	}
}

// MarkTemplate adds a condition to the status of a template that says how many clusters it is made of and how many of them are silent. It
// does so only for kinds that allow conditions of any type, and returns whether kind is one. Status is the aggregated status.
func MarkTemplate(kind, apiVersion string, status map[string]any, items []workv1alpha2.AggregatedStatusItem, now time.Time) bool {
	if apiVersion != "apps/v1" {
		return false
	}
	switch kind {
	case "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet":
	default:
		return false
	}
	message, silent := Staleness(items)
	condition := map[string]any{"type": workv1alpha2.TemplateConditionCurrent, "status": "True", "reason": workv1alpha2.ReasonAllReport, "message": message}
	if silent > 0 {
		condition["status"], condition["reason"] = "False", workv1alpha2.ReasonClustersSilent
	}
	if left := leftOut(items); len(left) > 0 {
		condition["status"], condition["reason"] = "False", workv1alpha2.ReasonStatusLeftOut
		condition["message"] = message + " What " + prose.Names(left, maxNames) + " reports is left out: it is not fit to be added up, or too large."
	}
	condition["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
	before, _ := status["conditions"].([]any)
	var after []any
	for _, entry := range before {
		had, ok := entry.(map[string]any)
		if !ok || had["type"] != condition["type"] {
			after = append(after, entry)
			continue
		}
		if had["status"] == condition["status"] && had["lastTransitionTime"] != nil {
			condition["lastTransitionTime"] = had["lastTransitionTime"]
		}
		// Keep fields that the API server adds to a condition of this kind, such as an empty lastUpdateTime: they are no difference.
		for field, value := range had {
			if _, ours := condition[field]; !ours {
				condition[field] = value
			}
		}
	}
	if len(items) > 0 {
		after = append(after, condition)
	}
	if after == nil {
		delete(status, "conditions")
		return true
	}
	status["conditions"] = after
	return true
}
