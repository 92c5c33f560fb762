package native_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/interpreter/native"
)

func TestReflectStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ live, want string }{
		"a Deployment tells its counters and generations": {
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","generation":4,"annotations":{"resourcetemplate.karmada.io/generation":"2"}},
			"status":{"replicas":3,"updatedReplicas":3,"readyReplicas":2,"availableReplicas":2,"unavailableReplicas":1,"observedGeneration":4,"conditions":[{"type":"Available"}],"collisionCount":1}}`,
			`{"availableReplicas":2,"generation":4,"observedGeneration":4,"readyReplicas":2,"replicas":3,"resourceTemplateGeneration":2,"unavailableReplicas":1,"updatedReplicas":3}`,
		},
		"counters that are 0 are left out": {
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","generation":1},"status":{"replicas":0,"observedGeneration":1}}`,
			`{"generation":1,"observedGeneration":1}`,
		},
		"a generation that cannot be read is left out": {
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","generation":1,"annotations":{"resourcetemplate.karmada.io/generation":"two"}},"status":{"replicas":1}}`,
			`{"generation":1,"replicas":1}`,
		},
		"a Deployment without anything has no status": {
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x"},"status":{}}`, ``,
		},
		"no status is no status": {
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","generation":1}}`, ``,
		},
		"a ReplicaSet": {
			`{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"x","generation":1},"status":{"replicas":1,"fullyLabeledReplicas":1,"readyReplicas":1,"availableReplicas":1,"observedGeneration":1}}`,
			`{"availableReplicas":1,"generation":1,"observedGeneration":1,"readyReplicas":1,"replicas":1}`,
		},
		"a ReplicationController": {
			`{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"x","generation":1},"status":{"replicas":1,"fullyLabeledReplicas":1,"readyReplicas":1,"availableReplicas":1,"observedGeneration":1}}`,
			`{"availableReplicas":1,"generation":1,"observedGeneration":1,"readyReplicas":1,"replicas":1}`,
		},
		"a StatefulSet tells which generation it speaks of": {
			`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"x","generation":2},"status":{"replicas":2,"readyReplicas":1,"currentReplicas":1,"updatedReplicas":1,"observedGeneration":2,"currentRevision":"r"}}`,
			`{"availableReplicas":0,"currentReplicas":1,"generation":2,"observedGeneration":2,"readyReplicas":1,"replicas":2,"updatedReplicas":1}`,
		},
		"a DaemonSet always tells what its kind requires": {
			`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"x","generation":1},"status":{"desiredNumberScheduled":2,"numberUnavailable":2,"observedGeneration":1}}`,
			`{"currentNumberScheduled":0,"desiredNumberScheduled":2,"generation":1,"numberMisscheduled":0,"numberReady":0,"numberUnavailable":2,"observedGeneration":1}`,
		},
		"a Job": {
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"x"},"status":{"active":1,"succeeded":2,"startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Suspended"}],"uncountedTerminatedPods":{}}}`,
			`{"active":1,"conditions":[{"type":"Suspended"}],"startTime":"2026-01-01T00:00:00Z","succeeded":2}`,
		},
		"a Service of type LoadBalancer tells its addresses": {
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]},"conditions":[]}}`,
			`{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}`,
		},
		"another Service tells nothing": {
			`{"apiVersion":"v1","kind":"Service","metadata":{"name":"x"},"spec":{"type":"ClusterIP"},"status":{"loadBalancer":{}}}`, ``,
		},
		"a PodDisruptionBudget": {
			`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"x"},"status":{"currentHealthy":1,"expectedPods":2,"disruptedPods":{"p":"2026-01-01T00:00:00Z"},"observedGeneration":1}}`,
			`{"currentHealthy":1,"desiredHealthy":0,"disruptedPods":{"p":"2026-01-01T00:00:00Z"},"disruptionsAllowed":0,"expectedPods":2}`,
		},
		"a HorizontalPodAutoscaler": {
			`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"x"},"status":{"currentReplicas":0,"desiredReplicas":0,"currentMetrics":null}}`,
			`{"desiredReplicas":0}`,
		},
		"a Pod tells everything": {
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"status":{"phase":"Running","podIP":"10.1.1.1"}}`, `{"phase":"Running","podIP":"10.1.1.1"}`,
		},
		"so does a CronJob": {
			`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"x"},"status":{"active":[{"name":"j"}],"lastScheduleTime":"2026-01-01T00:00:00Z"}}`,
			`{"active":[{"name":"j"}],"lastScheduleTime":"2026-01-01T00:00:00Z"}`,
		},
		"so does an Ingress": {
			`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"x"},"status":{"loadBalancer":{}}}`, `{"loadBalancer":{}}`,
		},
		"so does a claim": {
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"x"},"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`, `{"capacity":{"storage":"1Gi"},"phase":"Bound"}`,
		},
		"so does a volume": {
			`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"x"},"status":{"phase":"Released","reason":"r"}}`, `{"phase":"Released","reason":"r"}`,
		},
		"so does a ServiceImport": {
			`{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ServiceImport","metadata":{"name":"x"},"status":{"clusters":[{"cluster":"a"}]}}`, `{"clusters":[{"cluster":"a"}]}`,
		},
		"a ServiceAccount has none to tell": {`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"x"}}`, ``},
		"nor has a Secret":                  {`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, ``},
		"so does any other kind": {
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},"status":{"n":1.5,"big":9007199254740993}}`, `{"big":9007199254740993,"n":1.5}`,
		},
		"a status that is no object is none": {
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x"},"status":"fine"}`, ``,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			live := parsed(tt.live)
			before := live.DeepCopy()
			got, err := native.New().ReflectStatus(t.Context(), live)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(live).To(Equal(before))
			if tt.want == "" {
				g.Expect(got).To(BeNil())
				return
			}
			g.Expect(string(got.Raw)).To(Equal(tt.want))
		})
	}
}
