package lua

import (
	"context"
	goruntime "runtime"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/yaml"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
)

// web is a Deployment as read from a member.
const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  generation: 4
  resourceVersion: "12345"
  uid: 6b4c2c0e-0000-4000-8000-000000000001
  labels: {app: web, tier: front, propagationpolicy.karmada.io/permanent-id: 0f0f0f0f-0000-4000-8000-000000000002}
  annotations: {resourcetemplate.karmada.io/generation: "2", deployment.kubernetes.io/revision: "3", team: shop}
spec:
  replicas: 3
  revisionHistoryLimit: 10
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
  template:
    metadata: {labels: {app: web, tier: front}, annotations: {prometheus.io/scrape: "true"}}
    spec:
      serviceAccountName: web
      restartPolicy: Always
      terminationGracePeriodSeconds: 30
      securityContext: {}
      containers:
      - name: web
        image: registry.example.com/shop/web:1.2.3
        args: ["--listen=:8080", "--verbose"]
        ports: [{containerPort: 8080, name: http, protocol: TCP}]
        env: [{name: MODE, value: production}, {name: PASSWORD, valueFrom: {secretKeyRef: {name: web, key: password}}}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
        readinessProbe: {httpGet: {path: /ready, port: 8080, scheme: HTTP}, periodSeconds: 5}
        volumeMounts: [{name: tmp, mountPath: /tmp}, {name: settings, mountPath: /etc/web}]
      volumes: [{name: tmp, emptyDir: {}}, {name: settings, configMap: {name: web}}]
status:
  observedGeneration: 4
  replicas: 3
  updatedReplicas: 3
  readyReplicas: 3
  availableReplicas: 3
  conditions:
  - {type: Available, status: "True", reason: MinimumReplicasAvailable, lastTransitionTime: "2026-01-01T00:00:00Z", message: Deployment has minimum availability.}
  - {type: Progressing, status: "True", reason: NewReplicaSetAvailable, lastTransitionTime: "2026-01-01T00:00:00Z", message: ReplicaSet has successfully progressed.}
`

const (
	healthScript = `
function InterpretHealth(observed)
  if observed.status.observedGeneration ~= observed.metadata.generation then return false end
  if observed.spec.replicas ~= nil and (observed.status.updatedReplicas or 0) < observed.spec.replicas then return false end
  return (observed.status.availableReplicas or 0) >= (observed.status.updatedReplicas or 0)
end`
	retainScript = `
function Retain(desired, observed)
  desired.spec.replicas = observed.spec.replicas
  return desired
end`
	replicaScript = `
local kube = require("kube")
function GetReplicas(desired)
  return desired.spec.replicas, kube.accuratePodRequirements(desired.spec.template)
end`
	reviseScript = `
function ReviseReplica(desired, replicas)
  desired.spec.replicas = replicas
  return desired
end`
	dependencyScript = `
local kube = require("kube")
function GetDependencies(desired)
  return kube.getPodDependencies(desired.spec.template, desired.metadata.namespace)
end`
	reflectScript = `
function ReflectStatus(observed)
  local status = observed.status
  return { replicas = status.replicas, readyReplicas = status.readyReplicas, generation = observed.metadata.generation }
end`
	aggregateScript = `
function AggregateStatus(desired, items)
  local replicas, ready = 0, 0
  for _, item in ipairs(items or {}) do
    if item.status ~= nil then
      replicas = replicas + (item.status.replicas or 0)
      ready = ready + (item.status.readyReplicas or 0)
    end
  end
  desired.status = { replicas = replicas, readyReplicas = ready }
  return desired
end`
	componentScript = `
function GetComponents(desired)
  return { { name = "main", replicas = desired.spec.replicas, replicaRequirements = { resourceRequest = { cpu = "1" } } } }
end`
)

func deployed(tb testing.TB) *unstructured.Unstructured {
	tb.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(web), &obj.Object); err != nil {
		tb.Fatal(err)
	}
	encoded, err := obj.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	if err := obj.UnmarshalJSON(encoded); err != nil { // whole numbers as int64
		tb.Fatal(err)
	}
	return obj
}

// customization returns one for Deployments with these rules.
func customization(name string, rules configv1alpha1.CustomizationRules) configv1alpha1.ResourceInterpreterCustomization {
	out := configv1alpha1.ResourceInterpreterCustomization{}
	out.Name = name
	out.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: "apps/v1", Kind: "Deployment"}
	out.Spec.Customizations = rules
	return out
}

func script(text string) *configv1alpha1.LuaRule { return &configv1alpha1.LuaRule{LuaScript: text} }

func everyRule() configv1alpha1.CustomizationRules {
	return configv1alpha1.CustomizationRules{
		Retention: script(retainScript), ReplicaResource: script(replicaScript), ComponentResource: script(componentScript),
		ReplicaRevision: script(reviseScript), StatusReflection: script(reflectScript), StatusAggregation: script(aggregateScript),
		HealthInterpretation: script(healthScript), DependencyInterpretation: script(dependencyScript),
	}
}

func compileAll(tb testing.TB, customizations ...configv1alpha1.ResourceInterpreterCustomization) *Interpreter {
	tb.Helper()
	c, err := NewCompiler(Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return c.Compile(customizations)
}

// BenchmarkSixteen calls from sixteen goroutines; with -cpu 1,2,4 it shows how they share the states of a script.
func BenchmarkSixteen(b *testing.B) {
	i, obj := compileAll(b, customization("a", everyRule())), deployed(b)
	for _, op := range []interpreter.Operation{interpreter.InterpretHealth, interpreter.ReviseReplica} {
		b.Run(string(op), func(b *testing.B) {
			q := questionTo(op, obj)
			b.SetParallelism(max(1, 16/goruntime.GOMAXPROCS(0)))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := q.Ask(context.Background(), i); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkOperations calls each operation once per iteration.
func BenchmarkOperations(b *testing.B) {
	i, obj := compileAll(b, customization("a", everyRule())), deployed(b)
	for _, op := range interpreter.Operations() {
		b.Run(string(op), func(b *testing.B) {
			q := questionTo(op, obj)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := q.Ask(context.Background(), i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// questionTo returns a question about a Deployment that is in three clusters.
func questionTo(op interpreter.Operation, obj *unstructured.Unstructured) interpreter.Question {
	status := &runtime.RawExtension{Raw: []byte(`{"replicas":3,"readyReplicas":3,"updatedReplicas":3,"availableReplicas":3,"observedGeneration":4,"generation":4,"resourceTemplateGeneration":2}`)}
	q := interpreter.Question{Operation: op, Object: obj, Live: obj, Replicas: 5}
	for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
		q.Items = append(q.Items, workv1alpha2.AggregatedStatusItem{ClusterName: name, Status: status, Applied: true, Health: workv1alpha1.Healthy})
	}
	return q
}

// BenchmarkReviseReplicasCompilingEachTime measures a call that compiles its script and opens the libraries each
// time.
func BenchmarkReviseReplicasCompilingEachTime(b *testing.B) {
	obj := deployed(b)
	b.ReportAllocs()
	for b.Loop() {
		i := compileAll(b, customization("a", configv1alpha1.CustomizationRules{ReplicaRevision: script(reviseScript)}))
		if _, err := i.ReviseReplicas(context.Background(), obj, 5); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCompileOnly measures gopher-lua's compilation of such a script alone.
func BenchmarkCompileOnly(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		l := lua.NewState()
		if err := l.DoString(reviseScript); err != nil {
			b.Fatal(err)
		}
		l.Close()
	}
}
