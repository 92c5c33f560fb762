package native_test

import (
	"testing"

	. "github.com/onsi/gomega"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter/native"
)

func TestAggregateStatus(t *testing.T) {
	t.Parallel()
	type items = []workv1alpha2.AggregatedStatusItem
	const (
		ready1 = `{"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"observedGeneration":1,"generation":1,"resourceTemplateGeneration":3}`
		ready2 = `{"replicas":2,"updatedReplicas":2,"readyReplicas":2,"availableReplicas":2,"observedGeneration":1,"generation":1,"resourceTemplateGeneration":3}`
		behind = `{"replicas":2,"readyReplicas":1,"observedGeneration":1,"generation":2,"resourceTemplateGeneration":3}`
		old    = `{"replicas":2,"observedGeneration":2,"generation":2,"resourceTemplateGeneration":2}`
	)
	workload := func(kind, status string) string {
		return `{"apiVersion":"apps/v1","kind":"` + kind + `","metadata":{"name":"x","generation":3},"status":` + status + `}`
	}
	of := func(apiVersion, kind, spec, status string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"x","generation":3},"spec":` + spec + `,"status":` + status + `}`
	}
	tests := map[string]struct {
		template string
		items    items
		want     string
	}{
		"Deployments are added up": {
			workload("Deployment", `{}`),
			items{item("b", ready2), item("a", ready1)},
			`{"availableReplicas":3,"observedGeneration":3,"readyReplicas":3,"replicas":3,"updatedReplicas":3}`,
		},
		"what else the status says stays": {
			workload("Deployment", `{"conditions":[{"type":"Available"}],"unavailableReplicas":4}`),
			items{item("a", ready1)},
			`{"availableReplicas":1,"conditions":[{"type":"Available"}],"observedGeneration":3,"readyReplicas":1,"replicas":1,"unavailableReplicas":0,"updatedReplicas":1}`,
		},
		"a generation is not observed while a member has not looked at it": {
			workload("Deployment", `{"observedGeneration":2}`),
			items{item("a", ready1), item("b", behind)},
			`{"availableReplicas":1,"observedGeneration":2,"readyReplicas":2,"replicas":3,"updatedReplicas":1}`,
		},
		"a generation is not observed while a member has an older one": {
			workload("Deployment", `{"observedGeneration":2}`),
			items{item("a", ready1), item("b", old)},
			`{"availableReplicas":1,"observedGeneration":2,"readyReplicas":1,"replicas":3,"updatedReplicas":1}`,
		},
		"a generation is not observed while a member has not reported": {
			workload("Deployment", `{"observedGeneration":2}`),
			items{item("a", ready1), item("b", "")},
			`{"availableReplicas":1,"observedGeneration":2,"readyReplicas":1,"replicas":1,"updatedReplicas":1}`,
		},
		"what no API takes is added to nothing, so that it is refused": {
			workload("Deployment", `{}`),
			items{item("a", `{"replicas":-1,"readyReplicas":2147483648,"availableReplicas":9223372036854775807}`), item("b", ready2), item("c", `{"updatedReplicas":2147483647}`)},
			`{"availableReplicas":9223372036854775807,"readyReplicas":2147483648,"replicas":-1,"updatedReplicas":2147483649}`,
		},
		"nor to what a Job had": {
			of("batch/v1", "Job", `{}`, `{"failed":3,"succeeded":3}`),
			items{item("a", `{"failed":-1,"succeeded":2}`), item("b", `{"failed":4}`)},
			`{"failed":-1,"succeeded":3}`,
		},
		"with no members everything is 0 and observed": {
			workload("Deployment", `{"replicas":3,"readyReplicas":2,"observedGeneration":2}`), nil,
			`{"observedGeneration":3,"readyReplicas":0,"replicas":0}`,
		},
		"ReplicaSets are added up": {
			workload("ReplicaSet", `{"replicas":0}`),
			items{item("a", ready1), item("b", ready2)},
			`{"availableReplicas":3,"observedGeneration":3,"readyReplicas":3,"replicas":3}`,
		},
		"ReplicationControllers are added up": {
			of("v1", "ReplicationController", `{}`, `{"replicas":0}`),
			items{item("a", ready1), item("b", ready2)},
			`{"availableReplicas":3,"observedGeneration":3,"readyReplicas":3,"replicas":3}`,
		},
		"StatefulSets are added up, and observed": {
			workload("StatefulSet", `{"replicas":0,"availableReplicas":0,"currentRevision":"r"}`),
			items{item("a", `{"replicas":1,"availableReplicas":1,"currentReplicas":1,"readyReplicas":1,"updatedReplicas":1,"observedGeneration":5,"generation":5,"resourceTemplateGeneration":3}`), item("b", ready2)},
			`{"availableReplicas":3,"currentReplicas":1,"currentRevision":"r","observedGeneration":3,"readyReplicas":3,"replicas":3,"updatedReplicas":3}`,
		},
		"DaemonSets are added up": {
			workload("DaemonSet", `{"currentNumberScheduled":0,"desiredNumberScheduled":0,"numberMisscheduled":0,"numberReady":0}`),
			items{
				item("a", `{"currentNumberScheduled":2,"desiredNumberScheduled":2,"numberMisscheduled":0,"numberReady":1,"numberAvailable":1,"updatedNumberScheduled":2,"numberUnavailable":1}`),
				item("b", `{"currentNumberScheduled":1,"desiredNumberScheduled":1,"numberMisscheduled":1,"numberReady":1,"numberAvailable":1,"updatedNumberScheduled":1}`),
			},
			`{"currentNumberScheduled":3,"desiredNumberScheduled":3,"numberAvailable":2,"numberMisscheduled":1,"numberReady":2,"numberUnavailable":1,"updatedNumberScheduled":3}`,
		},
		"addresses of Services are listed once, names first": {
			of("v1", "Service", `{"type":"LoadBalancer"}`, `{"loadBalancer":{}}`),
			items{
				item("a", `{"loadBalancer":{"ingress":[{"ip":"9.9.9.9","ipMode":"VIP","ports":[{"port":443,"protocol":"TCP"}]},{"hostname":"b.example.com"}]}}`),
				item("b", `{"loadBalancer":{"ingress":[{"ip":"9.9.9.9","ports":[{"port":80,"protocol":"TCP"},{"port":443,"protocol":"TCP"}]},{"ip":"1.1.1.1","ipMode":"Proxy"},{"hostname":"a.example.com"}]}}`),
				item("c", ""),
			},
			`{"loadBalancer":{"ingress":[{"hostname":"a.example.com"},{"hostname":"b.example.com"},{"ip":"1.1.1.1","ipMode":"Proxy"},` +
				`{"ip":"9.9.9.9","ipMode":"VIP","ports":[{"port":80,"protocol":"TCP"},{"port":443,"protocol":"TCP"}]}]}}`,
		},
		"addresses that are gone are gone": {
			of("v1", "Service", `{"type":"LoadBalancer"}`, `{"loadBalancer":{"ingress":[{"ip":"1.1.1.1","ipMode":"VIP"}]},"conditions":[]}`), nil,
			`{"conditions":[],"loadBalancer":{}}`,
		},
		"a Service in the cluster has no addresses": {
			of("v1", "Service", `{"type":"ClusterIP"}`, `{"loadBalancer":{}}`), items{item("a", `{"loadBalancer":{"ingress":[{"ip":"1.1.1.1"}]}}`)}, `{"loadBalancer":{}}`,
		},
		"addresses of an Ingress have no mode": {
			of("networking.k8s.io/v1", "Ingress", `{}`, `{"loadBalancer":{}}`),
			items{item("a", `{"loadBalancer":{"ingress":[{"ip":"2.2.2.2"},{"hostname":"z.example.com"}]}}`)},
			`{"loadBalancer":{"ingress":[{"hostname":"z.example.com"},{"ip":"2.2.2.2"}]}}`,
		},
		"CronJobs list what runs, and the latest times": {
			of("batch/v1", "CronJob", `{}`, `{}`),
			items{
				item("a", `{"active":[{"name":"j1"}],"lastScheduleTime":"2026-01-01T02:00:00Z","lastSuccessfulTime":"2026-01-01T01:00:00Z"}`),
				item("b", `{"active":[{"name":"j2"}],"lastScheduleTime":"2026-01-01T01:00:00Z"}`),
				item("c", `{"lastScheduleTime":"soon"}`),
			},
			`{"active":[{"name":"j1"},{"name":"j2"}],"lastScheduleTime":"2026-01-01T02:00:00Z","lastSuccessfulTime":"2026-01-01T01:00:00Z"}`,
		},
		"claims are bound when all are": {
			of("v1", "PersistentVolumeClaim", `{}`, `{"phase":"Pending"}`), items{item("a", `{"phase":"Bound"}`), item("b", `{"phase":"Bound","capacity":{}}`)}, `{"phase":"Bound"}`,
		},
		"claims are pending while one is": {
			of("v1", "PersistentVolumeClaim", `{}`, `{}`), items{item("a", `{"phase":"Pending"}`), item("b", `{"phase":"Bound"}`)}, `{"phase":"Pending"}`,
		},
		"claims are pending while one is not reported": {
			of("v1", "PersistentVolumeClaim", `{}`, `{}`), items{item("a", ""), item("b", `{"phase":"Bound"}`)}, `{"phase":"Pending"}`,
		},
		"claims are lost when one is": {
			of("v1", "PersistentVolumeClaim", `{}`, `{}`), items{item("a", `{"phase":"Lost"}`), item("b", `{"phase":"Pending"}`)}, `{"phase":"Lost"}`,
		},
		"claims that are nowhere stay as they are": {of("v1", "PersistentVolumeClaim", `{}`, `{"phase":"Pending"}`), nil, `{"phase":"Pending"}`},
		"volumes have failed when one has": {
			of("v1", "PersistentVolume", `{}`, `{}`), items{item("a", `{"phase":"Bound"}`), item("b", `{"phase":"Failed"}`), item("c", "")}, `{"phase":"Failed"}`,
		},
		"volumes are pending while one is not reported": {
			of("v1", "PersistentVolume", `{}`, `{}`), items{item("a", `{"phase":"Bound"}`), item("c", "")}, `{"phase":"Pending"}`,
		},
		"volumes are available before they are bound": {
			of("v1", "PersistentVolume", `{}`, `{}`), items{item("a", `{"phase":"Bound"}`), item("b", `{"phase":"Available"}`), item("c", `{"phase":"Released"}`)}, `{"phase":"Available"}`,
		},
		"budgets are added up, and pods named by cluster": {
			of("policy/v1", "PodDisruptionBudget", `{}`, `{"currentHealthy":0,"desiredHealthy":0,"disruptionsAllowed":0,"expectedPods":0,"observedGeneration":1,"disruptedPods":{"gone/p":"2026-01-01T00:00:00Z"}}`),
			items{
				item("a", `{"currentHealthy":2,"desiredHealthy":1,"disruptionsAllowed":1,"expectedPods":2,"disruptedPods":{"p":"2026-01-01T00:00:00Z"}}`),
				item("b", `{"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":0,"expectedPods":1}`),
			},
			`{"currentHealthy":3,"desiredHealthy":2,"disruptedPods":{"a/p":"2026-01-01T00:00:00Z"},"disruptionsAllowed":1,"expectedPods":3,"observedGeneration":1}`,
		},
		"autoscalers are added up": {
			of("autoscaling/v2", "HorizontalPodAutoscaler", `{}`, `{"desiredReplicas":0,"currentMetrics":null}`),
			items{item("a", `{"currentReplicas":1,"desiredReplicas":2}`), item("b", `{"currentReplicas":3,"desiredReplicas":3}`)},
			`{"currentMetrics":null,"currentReplicas":4,"desiredReplicas":5}`,
		},
		"Pods: one that failed is what counts": {
			of("v1", "Pod", `{}`, `{"phase":"Pending","qosClass":"BestEffort"}`), items{item("a", `{"phase":"Running"}`), item("b", `{"phase":"Failed"}`), item("c", "")}, `{"phase":"Failed","qosClass":"BestEffort"}`,
		},
		"Pods: one that is not reported is pending": {
			of("v1", "Pod", `{}`, `{}`), items{item("a", `{"phase":"Running"}`), item("b", "")}, `{"phase":"Pending"}`,
		},
		"Pods: running until all have succeeded": {
			of("v1", "Pod", `{}`, `{}`), items{item("a", `{"phase":"Succeeded"}`), item("b", `{"phase":"Running"}`)}, `{"phase":"Running"}`,
		},
		"Pods: containers are listed, those that have ended first": {
			of("v1", "Pod", `{}`, `{}`),
			items{
				item("a", `{"phase":"Running","containerStatuses":[{"name":"c","ready":true,"restartCount":3,"image":"x","state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}`),
				item("b", `{"phase":"Running","containerStatuses":[{"name":"c","ready":false,"state":{"terminated":{"exitCode":1,"startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:01:00Z"}}}]}`),
			},
			`{"containerStatuses":[{"image":"","imageID":"","lastState":{},"name":"c","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":1,"finishedAt":"2026-01-01T00:01:00Z","startedAt":"2026-01-01T00:00:00Z"}}},` +
				`{"image":"","imageID":"","lastState":{},"name":"c","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}],"phase":"Running"}`,
		},
		"Pods: init containers are listed, too": {
			of("v1", "Pod", `{}`, `{"phase":"Pending"}`),
			items{item("a", `{"phase":"Pending","initContainerStatuses":[{"name":"i","ready":false,"state":{"waiting":{"reason":"PodInitializing"}}}]}`)},
			`{"initContainerStatuses":[{"image":"","imageID":"","lastState":{},"name":"i","ready":false,"restartCount":0,"state":{"waiting":{"reason":"PodInitializing"}}}],"phase":"Pending"}`,
		},
		"Pods that are nowhere stay as they are": {of("v1", "Pod", `{}`, `{"phase":"Pending"}`), nil, `{"phase":"Pending"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(statusOf(g, aggregate(g, parsed(tt.template), tt.items...))).To(Equal(tt.want))
		})
	}
}

func TestAggregateOfATemplateWithoutStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	template := parsed(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}`)
	g.Expect(aggregate(g, template)).To(BeIdenticalTo(template), "nothing to say, nothing to write")
	out := aggregate(g, template, item("a", `{"replicas":1}`))
	g.Expect(statusOf(g, out)).To(Equal(`{"replicas":1}`))
}

func TestAggregateNamesTheClusterThatCannotBeRead(t *testing.T) {
	t.Parallel()
	_, err := native.New().AggregateStatus(t.Context(), parsed(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"}}`),
		[]workv1alpha2.AggregatedStatusItem{item("a", `{}`), item("edge-7", `"broken`)})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring(`"edge-7"`)))
}
