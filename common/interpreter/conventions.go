package interpreter

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Conditions with which controllers report progress. The first two exist, with status True, only while something is
// abnormal.
const (
	reconciling = "Reconciling"
	stalled     = "Stalled"
	ready       = "Ready"
)

// ConventionalHealth judges the health of a live object whose kind has no rule, by conventions that most controllers
// follow in its status: those that kstatus reads, on which Flux, kpt and Helm wait. (Its module would bring kubectl
// and kustomize along.) An object is Unhealthy while its controller has not observed its latest generation, is
// reconciling it, is stalled, or reports that it is not ready; without any such sign, it is Healthy. A kind without a
// controller, such as ConfigMap, has no status and is healthy as soon as it exists.
//
// This is not a layer of the chain: a layer that answers for every kind would make Has return true for every kind,
// and application failover acts on rules only. Callers that need an answer in any case call Has first, and this
// function if it returns false.
func ConventionalHealth(live *unstructured.Unstructured) workv1alpha1.ResourceHealth {
	status, ok := live.Object["status"].(map[string]any)
	if !ok {
		return workv1alpha1.Healthy
	}
	if observed, ok := status["observedGeneration"].(int64); ok && observed != live.GetGeneration() {
		return workv1alpha1.Unhealthy
	}
	conditions, _ := status["conditions"].([]any)
	for _, entry := range conditions {
		// Conditions of another shape do not follow the convention.
		condition, _ := entry.(map[string]any)
		switch condition["type"] {
		case reconciling, stalled:
			if condition["status"] == "True" {
				return workv1alpha1.Unhealthy
			}
		case ready:
			if condition["status"] == "False" || condition["status"] == "Unknown" {
				return workv1alpha1.Unhealthy
			}
		}
	}
	return workv1alpha1.Healthy
}
