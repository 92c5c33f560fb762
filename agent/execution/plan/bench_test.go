package plan_test

import (
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"fairlead.dev/agent/execution/plan"
)

// shown is a Deployment as a member shows it.
const shown = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"0b9c2d5e-5a6f-4a57-9d0f-6a5e6f3f0d11",
	"resourceVersion":"123456","generation":3,"creationTimestamp":"2026-01-01T12:00:00Z","labels":{"app":"web","karmada.io/managed":"true"},
	"annotations":{"deployment.kubernetes.io/revision":"3","work.karmada.io/name":"web-687f7fb96f","work.karmada.io/namespace":"karmada-es-edge-1",
		"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":3}}"},
	"managedFields":[
		{"manager":"fairlead-agent","operation":"Apply","apiVersion":"apps/v1","time":"2026-01-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{
			"f:metadata":{"f:annotations":{"f:work.karmada.io/name":{},"f:work.karmada.io/namespace":{}},"f:labels":{"f:app":{},"f:karmada.io/managed":{}}},
			"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{
				"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{},"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},
				"f:resources":{"f:requests":{"f:cpu":{},"f:memory":{}}}}}}}}}},
		{"manager":"kube-controller-manager","operation":"Update","apiVersion":"apps/v1","time":"2026-01-01T12:00:01Z","fieldsType":"FieldsV1","subresource":"status","fieldsV1":{
			"f:metadata":{"f:annotations":{".":{},"f:deployment.kubernetes.io/revision":{}}},
			"f:status":{"f:availableReplicas":{},"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:lastTransitionTime":{},"f:lastUpdateTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}},
				"f:observedGeneration":{},"f:readyReplicas":{},"f:replicas":{},"f:updatedReplicas":{}}}}]},
	"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx",
		"ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]}}},
	"status":{"availableReplicas":3,"observedGeneration":3,"readyReplicas":3,"replicas":3,"updatedReplicas":3,
		"conditions":[{"type":"Available","status":"True","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability.",
			"lastTransitionTime":"2026-01-01T12:00:01Z","lastUpdateTime":"2026-01-01T12:00:01Z"}]}}`

// BenchmarkKept measures the memory of a cached object of the member, in bytes, as received and as slimmed.
func BenchmarkKept(b *testing.B) {
	for name, slim := range map[string]bool{"as it comes": false, "as it is kept": true} {
		b.Run(name, func(b *testing.B) {
			const n = 500
			before, after := runtime.MemStats{}, runtime.MemStats{}
			objects := make([]*unstructured.Unstructured, n)
			for b.Loop() {
				clear(objects)
				runtime.GC()
				runtime.ReadMemStats(&before)
				for i := range objects {
					objects[i] = &unstructured.Unstructured{}
					if err := json.Unmarshal([]byte(shown), &objects[i].Object); err != nil {
						b.Fatal(err)
					}
					if slim {
						plan.Slim(objects[i])
					}
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/object")
			runtime.KeepAlive(objects)
		})
	}
}

// BenchmarkLook measures the check of an object that needs no change.
func BenchmarkLook(b *testing.B) {
	obj := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(shown), &obj.Object); err != nil {
		b.Fatal(err)
	}
	record := plan.NewRecord(plan.DigestOf([]byte("x")), obj, noon)
	plan.Slim(obj)
	b.ReportAllocs()
	for b.Loop() {
		if !record.Describes(obj) {
			b.Fatal("it is as it was")
		}
	}
}
