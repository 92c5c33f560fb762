package quotas

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/common/prose"
)

// Event reasons, and the action of the stage's events.
const (
	reasonDistributed = "SyncWorkSucceed"
	reasonFailed      = "SyncWorkFailed"
	reasonAggregated  = "AggregateStatusSucceed"
	reasonCollected   = "CollectOverallStatusSucceed"
	reasonOver        = "QuotaExceeded"
	reasonPreserved   = "PreservedNotCounted"
	action            = "SyncQuota"

	// maxPoliciesNamed is how many policies an event names.
	maxPoliciesNamed = 5
)

func of(q *policyv1alpha1.FederatedResourceQuota, reason, note string) eventsink.Event {
	return eventsink.Event{Regarding: q, Type: corev1.EventTypeNormal, Reason: reason, Action: action, Note: note}
}

// distributed says that every cluster has been sent its part.
func distributed(q *policyv1alpha1.FederatedResourceQuota) eventsink.Event {
	return of(q, reasonDistributed, fmt.Sprintf("Sync works for FederatedResourceQuota(%s/%s) succeed.", q.Namespace, q.Name))
}

// collected says that the status was written.
func collected(q *policyv1alpha1.FederatedResourceQuota) []eventsink.Event {
	out := []eventsink.Event{
		of(q, reasonAggregated, fmt.Sprintf("Aggregate status of FederatedResourceQuota(%s/%s) succeed.", q.Namespace, q.Name)),
		of(q, reasonCollected, fmt.Sprintf("Collect overall status of FederatedResourceQuota(%s/%s) succeed.", q.Namespace, q.Name)),
	}
	for i := range out {
		out[i].Detail = true
	}
	return out
}

// warning describes a problem.
func warning(q *policyv1alpha1.FederatedResourceQuota, failure error, over bool, note string) eventsink.Event {
	e := of(q, reasonFailed, note)
	if failure == nil && over {
		e.Reason = reasonOver
	}
	e.Type = corev1.EventTypeWarning
	return e
}

// preserved tells which policies leave in the members what is not counted.
func preserved(q *policyv1alpha1.FederatedResourceQuota, policies []string) eventsink.Event {
	e := of(q, reasonPreserved, fmt.Sprintf("PropagationPolicy %s sets spec.preserveResourcesOnDeletion: objects that it leaves in the members stay there, and this quota does not count them. "+
		"Unless whoever may change the quota wants this, remove the field from the policy: kubectl edit propagationpolicy -n %s %s. "+
		"If it is wanted, use a ClusterPropagationPolicy instead.", prose.Names(policies, maxPoliciesNamed), q.Namespace, policies[0]))
	e.Type = corev1.EventTypeWarning
	return e
}
