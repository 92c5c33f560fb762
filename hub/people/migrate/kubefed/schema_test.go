package kubefed_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/hub/people/migrate/conversion"
	"fairlead.dev/hub/people/migrate/kubefed"
)

// schema lists every field that KubeFed v0.10 has, at spec or beside it, with a value that differs from that in the
// object below. status is left out, because nobody writes it by hand.
const schema = `
FederatedTypeConfig spec.targetType.group "extensions"
FederatedTypeConfig spec.targetType.version "v9"
FederatedTypeConfig spec.targetType.kind "Gizmo"
FederatedTypeConfig spec.targetType.pluralName "gizmos"
FederatedTypeConfig spec.targetType.scope "Namespaced"
FederatedTypeConfig spec.propagation "Disabled"
FederatedTypeConfig spec.federatedType.group "gizmo.example.com"
FederatedTypeConfig spec.federatedType.version "v2"
FederatedTypeConfig spec.federatedType.kind "FederatedGizmo"
FederatedTypeConfig spec.federatedType.pluralName "federatedgizmos"
FederatedTypeConfig spec.federatedType.scope "Namespaced"
FederatedTypeConfig spec.statusType {"kind":"FederatedGizmoStatus"}
FederatedTypeConfig spec.statusCollection "Enabled"
KubeFedCluster metadata.labels {"tier":"gold"}
KubeFedCluster spec.apiEndpoint "https://x"
KubeFedCluster spec.caBundle "eHh4"
KubeFedCluster spec.secretRef.name "token"
KubeFedCluster spec.proxyURL "http://proxy"
KubeFedCluster spec.disabledTLSValidations ["*"]
KubeFedCluster status.region "us"
KubeFedCluster status.zones ["us-1"]
KubeFedCluster status.conditions [{"type":"Ready","status":"False"}]
KubeFedConfig spec.scope "Namespaced"
KubeFedConfig spec.controllerDuration.availableDelay "21s"
KubeFedConfig spec.controllerDuration.unavailableDelay "61s"
KubeFedConfig spec.controllerDuration.cacheSyncTimeout "6m"
KubeFedConfig spec.leaderElect.leaseDuration "16s"
KubeFedConfig spec.leaderElect.renewDeadline "11s"
KubeFedConfig spec.leaderElect.retryPeriod "6s"
KubeFedConfig spec.leaderElect.resourceLock "configmaps"
KubeFedConfig spec.featureGates [{"name":"PushReconciler","configuration":"Disabled"}]
KubeFedConfig spec.clusterHealthCheck.period "11s"
KubeFedConfig spec.clusterHealthCheck.failureThreshold 4
KubeFedConfig spec.clusterHealthCheck.successThreshold 2
KubeFedConfig spec.clusterHealthCheck.timeout "4s"
KubeFedConfig spec.syncController.maxConcurrentReconciles 2
KubeFedConfig spec.syncController.adoptResources "Disabled"
KubeFedConfig spec.statusController.maxConcurrentReconciles 2
FederatedDeployment metadata.name "other"
FederatedDeployment metadata.labels {"a":"b"}
FederatedDeployment metadata.annotations {"a":"b"}
FederatedDeployment metadata.annotations {"kubefed.io/orphan":"true"}
FederatedDeployment metadata.annotations {"kubefed.io/deleteoption":"{\"propagationPolicy\":\"Foreground\"}"}
FederatedDeployment metadata.annotations {"kubefed.io/deleteoption":"{\"gracePeriodSeconds\":1}"}
FederatedDeployment metadata.annotations {"kubefed.io/deleteoption":"{\"preconditions\":{}}"}
FederatedDeployment metadata.annotations {"kubefed.io/deleteoption":"{\"orphanDependents\":true}"}
FederatedDeployment metadata.annotations {"kubefed.io/deleteoption":"{\"dryRun\":[\"All\"]}"}
FederatedDeployment metadata.deletionTimestamp "2023-03-01T00:00:00Z"
FederatedDeployment spec.template.apiVersion "apps/v2"
FederatedDeployment spec.template.kind "ReplicaSet"
FederatedDeployment spec.template.metadata.name "x"
FederatedDeployment spec.template.metadata.namespace "x"
FederatedDeployment spec.template.metadata.labels {"x":"y"}
FederatedDeployment spec.template.metadata.annotations {"x":"y"}
FederatedDeployment spec.template.metadata.finalizers ["x/y"]
FederatedDeployment spec.template.metadata.ownerReferences []
FederatedDeployment spec.template.spec.paused true
FederatedDeployment spec.template.status {"replicas":1}
FederatedDeployment spec.placement.clusters [{"name":"b"}]
FederatedDeployment spec.placement.clusters []
FederatedDeployment spec.placement.clusterSelector {"matchLabels":{"x":"y"}}
FederatedDeployment spec.overrides [{"clusterName":"a","clusterOverrides":[{"path":"/spec/paused","value":true}]}]
FederatedDeployment spec.overrides [{"clusterName":"a","clusterOverrides":[{"path":"/spec/paused","op":"remove"}]}]
FederatedDeployment spec.overrides [{"clusterName":"a","clusterOverrides":[{"path":"/metadata/annotations/x","value":"y"}]}]
FederatedDeployment spec.overrides [{"clusterName":"a","clusterOverrides":[{"path":"/spec/replicas","value":9}]}]
FederatedDeployment spec.retainReplicas true
FederatedNamespace spec.placement.clusters [{"name":"b"}]
FederatedNamespace spec.placement.clusterSelector {"matchLabels":{"x":"y"}}
ReplicaSchedulingPreference spec.targetKind "FederatedReplicaSet"
ReplicaSchedulingPreference spec.totalReplicas 9
ReplicaSchedulingPreference spec.rebalance true
ReplicaSchedulingPreference spec.intersectWithClusterSelector true
ReplicaSchedulingPreference spec.clusters {"a":{"weight":5},"b":{"weight":1}}
ReplicaSchedulingPreference spec.clusters {"a":{"weight":1,"minReplicas":1}}
ReplicaSchedulingPreference spec.clusters {"a":{"weight":1,"maxReplicas":3}}
ReplicaSchedulingPreference spec.clusters {"*":{"weight":1}}
ReplicaSchedulingPreference spec.clusters {"a":{"weight":0}}
PropagatedVersion status.templateVersion "x"
ClusterPropagatedVersion status.templateVersion "x"
FederatedServiceStatus clusterStatus []
`

