package karmada_test

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/yaml"

	"fairlead.dev/hub/flow/binding/render"
	"fairlead.dev/hub/people/migrate/conversion"
	"fairlead.dev/hub/people/migrate/karmada"
	"fairlead.dev/test/builder"
)

// read parses documents as they are in a file.
func read(g Gomega, text string) []conversion.Document {
	objects, err := builder.Objects(text)
	g.Expect(err).NotTo(HaveOccurred())
	out := make([]conversion.Document, len(objects))
	for i, obj := range objects {
		out[i] = conversion.Document{File: "f.yaml", Object: obj}
	}
	return out
}

func printed(g Gomega, r conversion.Result) string {
	var out bytes.Buffer
	for _, c := range r.Commands {
		out.WriteString("$ " + c + "\n")
	}
	for _, obj := range r.Objects {
		text, err := yaml.Marshal(obj.Object)
		g.Expect(err).NotTo(HaveOccurred())
		out.WriteString("---\n" + string(text))
	}
	return out.String()
}

const shop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, uid: n1, resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z", labels: {kubernetes.io/metadata.name: shop, team: a}}
spec: {finalizers: [kubernetes]}
status: {phase: Active}
---
{apiVersion: v1, kind: Namespace, metadata: {name: karmada-es-a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: shop}}
---
{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: karmada-cluster}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: d1
  resourceVersion: "7"
  generation: 3
  labels: {app: web, propagationpolicy.karmada.io/permanent-id: p1}
  annotations: {propagationpolicy.karmada.io/name: web, propagationpolicy.karmada.io/namespace: shop, kept: "yes"}
spec:
  replicas: 3
  template: {spec: {containers: [{name: c, image: "nginx:1"}]}}
status: {replicas: 3}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: shop, uid: p0, resourceVersion: "8", finalizers: [karmada.io/propagation-policy-controller], labels: {propagationpolicy.karmada.io/permanent-id: p1}}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: web, namespace: shop}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]
  overrideRules: [{targetCluster: {clusterNames: [b]}, overriders: {plaintext: [{path: /spec/paused, operator: add, value: false}]}}]
---
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata:
  name: web-deployment
  namespace: shop
  uid: b1
  finalizers: [karmada.io/binding-controller]
  labels: {propagationpolicy.karmada.io/permanent-id: p1, resourcebinding.karmada.io/permanent-id: r1}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: d1, controller: true}]
spec:
  resource: {apiVersion: apps/v1, kind: Deployment, name: web, namespace: shop, uid: d1, resourceVersion: "7"}
  replicas: 3
  schedulerName: default-scheduler
  clusters: [{name: a, replicas: 1}, {name: b, replicas: 2}]
  placement: {replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted, weightPreference: {dynamicWeight: AvailableReplicas}}}
status: {conditions: []}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: a, labels: {tier: gold}}
spec: {syncMode: Push, apiEndpoint: "https://a", provider: acme, region: eu, zone: eu-1, taints: [{key: mine, effect: NoSchedule}]}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: b}
spec: {syncMode: Pull}
---
{apiVersion: apps.karmada.io/v1alpha1, kind: WorkloadRebalancer, metadata: {name: w}, spec: {workloads: []}}
---
apiVersion: work.karmada.io/v1alpha1
kind: Work
metadata: {name: web-687f7fb96f, namespace: karmada-es-a}
spec:
  workload:
    manifests:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, namespace: shop, labels: {app: web, karmada.io/managed: "true", propagationpolicy.karmada.io/permanent-id: p1}, annotations: {kept: "yes", resourcetemplate.karmada.io/uid: d1}}
      spec: {replicas: 1, template: {spec: {containers: [{name: c, image: "nginx:1"}]}}}
