package remedy

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
)

// Reason and action of the events of the stage.
const (
	reasonPrescribed = "RemedyActionsChanged"
	action           = "Remedy"
)

// prescribed is the event that lists a Cluster's new remedy actions.
func prescribed(c *clusterv1alpha1.Cluster, p prescription) eventsink.Event {
	e := eventsink.Event{
		Regarding: c, Type: corev1.EventTypeNormal, Reason: reasonPrescribed, Action: action,
		Note: "No Remedy asks for an action on this cluster any more.",
	}
	if len(p.Actions) > 0 {
		e.Note = fmt.Sprintf("Actions needed on this cluster: %s. Requested by Remedy %s.", strings.Join(p.Actions, ", "), strings.Join(p.By, ", "))
	}
	return e
}