// whole is one object of each kind. It lacks the field that is set, unless that is required.
const whole = shop + `
apiVersion: core.kubefed.io/v1beta1
kind: FederatedTypeConfig
metadata: {name: deployments.apps}
spec:
  targetType: {group: apps, version: v1, kind: Deployment}
  federatedType: {group: types.kubefed.io, kind: FederatedDeployment}
---
{apiVersion: core.kubefed.io/v1beta1, kind: KubeFedConfig, metadata: {name: kubefed, namespace: kube-federation-system}, spec: {}}
---
{apiVersion: types.kubefed.io/v1beta1, kind: FederatedDeployment, metadata: {name: web, namespace: shop}, spec: {template: {spec: {replicas: 2}}, placement: {clusterSelector: {matchLabels: {tier: gold}}}}}
---
{apiVersion: types.kubefed.io/v1beta1, kind: FederatedDeployment, metadata: {name: divided, namespace: shop}, spec: {template: {spec: {}}, placement: {clusterSelector: {matchLabels: {tier: gold}}}}}
---
{apiVersion: scheduling.kubefed.io/v1alpha1, kind: ReplicaSchedulingPreference, metadata: {name: divided, namespace: shop}, spec: {targetKind: FederatedDeployment, totalReplicas: 8, clusters: {a: {weight: 1}}}}
`