---
apiVersion: work.karmada.io/v1alpha1
kind: Work
metadata: {name: web-687f7fb96f, namespace: karmada-es-b}
spec:
  workload:
    manifests:
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web, namespace: shop, labels: {app: web, karmada.io/managed: "true"}, annotations: {kept: "yes"}}
      spec: {replicas: 2, paused: false, template: {spec: {containers: [{name: c, image: "nginx:1"}]}}}
`

func TestConversion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := karmada.Convert(read(g, shop), karmada.Options{})
	g.Expect(r.Refused()).To(BeFalse(), "%v", r.Findings)
	g.Expect(printed(g, r)).To(Equal(`$ hub token create --cluster a --labels tier=gold --region eu --zone eu-1 --provider acme
$ hub token create --cluster b
---
apiVersion: v1
kind: Namespace
metadata:
  labels:
    kubernetes.io/metadata.name: shop
    team: a
  name: shop
spec:
  finalizers:
  - kubernetes
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata:
  name: web
  namespace: shop
spec:
  overrideRules:
  - overriders:
      plaintext:
      - operator: add
        path: /spec/paused
        value: false
    targetCluster:
      clusterNames:
      - b
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
    name: web
---
apiVersion: apps/v1
kind: Deployment
metadata:
  annotations:
    kept: "yes"
  labels:
    app: web
  name: web
  namespace: shop
spec:
  replicas: 3
  template:
    spec:
      containers:
      - image: nginx:1
        name: c
---
apiVersion: work.karmada.io/v1alpha2
kind: ResourceBinding
metadata:
  annotations:
    policy.karmada.io/applied-placement: '{"replicaScheduling":{"replicaSchedulingType":"Divided","replicaDivisionPreference":"Weighted","weightPreference":{"dynamicWeight":"AvailableReplicas"}}}'
  name: web-deployment
  namespace: shop
spec:
  clusters:
  - name: a
    replicas: 1
  - name: b
    replicas: 2
  placement:
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        dynamicWeight: AvailableReplicas
  replicas: 3
  resource:
    apiVersion: apps/v1
    kind: Deployment
    name: web
    namespace: shop
  schedulerName: default-scheduler
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: web
  namespace: shop
spec:
  placement:
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        dynamicWeight: AvailableReplicas
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
    name: web
