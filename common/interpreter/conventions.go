package interpreter

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

// Conditions by which controllers say how it goes. The first two are there, and True,
// while something is out of the ordinary.
const (
	reconciling = "Reconciling"
	stalled     = "Stalled"
	ready       = "Ready"
)

// ConventionalHealth says how a live object fares whose kind has no rule, by what the
// controllers of most kinds agree on in its status: the conventions that kstatus reads, which
// Flux, kpt and Helm wait by. (Its module would bring kubectl and kustomize along.) An object is
// Unhealthy while its controller has not looked at its newest generation, is at work on it, is
// stuck, or says that it is not ready; with nothing of this said, it is Healthy. A kind that
// nobody controls, such as ConfigMap, has no status and is well once it is there.
//
// This is no layer of the chain: one that answers for every kind would make Has say that there
// is a rule for every kind, and application failover acts by rules only. Who wants an answer in
// any case asks Has first, and comes here if it says no.
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
		// A kind may have conditions of another shape; they are not of the convention.
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
