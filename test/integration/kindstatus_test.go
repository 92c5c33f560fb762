package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

func item(name, status string) workv1alpha2.AggregatedStatusItem {
	out := workv1alpha2.AggregatedStatusItem{ClusterName: name}
	if status != "" {
		out.Status = &runtime.RawExtension{Raw: []byte(status)}
	}
	return out
}

// TestTheAPIServerTakesWhatIsAggregated checks the native interpreter against a real API server: its rules are pure
// functions with their own tests, but only an API server knows which statuses are valid. It writes the aggregated
// status of each kind, in steps as clusters report, and checks that it is accepted and that aggregating again changes
// nothing.
func TestTheAPIServerTakesWhatIsAggregated(t *testing.T) {
	t.Parallel()
	const template = `"template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"nginx"}]}}`
	const selected = `"selector":{"matchLabels":{"app":"x"}},` + template
	const jobStart = `"startTime":"2026-01-01T00:00:00Z"`
	type step = []workv1alpha2.AggregatedStatusItem
	const running = `{"phase":"Running","containerStatuses":[{"name":"c","ready":true,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}`
	const ended = `{"phase":"Running","containerStatuses":[{"name":"c","ready":false,"state":{"terminated":{"exitCode":1,"startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:01:00Z"}}}]}`
	tests := map[string]struct {
		template string
		steps    []step
	}{
		"Deployment": {`{"apiVersion":"apps/v1","kind":"Deployment","spec":{` + selected + `}}`, []step{
			{item("a", `{"replicas":1,"updatedReplicas":1,"unavailableReplicas":1}`)},
			{item("a", `{"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"observedGeneration":1,"generation":1,"resourceTemplateGeneration":1}`)},
			{},
		}},
		"ReplicaSet":            {`{"apiVersion":"apps/v1","kind":"ReplicaSet","spec":{` + selected + `}}`, []step{{item("a", `{"replicas":1}`)}, {}}},
		"ReplicationController": {`{"apiVersion":"v1","kind":"ReplicationController","spec":{` + template + `}}`, []step{{item("a", `{"replicas":2,"readyReplicas":1,"availableReplicas":1}`)}, {}}},
		"StatefulSet":           {`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"serviceName":"x",` + selected + `}}`, []step{{item("a", `{"replicas":1,"availableReplicas":0,"currentReplicas":1}`)}, {}}},
		"DaemonSet":             {`{"apiVersion":"apps/v1","kind":"DaemonSet","spec":{` + selected + `}}`, []step{{item("a", `{"desiredNumberScheduled":2,"numberUnavailable":2}`)}, {}}},
		"Job that completes": {`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"nginx"}]}}}}`, []step{
			{item("a", `{"active":1,`+jobStart+`}`), item("b", "")},
			{item("a", `{"active":1,`+jobStart+`}`), item("b", `{"active":1,`+jobStart+`}`)},
			{item("a", `{"active":1,`+jobStart+`}`), item("b", `{"succeeded":1,`+jobStart+`,"completionTime":"2026-01-01T00:05:00Z","conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:05:00Z"}]}`)},
			{item("b", `{"succeeded":1,`+jobStart+`,"completionTime":"2026-01-01T00:05:00Z","conditions":[{"type":"Complete","status":"True","lastTransitionTime":"2026-01-01T00:05:00Z"}]}`)},
			{item("a", `{"failed":1}`)},
		}},
		"Job that fails": {`{"apiVersion":"batch/v1","kind":"Job","spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"nginx"}]}}}}`, []step{
			{item("a", `{"active":1,`+jobStart+`}`), item("b", `{"failed":1,`+jobStart+`,"conditions":[{"type":"Failed","status":"True"}]}`)},
			{item("a", `{"active":1,`+jobStart+`}`)},
			{item("a", `{`+jobStart+`}`)},
		}},
		"CronJob": {`{"apiVersion":"batch/v1","kind":"CronJob","spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"nginx"}]}}}}}}`, []step{
			{item("a", `{"active":[{"kind":"Job","namespace":"n","name":"j","uid":"u","apiVersion":"batch/v1"}],"lastScheduleTime":"2026-01-01T00:00:00Z"}`)}, {},
		}},
		"Service": {`{"apiVersion":"v1","kind":"Service","spec":{"type":"LoadBalancer","ports":[{"port":80}]}}`, []step{
			{item("a", `{"loadBalancer":{"ingress":[{"ip":"1.1.1.1"}]}}`)},
			{item("a", `{"loadBalancer":{"ingress":[{"ip":"1.1.1.1","ipMode":"VIP"},{"hostname":"x.example.com","ports":[{"port":80,"protocol":"TCP"}]}]}}`)},
			{},
		}},
		"Ingress": {`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","spec":{"defaultBackend":{"service":{"name":"x","port":{"number":80}}}}}`, []step{
			{item("a", `{"loadBalancer":{"ingress":[{"ip":"1.1.1.1"},{"hostname":"x.example.com"}]}}`)}, {},
		}},
		"Pod": {`{"apiVersion":"v1","kind":"Pod","spec":{"automountServiceAccountToken":false,"containers":[{"name":"c","image":"nginx"}]}}`, []step{
			{item("a", running), item("b", ended)}, {item("a", ended), item("b", running)}, {item("a", running), item("b", running)}, {},
		}},
		"PersistentVolumeClaim": {`{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`, []step{
			{item("a", "")}, {item("a", `{"phase":"Bound","capacity":{"storage":"1Gi"}}`)},
		}},
		"PodDisruptionBudget": {`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"x"}}}}`, []step{
			{item("a", `{"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1,"disruptedPods":{"p":"2026-01-01T00:00:00Z"}}`)}, {},
		}},
		"HorizontalPodAutoscaler": {`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"x"}}}`, []step{
			{item("a", `{"currentReplicas":1,"desiredReplicas":2}`)}, {},
		}},
	}
	api := cluster.Shared(t, noNodes())
	apiClient := api.Client(t)
	namespace := api.Namespace(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			ctx := t.Context()
			obj := &unstructured.Unstructured{}
			g.Expect(obj.UnmarshalJSON([]byte(tt.template))).To(Succeed())
			obj.SetGenerateName("x-")
			obj.SetNamespace(namespace)
			g.Expect(apiClient.Create(ctx, obj)).To(Succeed())
			for i, items := range tt.steps {
				out, err := native.New().AggregateStatus(t.Context(), obj, items)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(apiClient.Status().Update(ctx, out)).To(Succeed(), "step %d: %v", i, out.Object["status"])
				settled, err := native.New().AggregateStatus(t.Context(), out, items)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(settled.Object).To(BeComparableTo(out.Object), "step %d: what is read back is not to be written again", i)
				g.Expect(settled).To(BeIdenticalTo(out))
				obj = out
			}
		})
	}
}
