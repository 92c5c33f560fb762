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
	conditions := func(entries ...any) object { return object{"status": object{"conditions": entries}} }
	is := func(kind, status string) object { return object{"type": kind, "status": status} }
	job := func(status object, entries ...any) object {
		status["conditions"] = entries
		return object{"metadata": meta, "status": status}
	}
	phase := func(phase string) object { return object{"status": object{"phase": phase}} }
	keeping := func(strategy, status object) object {
		return object{"metadata": meta, "spec": object{"replicas": int64(3), "updateStrategy": strategy}, "status": status}
	}
	canary := object{"type": "RollingUpdate", "rollingUpdate": object{"partition": int64(2)}}
	tests := map[string]struct {
		apiVersion, kind string
		live             object
		want             workv1alpha1.ResourceHealth
	}{
		"a Deployment that is rolled out":                               {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(2)}), workv1alpha1.Healthy},
		"a Deployment that was not looked at yet":                       {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(1), "updatedReplicas": int64(2), "availableReplicas": int64(2)}), workv1alpha1.Unhealthy},
		"a Deployment that is rolling out":                              {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(2)}), workv1alpha1.Unhealthy},
		"a Deployment whose old pod stays, as the new one fits nowhere": {"apps/v1", "Deployment", workload(1, object{"observedGeneration": int64(2), "replicas": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(1)}), workv1alpha1.Unhealthy},
		"a Deployment that is rolled out, all counted":                  {"apps/v1", "Deployment", workload(1, object{"observedGeneration": int64(2), "replicas": int64(1), "updatedReplicas": int64(1), "availableReplicas": int64(1)}), workv1alpha1.Healthy},
		"a Deployment that is not available":                            {"apps/v1", "Deployment", workload(2, object{"observedGeneration": int64(2), "updatedReplicas": int64(2), "availableReplicas": int64(1)}), workv1alpha1.Unhealthy},
		"a Deployment of none":                                          {"apps/v1", "Deployment", workload(0, object{"observedGeneration": int64(2)}), workv1alpha1.Healthy},
		"a Deployment that does not say how many":                       {"apps/v1", "Deployment", object{"metadata": meta, "spec": object{}, "status": object{"observedGeneration": int64(2)}}, workv1alpha1.Healthy},
		"a Deployment without a status":                                 {"apps/v1", "Deployment", object{"metadata": meta, "spec": object{}}, workv1alpha1.Unhealthy},
		"a StatefulSet that is rolled out":                              {"apps/v1", "StatefulSet", workload(1, object{"observedGeneration": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(1)}), workv1alpha1.Healthy},
		"a StatefulSet that is not":                                     {"apps/v1", "StatefulSet", workload(1, object{"observedGeneration": int64(2), "updatedReplicas": int64(1)}), workv1alpha1.Unhealthy},
		"a ReplicaSet that is available":                                {"apps/v1", "ReplicaSet", workload(1, object{"observedGeneration": int64(2), "availableReplicas": int64(1)}), workv1alpha1.Healthy},
		"a ReplicaSet that is not":                                      {"apps/v1", "ReplicaSet", workload(2, object{"observedGeneration": int64(2), "availableReplicas": int64(1)}), workv1alpha1.Unhealthy},
		"a DaemonSet that is everywhere":                                {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(2), "numberAvailable": int64(2)}), workv1alpha1.Healthy},
		"a DaemonSet that is updating":                                  {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(1), "numberAvailable": int64(2)}), workv1alpha1.Unhealthy},
		"a DaemonSet that is not available":                             {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(2), "updatedNumberScheduled": int64(2), "numberAvailable": int64(1)}), workv1alpha1.Unhealthy},
		"a DaemonSet that was not looked at":                            {"apps/v1", "DaemonSet", workload(0, object{"observedGeneration": int64(1)}), workv1alpha1.Unhealthy},
		"a Service in the cluster":                                      {"v1", "Service", balancer("ClusterIP"), workv1alpha1.Healthy},
		"a load balancer without an address":                            {"v1", "Service", balancer("LoadBalancer"), workv1alpha1.Unhealthy},
		"a load balancer with an empty entry":                           {"v1", "Service", balancer("LoadBalancer", object{}), workv1alpha1.Unhealthy},
		"a load balancer with an address":                               {"v1", "Service", balancer("LoadBalancer", object{"ip": "1.2.3.4"}), workv1alpha1.Healthy},
		"an Ingress with a host name":                                   {"networking.k8s.io/v1", "Ingress", balancer("", object{"hostname": "a.example.com"}), workv1alpha1.Healthy},
		"an Ingress without anything":                                   {"networking.k8s.io/v1", "Ingress", object{}, workv1alpha1.Unhealthy},
		"a claim that is bound":                                         {"v1", "PersistentVolumeClaim", object{"status": object{"phase": "Bound"}}, workv1alpha1.Healthy},
		"a claim that is not":                                           {"v1", "PersistentVolumeClaim", object{"status": object{"phase": "Pending"}}, workv1alpha1.Unhealthy},
		"a Pod that is done":                                            {"v1", "Pod", pod("Succeeded", "False"), workv1alpha1.Healthy},
		"a Pod that is ready":                                           {"v1", "Pod", pod("Running", "True"), workv1alpha1.Healthy},
		"a Pod that is not ready":                                       {"v1", "Pod", pod("Running", "False"), workv1alpha1.Unhealthy},
		"a Pod that does not say whether it is":                         {"v1", "Pod", object{"status": object{"phase": "Running"}}, workv1alpha1.Unhealthy},
		"a Pod that failed":                                             {"v1", "Pod", pod("Failed", "True"), workv1alpha1.Unhealthy},
		"a StatefulSet that updates above its partition only":           {"apps/v1", "StatefulSet", keeping(canary, object{"observedGeneration": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(3)}), workv1alpha1.Healthy},
		"a StatefulSet that has yet to update above its partition":      {"apps/v1", "StatefulSet", keeping(canary, object{"observedGeneration": int64(2), "availableReplicas": int64(3)}), workv1alpha1.Unhealthy},
		"a StatefulSet whose pods below the partition are ill":          {"apps/v1", "StatefulSet", keeping(canary, object{"observedGeneration": int64(2), "updatedReplicas": int64(1), "availableReplicas": int64(2)}), workv1alpha1.Unhealthy},
		"a StatefulSet with a partition above its replicas":             {"apps/v1", "StatefulSet", keeping(object{"rollingUpdate": object{"partition": int64(9)}}, object{"observedGeneration": int64(2), "availableReplicas": int64(3)}), workv1alpha1.Healthy},
		"a StatefulSet whose pods somebody has to delete":               {"apps/v1", "StatefulSet", keeping(object{"type": "OnDelete"}, object{"observedGeneration": int64(2), "availableReplicas": int64(3)}), workv1alpha1.Healthy},
		"a DaemonSet whose pods somebody has to delete":                 {"apps/v1", "DaemonSet", keeping(object{"type": "OnDelete"}, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(3), "numberAvailable": int64(3)}), workv1alpha1.Healthy},
		"a DaemonSet of old pods that are ill":                          {"apps/v1", "DaemonSet", keeping(object{"type": "OnDelete"}, object{"observedGeneration": int64(2), "desiredNumberScheduled": int64(3), "numberAvailable": int64(2)}), workv1alpha1.Unhealthy},
		"a ReplicationController that is available":                     {"v1", "ReplicationController", workload(1, object{"observedGeneration": int64(2), "availableReplicas": int64(1)}), workv1alpha1.Healthy},
		"a ReplicationController that is not":                           {"v1", "ReplicationController", workload(1, object{"observedGeneration": int64(2)}), workv1alpha1.Unhealthy},
		"a Job that nobody has looked at":                               {"batch/v1", "Job", job(object{}), workv1alpha1.Unhealthy},
		"a Job at work":                                                 {"batch/v1", "Job", job(object{"active": int64(1), "startTime": "2026-01-01T00:00:00Z"}), workv1alpha1.Healthy},
		"a Job that is suspended":                                       {"batch/v1", "Job", job(object{}, is("Suspended", "True")), workv1alpha1.Healthy},
		"a Job that is done":                                            {"batch/v1", "Job", job(object{"startTime": "2026-01-01T00:00:00Z"}, is("SuccessCriteriaMet", "True"), is("Complete", "True")), workv1alpha1.Healthy},
		"a Job that is about to fail":                                   {"batch/v1", "Job", job(object{"startTime": "2026-01-01T00:00:00Z"}, is("FailureTarget", "True")), workv1alpha1.Unhealthy},
		"a Job that has failed":                                         {"batch/v1", "Job", job(object{"startTime": "2026-01-01T00:00:00Z"}, is("Failed", "True")), workv1alpha1.Unhealthy},
		"a Job that has not failed":                                     {"batch/v1", "Job", job(object{"startTime": "2026-01-01T00:00:00Z"}, is("Failed", "False")), workv1alpha1.Healthy},
		"a CronJob that has never run":                                  {"batch/v1", "CronJob", object{}, workv1alpha1.Healthy},
		"a CronJob at its first run":                                    {"batch/v1", "CronJob", object{"status": object{"active": []any{object{"name": "j"}}, "lastScheduleTime": "2026-01-01T00:00:00Z"}}, workv1alpha1.Healthy},
		"a CronJob whose first run failed":                              {"batch/v1", "CronJob", object{"status": object{"lastScheduleTime": "2026-01-01T00:00:00Z"}}, workv1alpha1.Unhealthy},
		"a CronJob whose last run succeeded":                            {"batch/v1", "CronJob", object{"status": object{"lastScheduleTime": "2026-01-01T00:00:00Z", "lastSuccessfulTime": "2026-01-01T00:00:09Z"}}, workv1alpha1.Healthy},
		"a CronJob whose last run succeeded at once":                    {"batch/v1", "CronJob", object{"status": object{"lastScheduleTime": "2026-01-01T00:00:00Z", "lastSuccessfulTime": "2026-01-01T00:00:00Z"}}, workv1alpha1.Healthy},
		"a CronJob whose last run failed":                               {"batch/v1", "CronJob", object{"status": object{"lastScheduleTime": "2026-01-02T00:00:00Z", "lastSuccessfulTime": "2026-01-01T00:00:09Z"}}, workv1alpha1.Unhealthy},
		"a volume with a claim":                                         {"v1", "PersistentVolume", phase("Bound"), workv1alpha1.Healthy},
		"a volume that waits for a claim":                               {"v1", "PersistentVolume", phase("Available"), workv1alpha1.Healthy},
		"a volume that is not there yet":                                {"v1", "PersistentVolume", phase("Pending"), workv1alpha1.Unhealthy},
		"a volume whose claim is gone":                                  {"v1", "PersistentVolume", phase("Released"), workv1alpha1.Unhealthy},
		"a volume that failed":                                          {"v1", "PersistentVolume", phase("Failed"), workv1alpha1.Unhealthy},
		"a claim that lost its volume":                                  {"v1", "PersistentVolumeClaim", phase("Lost"), workv1alpha1.Unhealthy},
		"an autoscaler that nobody has looked at":                       {"autoscaling/v2", "HorizontalPodAutoscaler", object{}, workv1alpha1.Unhealthy},
		"an autoscaler at work":                                         {"autoscaling/v2", "HorizontalPodAutoscaler", conditions(is("AbleToScale", "True"), is("ScalingActive", "True"), is("ScalingLimited", "True")), workv1alpha1.Healthy},
		"an autoscaler without its target":                              {"autoscaling/v2", "HorizontalPodAutoscaler", conditions(is("AbleToScale", "False")), workv1alpha1.Unhealthy},
		"an autoscaler without metrics":                                 {"autoscaling/v2", "HorizontalPodAutoscaler", conditions(is("AbleToScale", "True"), object{"type": "ScalingActive", "status": "False", "reason": "FailedGetResourceMetric"}), workv1alpha1.Unhealthy},
		"an autoscaler whose target is switched off":                    {"autoscaling/v2", "HorizontalPodAutoscaler", conditions(is("AbleToScale", "True"), object{"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled"}), workv1alpha1.Healthy},
		"a namespace":                                                   {"v1", "Namespace", phase("Active"), workv1alpha1.Healthy},
		"a namespace on its way out":                                    {"v1", "Namespace", phase("Terminating"), workv1alpha1.Unhealthy},
		"a definition that is served":                                   {"apiextensions.k8s.io/v1", "CustomResourceDefinition", conditions(is("NamesAccepted", "True"), is("Established", "True")), workv1alpha1.Healthy},
		"a definition whose names are taken":                            {"apiextensions.k8s.io/v1", "CustomResourceDefinition", conditions(is("NamesAccepted", "False"), is("Established", "True")), workv1alpha1.Unhealthy},
		"a definition that nobody has looked at":                        {"apiextensions.k8s.io/v1", "CustomResourceDefinition", object{}, workv1alpha1.Unhealthy},
		"an API that answers":                                           {"apiregistration.k8s.io/v1", "APIService", conditions(is("Available", "True")), workv1alpha1.Healthy},
		"an API that does not":                                          {"apiregistration.k8s.io/v1", "APIService", conditions(is("Available", "False")), workv1alpha1.Unhealthy},
		"a budget with enough pods":                                     {"policy/v1", "PodDisruptionBudget", object{"status": object{"currentHealthy": int64(2), "desiredHealthy": int64(2)}}, workv1alpha1.Healthy},
		"a budget with too few":                                         {"policy/v1", "PodDisruptionBudget", object{"status": object{"currentHealthy": int64(1), "desiredHealthy": int64(2)}}, workv1alpha1.Unhealthy},
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
