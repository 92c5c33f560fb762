package registration

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/registration/approve"
)

// actionDeciding is the action of events on requests.
const actionDeciding = "Deciding"

// concluded is the event about the outcome of a request.
func concluded(csr *certificatesv1.CertificateSigningRequest, decision approve.Decision) eventsink.Event {
	out := eventsink.Event{
		Regarding: csr, Type: corev1.EventTypeNormal, Reason: decision.Reason, Action: actionDeciding, Note: decision.Message, Detail: true,
	}
	switch decision.Verdict {
	case approve.Deny:
		if decision.Reason != contract.ReasonJoinPossible {
			out.Type, out.Detail = corev1.EventTypeWarning, false
		}
	case approve.Wait:
		out.Detail = false
	case approve.Approve:
	}
	return out
}

// flooded is the event about a token that was closed because of too many requests.
func flooded(secret *corev1.Secret, id, why string) eventsink.Event {
	return eventsink.Event{
		Regarding: secret, Type: corev1.EventTypeWarning, Reason: "TokenFloods", Action: actionDeciding,
		Note: fmt.Sprintf("Token %s was closed, because it was used for %s. "+
			"Make another with `hub token create`, and find out who has this one.", id, why),
	}
}

// joined is the event on a Cluster about how its member joined.
func joined(cluster *clusterv1alpha1.Cluster, decision approve.Decision) eventsink.Event {
	return eventsink.Event{
		Regarding: cluster, Type: corev1.EventTypeNormal, Reason: decision.Reason, Action: actionDeciding, Note: decision.Message,
	}
}

// severalAgents is the event that several agents act for one Cluster, or no longer do.
func severalAgents(cluster *clusterv1alpha1.Cluster, condition metav1.Condition) eventsink.Event {
	out := eventsink.Event{
		Regarding: cluster, Type: corev1.EventTypeWarning, Reason: condition.Reason, Action: "Listening", Note: condition.Message,
	}
	if condition.Status != metav1.ConditionTrue {
		out.Type = corev1.EventTypeNormal
	}
	return out
}

// rightsWithheld is the event that an agent is denied a missing right, or no longer is.
func rightsWithheld(cluster *clusterv1alpha1.Cluster, condition metav1.Condition) eventsink.Event {
	out := eventsink.Event{
		Regarding: cluster, Type: corev1.EventTypeWarning, Reason: condition.Reason, Action: "Granting", Note: condition.Message,
	}
	if condition.Status != metav1.ConditionTrue {
		out.Type = corev1.EventTypeNormal
	}
	return out
}
