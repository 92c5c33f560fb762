package native_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
)

// usualPod is the spec of a pod with most fields set, as an API server returns it.
const usualPod = `{
	"serviceAccountName": "web", "serviceAccount": "web", "dnsPolicy": "ClusterFirst", "restartPolicy": "Always",
	"schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30, "imagePullSecrets": [{"name": "registry"}],
	"securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
	"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [{"key": "edge", "operator": "Exists", "effect": "NoSchedule"}],
	"affinity": {
		"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}]}},
		"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}}]}
	},
	"initContainers": [{
		"name": "migrate", "image": "registry.example.com/web:1.2.3", "command": ["/web", "migrate"], "imagePullPolicy": "IfNotPresent",
		"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}, "volumeMounts": [{"name": "settings", "mountPath": "/settings"}]
	}],
	"containers": [
		{
			"name": "web", "image": "registry.example.com/web:1.2.3", "imagePullPolicy": "IfNotPresent", "args": ["--port=8080", "--verbose"],
			"ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}, {"name": "metrics", "containerPort": 9090, "protocol": "TCP"}],
			"env": [
				{"name": "POD", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}, {"name": "LEVEL", "value": "info"},
				{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "database", "key": "password"}}}
			],
			"envFrom": [{"configMapRef": {"name": "web"}}],
			"resources": {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": {"cpu": "1", "memory": "512Mi"}},
			"livenessProbe": {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3, "successThreshold": 1},
			"readinessProbe": {"httpGet": {"path": "/readyz", "port": "http", "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3, "successThreshold": 1},
			"securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
			"volumeMounts": [{"name": "settings", "mountPath": "/settings", "readOnly": true}, {"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": "/tmp"}],
			"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"
		},
		{
			"name": "proxy", "image": "registry.example.com/proxy:4.5.6", "imagePullPolicy": "IfNotPresent",
			"ports": [{"name": "https", "containerPort": 8443, "protocol": "TCP"}], "env": [{"name": "UPSTREAM", "value": "127.0.0.1:8080"}],
			"resources": {"requests": {"cpu": "50m", "memory": "32Mi"}},
			"volumeMounts": [{"name": "certificate", "mountPath": "/tls", "readOnly": true}],
			"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"
		}
	],
	"volumes": [
		{"name": "settings", "configMap": {"name": "settings", "defaultMode": 420}}, {"name": "certificate", "secret": {"secretName": "tls", "defaultMode": 420}},
		{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, {"name": "tmp", "emptyDir": {}}
	]
}`

// usual is an object of a kind with a usual pod in its spec, and a status.
func usual(apiVersion, kind, spec, status string) string {
	return `{"apiVersion": "` + apiVersion + `", "kind": "` + kind + `", "metadata": {
		"name": "web", "namespace": "shop", "uid": "0b0f5b7c-6d0a-4f5e-8a9e-3f0f0f0f0f0f", "resourceVersion": "123456", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
		"labels": {"app": "web", "app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop", "resourcetemplate.karmada.io/retain-replicas": "true"},
		"annotations": {"resourcetemplate.karmada.io/generation": "3", "example.com/owner": "team-shop"}
	}, "spec": ` + spec + `, "status": ` + status + `}`
}

// ofAll is a sample of one kind: its spec, and the status that a cluster reports.
type ofAll struct{ apiVersion, kind, spec, status string }

