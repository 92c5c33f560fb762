package scheduler

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/scheduler/decide"
)

// Reasons and the action of the scheduler's events.
const (
	reasonSucceeded = "ScheduleBindingSucceed"
	reasonFailed    = "ScheduleBindingFailed"
	action          = "ScheduleBinding"
)

// eventsOf returns what there is to tell about a decision, on the template and on the
// binding: nothing if it changed nothing.
func eventsOf(kind string, b kube.Binding, d decide.Decision, c change) []kube.Event {
	template := templateOf(b)
	var out []kube.Event
	warn := func(note string) {
		for _, e := range []kube.Event{{Regarding: template}, {Regarding: b}} {
			e.Type, e.Reason, e.Action, e.Note = corev1.EventTypeWarning, reasonFailed, action, note
			out = append(out, e)
		}
	}
	switch d.Outcome {
	case decide.Refused, decide.NoClusterFit, decide.Unschedulable:
		if c.verdict {
			warn(d.Message)
		}
	default:
		if !c.targets && !c.verdict {
			return nil
		}
		for _, a := range d.Attempts {
			if a.Message != "" {
				warn(fmt.Sprintf("Group %q of clusterAffinities does not do: %s", a.Affinity, a.Message))
			}
		}
		e := kube.Event{
			Regarding: template, Type: corev1.EventTypeNormal, Reason: reasonSucceeded, Action: action,
			Note: successNote(kind, d.Targets),
		}
		detail := e
		detail.Regarding, detail.Detail = b, true
		out = append(out, e, detail)
	}
	return out
}

// successNote is the sentence that clients of this API wait for; it differs by a
// colon between the kinds.
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

// templateOf refers to the template of a binding, which need not be read for it.
func templateOf(b kube.Binding) *corev1.ObjectReference {
	r := b.BindingSpec().Resource
	return &corev1.ObjectReference{
		APIVersion: r.APIVersion, Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
		ResourceVersion: r.ResourceVersion,
	}
}
