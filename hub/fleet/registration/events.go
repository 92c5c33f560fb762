package registration

import (
	"fmt"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/fleet/registration/approve"
)

// actionDeciding is the action of events on requests.
const actionDeciding = "Deciding"

// concluded tells what became of a request.
func concluded(csr *certificatesv1.CertificateSigningRequest, decision approve.Decision) kube.Event {
	out := kube.Event{
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

// flooded tells that a token was closed.
func flooded(secret *corev1.Secret, id, why string) kube.Event {
	return kube.Event{
		Regarding: secret, Type: corev1.EventTypeWarning, Reason: "TokenFloods", Action: actionDeciding,
		Note: fmt.Sprintf("Token %s opens nothing any more, since there are of it %s. "+
			"Make another with `hub token create`, and look who has this one.", id, why),
	}
}

// joined tells on a Cluster how its member came.
func joined(cluster *clusterv1alpha1.Cluster, decision approve.Decision) kube.Event {
	return kube.Event{
		Regarding: cluster, Type: corev1.EventTypeNormal, Reason: decision.Reason, Action: actionDeciding, Note: decision.Message,
	}
}

// severalAgents tells that a member was cloned, and that it is over.
func severalAgents(cluster *clusterv1alpha1.Cluster, condition metav1.Condition) kube.Event {
	out := kube.Event{
		Regarding: cluster, Type: corev1.EventTypeWarning, Reason: condition.Reason, Action: "Listening", Note: condition.Message,
	}
	if condition.Status != metav1.ConditionTrue {
		out.Type = corev1.EventTypeNormal
	}
	return out
}

// rightsWithheld tells that an agent does not get a right that it is missing, and that it is over.
func rightsWithheld(cluster *clusterv1alpha1.Cluster, condition metav1.Condition) kube.Event {
	out := kube.Event{
		Regarding: cluster, Type: corev1.EventTypeWarning, Reason: condition.Reason, Action: "Granting", Note: condition.Message,
	}
	if condition.Status != metav1.ConditionTrue {
		out.Type = corev1.EventTypeNormal
	}
	return out
}
