package scheduler

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// Reasons and the action of the scheduler's events.
const (
	reasonSucceeded = "ScheduleBindingSucceed"
	reasonFailed    = "ScheduleBindingFailed"
	reasonLeaving   = "EvictWorkloadFromCluster"
	action          = "ScheduleBinding"
)

// eventsOf returns the events of a decision on the template and on the binding; none if it changed nothing. That a new template got
// clusters is expected, and thus a detail.
func eventsOf(kind string, b kube.Binding, d decide.Decision, c change) []eventsink.Event {
	template := bindings.TemplateRef(b)
	var out []eventsink.Event
	for _, l := range d.Leave {
		out = append(out, departed(template, b, l)...)
	}
	switch d.Outcome {
	case decide.Refused, decide.NoClusterFit, decide.Unschedulable, decide.OverQuota:
		if c.verdict {
			out = append(out, warnings(b, d.Message)...)
		}
	default:
		if !c.targets && !c.verdict {
			return nil
		}
		for _, a := range d.Attempts {
			if a.Message != "" {
				out = append(out, warnings(b, fmt.Sprintf("Group %q of clusterAffinities does not fit: %s", a.Affinity, a.Message))...)
			}
		}
		e := eventsink.Event{
			Regarding: template, Related: b, Type: corev1.EventTypeNormal, Reason: reasonSucceeded, Action: action,
			Note: successNote(kind, d.Targets), Detail: c.first,
		}
		detail := e
		detail.Regarding, detail.Related, detail.Detail = b, nil, true
		out = append(out, e, detail)
	}
	return out
}

// departed returns the events, on the template and on the binding, for leaving a cluster.
func departed(template *corev1.ObjectReference, b kube.Binding, l decide.Departure) []eventsink.Event {
	e := eventsink.Event{
		Regarding: template, Type: corev1.EventTypeNormal, Reason: reasonLeaving, Action: action,
		Note:    fmt.Sprintf("Leaving cluster %s. %s", l.Cluster, l.Why),
		Related: &corev1.ObjectReference{APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: "Cluster", Name: l.Cluster},
	}
	detail := e
	detail.Regarding = b
	return []eventsink.Event{e, detail}
}

// warnings returns the events, on the template and on the binding, for a binding that is not placed.
func warnings(b kube.Binding, note string) []eventsink.Event {
	of := func(regarding, related runtime.Object) eventsink.Event {
		return eventsink.Event{Regarding: regarding, Related: related, Type: corev1.EventTypeWarning, Reason: reasonFailed, Action: action, Note: note}
	}
	return []eventsink.Event{of(bindings.TemplateRef(b), b), of(b, nil)}
}

// successNote returns the exact sentence that clients of this API wait for; it differs by a colon between the kinds.
func successNote(kind string, targets []workv1alpha2.TargetCluster) string {
	shares := make([]string, len(targets))
	for i, t := range targets {
		shares[i] = fmt.Sprintf("%s:%d", t.Name, t.Replicas)
	}
	result := "{" + strings.Join(shares, ", ") + "}"
	if kind == kube.ClusterResourceBindings().Kind {
		return successMessage + " Result " + result
	}
	return successMessage + " Result: " + result
}
