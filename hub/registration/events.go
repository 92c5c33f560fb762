package registration

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"fairlead.dev/common/kube"
	"fairlead.dev/hub/registration/approve"
)

// actionDeciding is the action of events on requests.
const actionDeciding = "Deciding"

// concluded tells what became of a request.
func concluded(csr *certificatesv1.CertificateSigningRequest, decision approve.Decision) kube.Event {
	out := kube.Event{
		Regarding: csr, Type: corev1.EventTypeNormal, Reason: decision.Reason, Action: actionDeciding, Note: decision.Message, Detail: true,
	}
	if decision.Verdict == approve.Deny {
		out.Type, out.Detail = corev1.EventTypeWarning, false
	}
	return out
}