// TestEveryFieldIsConvertedOrNamed sets each field in turn: either the result changes, or a finding names the field.
func TestEveryFieldIsConvertedOrNamed(t *testing.T) {
	t.Parallel()
	for _, replicas := range []kubefed.Replicas{kubefed.Freeze, kubefed.Weights} {
		before := kubefed.Convert(read(NewWithT(t), whole), kubefed.Options{Replicas: replicas})
		NewWithT(t).Expect(refusals(before)).To(BeEmpty())
		for line := range strings.Lines(strings.TrimSpace(schema)) {
			parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
			t.Run(string(replicas)+" "+strings.Join(parts, " "), func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				documents := set(g, read(g, whole), parts[0], parts[1], parts[2])
				after := kubefed.Convert(documents, kubefed.Options{Replicas: replicas})
				if written(g, after) != written(g, before) {
					return
				}
				news := slices.DeleteFunc(slices.Concat(told(after), refusals(after)), func(f string) bool {
					return slices.Contains(told(before), f)
				})
				g.Expect(news).NotTo(BeEmpty(), "the field is dropped in silence")
			})
		}
	}
}

// set sets a field of the first object of a kind, which is created if there is none.
func set(g Gomega, documents []conversion.Document, kind, path, value string) []conversion.Document {
	var v any
	g.Expect(json.Unmarshal([]byte(value), &v)).To(Succeed())
	name := map[string]string{"ReplicaSchedulingPreference": "divided", "FederatedDeployment": "web", "KubeFedCluster": "c"}[kind]
	for _, d := range documents {
		if d.Object.GetKind() == kind && (name == "" || d.Object.GetName() == name) {
			g.Expect(unstructured.SetNestedField(d.Object.Object, v, strings.Split(path, ".")...)).To(Succeed())
			return documents
		}
	}
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "core.kubefed.io/v1beta1", "kind": kind, "metadata": map[string]any{"name": "x", "namespace": "shop"}}}
	g.Expect(unstructured.SetNestedField(obj.Object, v, strings.Split(path, ".")...)).To(Succeed())
	return append(documents, conversion.Document{File: "f.yaml", Object: obj})
}

// TestTwiceTheSame checks that the order of documents makes no difference.
func TestTwiceTheSame(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := read(g, whole+"---\n"+strings.ReplaceAll(deployment("placement: {clusters: [{name: a}, {name: b}]}"), "name: web", "name: third")+
		"---\n"+typeConfig("x.apps", "ReplicaSet", "FederatedX")+"---\n"+typeConfig("y.apps", "ReplicaSet", "FederatedY")+"---\n"+typeConfig("z.apps", "ReplicaSet", "FederatedZ"))
	want := kubefed.Convert(in, kubefed.Options{Replicas: kubefed.Freeze})
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		random.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		got := kubefed.Convert(in, kubefed.Options{Replicas: kubefed.Freeze})
		g.Expect(written(g, got)).To(Equal(written(g, want)))
		g.Expect(fmt.Sprint(got.Findings)).To(Equal(fmt.Sprint(want.Findings)))
	}
}

func BenchmarkThousandObjects(b *testing.B) {
	g := NewWithT(b)
	documents := read(g, shop)
	for n := range 1000 {
		one := strings.ReplaceAll(deployment("placement: {clusterSelector: {}}"), "name: web", fmt.Sprintf("name: web-%d", n))
		documents = append(documents, read(g, one)...)
		two := strings.ReplaceAll(preference("totalReplicas: 9"), "name: web", fmt.Sprintf("name: web-%d", n))
		documents = append(documents, read(g, two)...)
	}
	for b.Loop() {
		r := kubefed.Convert(documents, kubefed.Options{Replicas: kubefed.Freeze})
		g.Expect(len(r.Objects)).To(BeNumerically(">", 2000))
	}
}
