package native_test

import (
	"testing"

	. "github.com/onsi/gomega"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter/native"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	meta := object{"name": "x", "generation": int64(2)}
	workload := func(spec int64, status object) object {
		return object{"metadata": meta, "spec": object{"replicas": spec}, "status": status}
	}
	balancer := func(kind string, ingress ...any) object {
		return object{"spec": object{"type": kind}, "status": object{"loadBalancer": object{"ingress": ingress}}}
	}
	pod := func(phase, ready string) object {
		return object{"status": object{"phase": phase, "conditions": []any{object{"type": "Ready", "status": ready}}}}
	}
	tests := map[string]struct {
		apiVersion, kind string
		live             object
		want             workv1alpha1.ResourceHealth
	}{
		"a Deployment that is rolled out":         {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2)}), workv1alpha1.Healthy},
		"a Deployment that was not looked at yet": {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(1), "updatedReplicas": int64(2), "availableReplicas": int64(2)}), workv1alpha1.Unhealthy},
		"a Deployment that is rolling out":        {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(2)}), workv1alpha1.Unhealthy},
		"a Deployment that is not available":      {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(1)}), workv1alpha1.Unhealthy},
		"a Deployment of none":                    {"apps/v1", "Deployment", workload(0, object{"observedGeneration": int64(2)}), workv1alpha1.Healthy},
		"a Deployment that does not say how many": {"apps/v1", "Deployment", object{"metadata": meta, "spec": object{}, "status": object{"observedGeneration": int64(2)}}, workv1alpha1.Healthy},
		"a Deployment without a status":           {"apps/v1", "Deployment", object{"metadata": meta, "spec": object{}}, workv1alpha1.Unhealthy},
		"a StatefulSet that is rolled out":        {"apps/v1", "StatefulSet", workload(1, object{"observedGeneration": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(1)}), workv1alpha1.Healthy},
		"a StatefulSet that is not":               {"apps/v1", "StatefulSet", workload(1, object{"observedGeneration": int64(2), "updatedReplicas": int64(1)}), workv1alpha1.Unhealthy},
		"a ReplicaSet that is available":          {"apps/v1", "ReplicaSet", workload(1, object{"observedGeneration": int64(2), "availableReplicas": int64(1)}), workv1alpha1.Healthy},
		"a ReplicaSet that is not":                {"apps/v1", "ReplicaSet", workload(2, object{"observedGeneration": int64(2), "availableReplicas": int64(1)}), workv1alpha1.Unhealthy},
		"a DaemonSet that is everywhere":          {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(2), "numberAvailable": int64(2)}), workv1alpha1.Healthy},
		"a DaemonSet that is updating":            {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(1), "numberAvailable": int64(2)}), workv1alpha1.Unhealthy},
		"a DaemonSet that is not available":       {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(2), "numberAvailable": int64(1)}), workv1alpha1.Unhealthy},
		"a DaemonSet that was not looked at":      {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(1)}), workv1alpha1.Unhealthy},
		"a Service in the cluster":                {"v1", "Service", balancer("ClusterIP"), workv1alpha1.Healthy},
		"a load balancer without an address":      {"v1", "Service", balancer("LoadBalancer"), workv1alpha1.Unhealthy},
		"a load balancer with an empty entry":     {"v1", "Service", balancer("LoadBalancer", object{}), workv1alpha1.Unhealthy},
		"a load balancer with an address":         {"v1", "Service", balancer("LoadBalancer", object{"ip": "1.2.3.4"}), workv1alpha1.Healthy},
		"an Ingress with a host name":             {"networking.k8s.io/v1", "Ingress", balancer("", object{"hostname": "a.example.com"}), workv1alpha1.Healthy},
		"an Ingress without anything":             {"networking.k8s.io/v1", "Ingress", object{}, workv1alpha1.Unhealthy},
		"a claim that is bound":                   {"v1", "PersistentVolumeClaim", object{"status": object{"phase": "Bound"}}, workv1alpha1.Healthy},
		"a claim that is not":                     {"v1", "PersistentVolumeClaim", object{"status": object{"phase": "Pending"}}, workv1alpha1.Unhealthy},
		"a Pod that is done":                      {"v1", "Pod", pod("Succeeded", "False"), workv1alpha1.Healthy},
		"a Pod that is ready":                     {"v1", "Pod", pod("Running", "True"), workv1alpha1.Healthy},
		"a Pod that is not ready":                 {"v1", "Pod", pod("Running", "False"), workv1alpha1.Unhealthy},
		"a Pod that does not say whether it is":   {"v1", "Pod", object{"status": object{"phase": "Running"}}, workv1alpha1.Unhealthy},
		"a Pod that failed":                       {"v1", "Pod", pod("Failed", "True"), workv1alpha1.Unhealthy},
		"a budget with enough pods":               {"policy/v1", "PodDisruptionBudget", object{"status": object{"currentHealthy": int64(2), "desiredHealthy": int64(2)}}, workv1alpha1.Healthy},
		"a budget with too few":                   {"policy/v1", "PodDisruptionBudget", object{"status": object{"currentHealthy": int64(1), "desiredHealthy": int64(2)}}, workv1alpha1.Unhealthy},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := native.New().Health(t.Context(), made(tt.apiVersion, tt.kind, tt.live))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tt.want))
		})
	}
}