`))
	var told []string
	for _, f := range r.Findings {
		told = append(told, f.String())
	}
	g.Expect(told).To(Equal([]string{
		"f.yaml: Cluster a: spec.syncMode: the cluster gets an agent, so nothing dials the cluster any more",
		"f.yaml: Cluster a: spec.taints: put mine:NoSchedule on the cluster again once it has joined",
		"f.yaml: WorkloadRebalancer w: left out: it was already carried out",
	}))
}

func TestSomeClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := karmada.Convert(read(g, shop), karmada.Options{Clusters: []string{"a"}})
	g.Expect(r.Commands).To(HaveLen(1))
	g.Expect(r.Refused()).To(BeTrue())
	g.Expect(r.Findings[0].String()).To(Equal("f.yaml: ResourceBinding shop/web-deployment: spec.clusters: its replicas are divided with b, which is not migrated; name all of its clusters with --cluster"))
	copied := strings.ReplaceAll(shop, "replicaSchedulingType: Divided", "replicaSchedulingType: Duplicated")
	r = karmada.Convert(read(g, copied), karmada.Options{Clusters: []string{"a"}})
	g.Expect(r.Refused()).To(BeFalse(), "%v", r.Findings)
	g.Expect(printed(g, r)).To(ContainSubstring("clusters:\n  - name: a\n    replicas: 1\n  placement"))
	r = karmada.Convert(read(g, shop), karmada.Options{Clusters: []string{"a", "b", "c"}})
	g.Expect(r.Findings[0].String()).To(Equal("Cluster c: there is no such cluster; correct --cluster"))
}

// TestObjectsWithoutTheirPlacementAreNotConverted holds that no object comes without where it is.
func TestObjectsWithoutTheirPlacementAreNotConverted(t *testing.T) {
	t.Parallel()
	moving := strings.ReplaceAll(shop, "  schedulerName: default-scheduler", "  gracefulEvictionTasks: [{fromCluster: c, reason: TaintUntolerated, producer: TaintManager}]")
	tests := map[string]struct {
		in, told string
		clusters []string
		refused  bool
	}{
		"some of its clusters come":   {in: shop, clusters: []string{"a"}, told: "its replicas are divided with b", refused: true},
		"none of its clusters comes":  {in: strings.ReplaceAll(shop, "{name: a, replicas: 1}, ", ""), clusters: []string{"a"}, told: "left out with its object, which is only in b"},
		"it moves":                    {in: moving, told: "being evicted from c", refused: true},
		"nobody can read where it is": {in: strings.ReplaceAll(shop, "work.karmada.io/v1alpha2", "work.karmada.io/v1alpha1"), told: "its version is", refused: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := karmada.Convert(read(g, tt.in), karmada.Options{Clusters: tt.clusters})
			g.Expect(r.Refused()).To(Equal(tt.refused))
			g.Expect(r.Findings).To(ContainElement(HaveField("Text", ContainSubstring(tt.told))))
			g.Expect(printed(g, r)).NotTo(Or(ContainSubstring("\nkind: Deployment"), ContainSubstring("\nkind: ResourceBinding")))
			g.Expect(printed(g, r)).To(ContainSubstring("\nkind: PropagationPolicy"))
		})
	}
}

func TestNamespacesOfPeopleComeAlong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := karmada.Convert(read(g, `
{apiVersion: v1, kind: Namespace, metadata: {name: karmada-demo}}
---
{apiVersion: v1, kind: Secret, metadata: {name: needed, namespace: karmada-demo}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: karmada-es-a}}
---
{apiVersion: v1, kind: Secret, metadata: {name: own, namespace: karmada-system}}
`), karmada.Options{})
	g.Expect(printed(g, r)).To(Equal("---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: karmada-demo\n---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: needed\n  namespace: karmada-demo\n"))
}

func TestKindsWithoutAnEquivalentAreNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := karmada.Convert(read(g, `
{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, metadata: {name: h, namespace: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}
---
{apiVersion: work.karmada.io/v1alpha1, kind: ResourceBinding, metadata: {name: b, namespace: shop}}
---
{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: moving, namespace: shop}, spec: {resource: {apiVersion: v1, kind: ConfigMap, name: moving}, placement: {}, clusters: [{name: a}], gracefulEvictionTasks: [{fromCluster: b, reason: TaintUntolerated, producer: TaintManager}]}}
`), karmada.Options{})
	var refused []string
	for _, f := range r.Findings {
		g.Expect(f.Refused).To(BeTrue())
		refused = append(refused, f.String())
	}
	g.Expect(refused).To(Equal([]string{
		"f.yaml: ConfigMap shop/c: metadata.name: the object is in f.yaml too; remove one of the two",
		"f.yaml: FederatedHPA shop/h: kind: this hub has no FederatedHPA; leave it out, and do its work by hand",
		"f.yaml: ResourceBinding shop/b: it cannot be read: its version is work.karmada.io/v1alpha1; export it as work.karmada.io/v1alpha2",
		"f.yaml: ResourceBinding shop/moving: spec.gracefulEvictionTasks: the object is being evicted from b; convert it when the eviction is over",
	}))
}

// TestDifferencesToTheMemberShow holds that a member gets what it has, and that a difference shows.
func TestDifferencesToTheMemberShow(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	revise := func(schema.GroupVersionKind) render.Revise {
		return func(obj *unstructured.Unstructured, n int32) (*unstructured.Unstructured, error) {
			out := obj.DeepCopy()
			return out, unstructured.SetNestedField(out.Object, int64(n), "spec", "replicas")
		}
	}
	compare := func(text string) []karmada.Change {
		documents := read(g, text)
		return karmada.Compare(documents, karmada.Convert(documents, karmada.Options{}), karmada.Options{}, revise)
	}
	changes := compare(shop)
	g.Expect(changes).To(HaveLen(2))
	for _, c := range changes {
		g.Expect(c.Object).To(Equal("Deployment shop/web"))
		g.Expect(c.Failed).To(BeEmpty())
		g.Expect(c.Desired).To(BeComparableTo(c.Sent), c.Cluster)
	}
	changes = compare(strings.ReplaceAll(shop, "spec: {replicas: 1, template", "spec: {replicas: 2, template"))
	g.Expect(changes[0].Desired).NotTo(BeComparableTo(changes[0].Sent))
	changes = compare(strings.Replace(shop, "name: web\n  namespace: shop\n  uid", "name: other\n  namespace: shop\n  uid", 1))
	g.Expect(changes[0].Desired).To(BeNil())

	changes = compare(strings.Replace(shop, "namespace: karmada-es-b", "namespace: karmada-es-c", 1))
	g.Expect(changes).To(HaveLen(3), "%v", changes)
	g.Expect(changes[1]).To(And(HaveField("Cluster", "b"), HaveField("Object", "Deployment shop/web"), HaveField("Sent", BeNil()), HaveField("Desired", Not(BeNil()))))
}

func TestFieldsOfAClusterAreNotLost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := karmada.Convert(read(g, `
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: a}
spec:
  syncMode: Pull
  taints:
  - {key: cluster.karmada.io/unschedulable, effect: NoSchedule}
  - {key: cluster.karmada.io/not-ready, effect: NoSchedule}
  - {key: cluster.karmada.io/unreachable, effect: NoExecute}
  - {key: cluster.karmada.io/terminating, effect: NoExecute}
  - {key: cluster.karmada.io/maintenance, effect: NoSchedule}
