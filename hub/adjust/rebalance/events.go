package rebalance

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	appsv1alpha1 "fairlead.dev/common/api/apps/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
)

// action is the action of the stage's events.
const action = "Rebalance"

// notPlaced is the event about workloads that no policy places.
func notPlaced(one *appsv1alpha1.WorkloadRebalancer, missing []appsv1alpha1.ObjectReference) eventsink.Event {
	names := make([]string, len(missing))
	for i, m := range missing {
		names[i] = m.Kind + " " + m.Name
		if m.Namespace != "" {
			names[i] = m.Kind + " " + m.Namespace + "/" + m.Name
		}
	}
	return eventsink.Event{
		Regarding: one, Type: corev1.EventTypeWarning, Reason: string(appsv1alpha1.ReferencedBindingNotFound), Action: action,
		Note: fmt.Sprintf("No policy places %s: there is nothing to place from scratch. Once a policy does, make another WorkloadRebalancer.",
			strings.Join(names, ", ")),
	}
}