func ofKinds() []ofAll {
	const (
		template = `"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": ` + usualPod + `}`
		counters = `"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3, "currentReplicas": 3, "observedGeneration": 3, "generation": 3, "resourceTemplateGeneration": 3`
		since    = `"lastUpdateTime": "2026-01-01T00:00:00Z", "lastTransitionTime": "2026-01-01T00:00:00Z"`
		address  = `{"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP", "ports": [{"port": 443, "protocol": "TCP"}]}, {"hostname": "web.example.com"}]}}`
		running  = `"ready": true, "restartCount": 0, "started": true, "image": "registry.example.com/web:1.2.3", "imageID": "sha256:0123", "containerID": "containerd://0123", "lastState": {}, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}`
	)
	return []ofAll{
		{"apps/v1", "Deployment", `{"replicas": 3, "strategy": {"type": "RollingUpdate"}, ` + template + `}`, `{` + counters + `, "conditions": [{"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable", "message": "Deployment has minimum availability.", ` + since + `}, {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable", "message": "ReplicaSet \"web-1\" has successfully progressed.", ` + since + `}]}`},
		{"apps/v1", "ReplicaSet", `{"replicas": 3, ` + template + `}`, `{` + counters + `}`},
		{"v1", "ReplicationController", `{"replicas": 3, ` + template + `}`, `{` + counters + `}`},
		{"apps/v1", "StatefulSet", `{"replicas": 3, "serviceName": "web", "volumeClaimTemplates": [{"metadata": {"name": "data"}}], ` + template + `}`, `{` + counters + `}`},
		{"apps/v1", "DaemonSet", `{` + template + `}`, `{"desiredNumberScheduled": 3, "currentNumberScheduled": 3, "numberReady": 3, "numberAvailable": 3, "updatedNumberScheduled": 3, "numberMisscheduled": 0, "observedGeneration": 3, "generation": 3, "resourceTemplateGeneration": 3}`},
		{"batch/v1", "Job", `{"parallelism": 3, "completions": 9, ` + template + `}`, `{"active": 3, "succeeded": 2, "failed": 1, "startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Suspended", "status": "False", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}`},
		{"batch/v1", "CronJob", `{"schedule": "0 * * * *", "jobTemplate": {"spec": {` + template + `}}}`, `{"active": [{"apiVersion": "batch/v1", "kind": "Job", "name": "web-1", "namespace": "shop", "uid": "0123"}], "lastScheduleTime": "2026-01-01T00:00:00Z", "lastSuccessfulTime": "2026-01-01T00:05:00Z"}`},
		{"v1", "Pod", usualPod, `{"phase": "Running", "conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"}], "containerStatuses": [{"name": "web", ` + running + `}, {"name": "proxy", ` + running + `}], "podIP": "192.0.2.7"}`},
		{"v1", "Service", `{"type": "LoadBalancer", "clusterIP": "192.0.2.9", "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https", "nodePort": 30443}]}`, address},
		{"networking.k8s.io/v1", "Ingress", `{"tls": [{"hosts": ["web.example.com"], "secretName": "tls"}], "rules": [{"host": "web.example.com", "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 443}}}}]}}]}`, address},
		{"v1", "PersistentVolumeClaim", `{"accessModes": ["ReadWriteOnce"], "volumeName": "pv-1", "resources": {"requests": {"storage": "1Gi"}}}`, `{"phase": "Bound", "capacity": {"storage": "1Gi"}}`},
		{"v1", "PersistentVolume", `{"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "claimRef": {"name": "data"}, "csi": {"driver": "disk.example.com", "volumeHandle": "1"}}`, `{"phase": "Bound"}`},
		{"v1", "ServiceAccount", `{}`, `{}`},
		{"v1", "Namespace", `{}`, `{"phase": "Active"}`},
		{"v1", "Secret", `{}`, `{}`},
		{"policy/v1", "PodDisruptionBudget", `{"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}`, `{"currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1, "expectedPods": 3, "observedGeneration": 3}`},
		{"autoscaling/v2", "HorizontalPodAutoscaler", `{"maxReplicas": 9, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}`, `{"currentReplicas": 3, "desiredReplicas": 4, "conditions": [{"type": "AbleToScale", "status": "True"}, {"type": "ScalingActive", "status": "True"}]}`},
		{"multicluster.x-k8s.io/v1alpha1", "ServiceImport", `{"type": "ClusterSetIP", "ports": [{"port": 443}]}`, `{}`},
		{"example.com/v1", "Widget", `{"size": 3}`, `{"observedGeneration": 3, "conditions": [{"type": "Ready", "status": "True"}]}`},
	}
}

// BenchmarkOperations measures each rule on an object of usual size.
func BenchmarkOperations(b *testing.B) {
	kinds := native.New()
	for _, k := range ofKinds() {
		obj := parsed(usual(k.apiVersion, k.kind, k.spec, k.status))
		bare := parsed(usual(k.apiVersion, k.kind, k.spec, `{}`))
		status, err := kinds.ReflectStatus(b.Context(), obj)
		if err != nil {
			b.Fatal(err)
		}
		var items []workv1alpha2.AggregatedStatusItem
		for i := range 10 {
			items = append(items, workv1alpha2.AggregatedStatusItem{ClusterName: fmt.Sprintf("edge-%d", i), Status: status})
		}
		measure := func(name string, op interpreter.Operation, items []workv1alpha2.AggregatedStatusItem) {
			b.Run(k.kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := operate(b, kinds, op, obj, bare, items); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		for _, op := range interpreter.Operations() {
			if kinds.Has(obj.GroupVersionKind(), op) {
				measure(string(op), op, items[:1])
			}
		}
		if kinds.Has(obj.GroupVersionKind(), interpreter.AggregateStatus) {
			measure("AggregateStatus of ten clusters", interpreter.AggregateStatus, items)
		}
	}
}

// operate asks one question; aggregation starts from bare, an object without a status.
func operate(
	tb testing.TB, kinds interpreter.Interpreter, op interpreter.Operation, obj, bare *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem,
) (err error) {
	tb.Helper()
	ctx := tb.Context()
	switch op {
	case interpreter.InterpretReplica:
		_, _, err = kinds.Replicas(ctx, obj)
	case interpreter.ReviseReplica:
		_, err = kinds.ReviseReplicas(ctx, obj, 5)
	case interpreter.Retain:
		_, err = kinds.Retain(ctx, bare, obj)
	case interpreter.InterpretStatus:
		_, err = kinds.ReflectStatus(ctx, obj)
	case interpreter.AggregateStatus:
		_, err = kinds.AggregateStatus(ctx, bare, items)
	case interpreter.InterpretHealth:
		_, err = kinds.Health(ctx, obj)
	case interpreter.InterpretDependency:
		_, err = kinds.Dependencies(ctx, obj)
	default:
		tb.Fatalf("no such operation: %s", op)
	}
	return err
}