status: {conditions: [{type: Ready, status: Unknown, reason: ClusterStatusUnknown, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: b}
spec: {syncMode: Pull}
status: {conditions: [{type: Ready, status: "True", reason: ClusterReady, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}
`), karmada.Options{})
	var said []string
	for _, f := range r.Findings {
		g.Expect(f.Refused).To(BeFalse())
		said = append(said, f.Object+": "+f.Field+": "+f.Text)
	}
	g.Expect(said).To(ConsistOf(
		HavePrefix("Cluster a: status.conditions: the cluster is not Ready on the old control plane"),
		"Cluster a: spec.taints: the cluster is cordoned; run `hub cordon a` once it has joined and before you apply",
		"Cluster a: spec.taints: put cluster.karmada.io/maintenance:NoSchedule on the cluster again once it has joined",
	))
}

// TestOfTwoTheSameNoneComesAlong checks that of two duplicates neither is picked, and that a binding is not converted
// without its template, or the other way round.
func TestOfTwoTheSameNoneComesAlong(t *testing.T) {
	t.Parallel()
	const configMap = `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: shop}}`
	const bound = `{apiVersion: work.karmada.io/v1alpha2, kind: ResourceBinding, metadata: {name: c-configmap, namespace: shop}, spec: {resource: {apiVersion: v1, kind: ConfigMap, name: c, namespace: shop}, clusters: [{name: a}], placement: {}}}`
	const member = `{apiVersion: cluster.karmada.io/v1alpha1, kind: Cluster, metadata: {name: a}, spec: {syncMode: Pull}}`
	for name, in := range map[string][]string{
		"a template": {configMap, configMap, bound}, "a binding": {configMap, bound, bound}, "a cluster": {member, member},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			documents := read(g, strings.Join(in, "\n---\n"))
			for n := range documents {
				documents[n].File = string(rune('a'+n)) + ".yaml"
			}
			r := karmada.Convert(documents, karmada.Options{})
			g.Expect(printed(g, r)).To(BeEmpty())
			g.Expect(r.Findings).To(HaveLen(2))
			g.Expect(r.Findings).To(HaveEach(HaveField("Refused", true)))
		})
	}
}
