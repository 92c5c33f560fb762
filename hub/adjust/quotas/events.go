package quotas

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
)

// Reasons and the action of the events of the stage.
const (
	reasonDistributed = "SyncWorkSucceed"
	reasonFailed      = "SyncWorkFailed"
	reasonAggregated  = "AggregateStatusSucceed"
	reasonCollected   = "CollectOverallStatusSucceed"
	reasonOver        = "QuotaExceeded"
	action            = "SyncQuota"
)

func of(q *policyv1alpha1.FederatedResourceQuota, reason, note string) kube.Event {
	return kube.Event{Regarding: q, Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: note}
}

// distributed tells that every cluster is to have its part.
func distributed(q *policyv1alpha1.FederatedResourceQuota) kube.Event {
	return of(q, reasonDistributed, fmt.Sprintf("Sync works for FederatedResourceQuota(%s/%s) succeed.", q.Namespace, q.Name))
}

// collected tells those who wait for it that the status was written.
func collected(q *policyv1alpha1.FederatedResourceQuota) []kube.Event {
	out := []kube.Event{
		of(q, reasonAggregated, fmt.Sprintf("Aggregate status of FederatedResourceQuota(%s/%s) succeed.", q.Namespace, q.Name)),
		of(q, reasonCollected, fmt.Sprintf("Collect overall status of FederatedResourceQuota(%s/%s) succeed.", q.Namespace, q.Name)),
	}
	for i := range out {
		out[i].Detail = true
	}
	return out
}

// warning tells what is wrong.
func warning(q *policyv1alpha1.FederatedResourceQuota, failure error, over bool, note string) kube.Event {
	e := of(q, reasonFailed, note)
	if failure == nil && over {
		e.Reason = reasonOver
	}
	e.Type = corev1.EventTypeWarning
	return e
}
