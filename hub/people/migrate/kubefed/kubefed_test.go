package kubefed_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/people/migrate/kubefed"
)

func TestConversion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := kubefed.Convert(read(g, shop+`
apiVersion: types.kubefed.io/v1beta1
kind: FederatedDeployment
metadata: {name: web, namespace: shop, annotations: {kubefed.io/orphan: "true", kubefed.io/deleteoption: '{"propagationPolicy":"Orphan"}'}}
spec:
  template:
    metadata: {labels: {app: web, kubefed.io/managed: "true"}, annotations: {gone: x}}
    spec: {replicas: 2, template: {spec: {containers: [{name: web, image: "nginx:1"}]}}}
  retainReplicas: true
  placement: {clusters: [{name: b}, {name: a}]}
  overrides:
  - clusterName: b
    clusterOverrides:
    - {path: /spec/template/spec/containers/0/image, value: "nginx:2"}
    - {path: /spec/template/spec/hostNetwork, op: remove}
    - {path: /metadata/annotations/example.com~1a, op: add, value: x}
    - {path: /spec/replicas, value: 5}
`), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(refusals(r)).To(BeEmpty())
	g.Expect(written(g, r)).To(Equal(`$ hub token create --cluster a --labels name=a,tier=gold --region eu --zone eu-1 --zone eu-2
$ hub token create --cluster b --labels name=b
$ hub token create --cluster c --labels name=c
---
apiVersion: v1
kind: Namespace
metadata:
  name: shop
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata:
  name: web-deployment
  namespace: shop
spec:
  overrideRules:
  - overriders:
      annotationsOverrider:
      - operator: add
        value:
          example.com/a: x
      plaintext:
      - operator: replace
        path: /spec/template/spec/containers/0/image
        value: nginx:2
      - operator: remove
        path: /spec/template/spec/hostNetwork
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
    fairlead.dev/deletion-propagation: Orphan
  labels:
    app: web
    resourcetemplate.karmada.io/retain-replicas: "true"
  name: web
  namespace: shop
spec:
  replicas: 7
  template:
    spec:
      containers:
      - image: nginx:1
        name: web
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata:
  name: shop-namespace
spec:
  conflictResolution: Overwrite
  resourceSelectors:
  - apiVersion: v1
    kind: Namespace
    name: shop
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: web-deployment
  namespace: shop
spec:
  conflictResolution: Overwrite
  placement:
    clusterAffinity:
      clusterNames:
      - a
      - b
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        staticWeightList:
        - targetCluster:
            clusterNames:
            - a
          weight: 2
        - targetCluster:
            clusterNames:
            - b
          weight: 5
  preserveResourcesOnDeletion: true
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
    name: web
`))
	g.Expect(told(r)).To(ContainElements(
		ContainSubstring("FederatedDeployment shop/web: spec.template.metadata.annotations: left out"),
		ContainSubstring("spec.overrides[0].clusterOverrides[2].path: set in what is sent"),
		ContainSubstring("spec.overrides[0].clusterOverrides[3].path: a share of 7 replicas"),
	))
}

// TestRetainedReplicas checks that replicas are left to the members where KubeFed leaves them: it retains first, and
// then overrides.
func TestRetainedReplicas(t *testing.T) {
	t.Parallel()
	const placed = "retainReplicas: true\n  placement: {clusters: [{name: a}, {name: b}]}\n"
	override := func(clusters ...string) string {
		out := placed + "  overrides:\n"
		for _, c := range clusters {
			out += "  - {clusterName: " + c + ", clusterOverrides: [{path: /spec/replicas, value: 3}]}\n"
		}
		return out
	}
	tests := map[string]struct {
		in, told string
		retained bool
	}{
		"nothing is overridden":      {in: deployment(placed), retained: true},
		"some clusters are":          {in: deployment(override("a")), retained: true, told: "also where KubeFed overrides them, which are a"},
		"all clusters are":           {in: deployment(override("a", "b")), told: "spec.retainReplicas: left out: the replicas are overridden in every cluster"},
		"a preference overrides all": {in: deployment(placed) + "---\n" + preference("totalReplicas: 4"), told: "spec.retainReplicas: left out: the replicas are those of ReplicaSchedulingPreference shop/web"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := kubefed.Convert(read(g, shop+tt.in), kubefed.Options{Replicas: kubefed.Freeze})
			g.Expect(refusals(r)).To(BeEmpty())
			g.Expect(strings.Contains(written(g, r), "retain-replicas")).To(Equal(tt.retained))
			g.Expect(told(r)).To(ContainElement(ContainSubstring(tt.told)))
		})
	}
}

// TestEmptyObjectsInValuesStay checks that empty objects in the value of an override are kept.
func TestEmptyObjectsInValuesStay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := kubefed.Convert(read(g, shop+deployment(`overrides:
  - clusterName: a
    clusterOverrides:
    - {path: /spec/template/spec/volumes, op: add, value: [{name: tmp, emptyDir: {}}]}
    - {path: /spec/template/spec/securityContext, op: add, value: {seccompProfile: {}, sysctls: null}}
    - {path: /spec/template/spec/affinity, op: add, value: {}}
`)), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(refusals(r)).To(BeEmpty())
	g.Expect(written(g, r)).To(ContainSubstring(`
      - operator: add
        path: /spec/template/spec/volumes
        value:
        - emptyDir: {}
          name: tmp
      - operator: add
        path: /spec/template/spec/securityContext
        value:
          seccompProfile: {}
          sysctls: null
      - operator: add
        path: /spec/template/spec/affinity
        value: {}
`))
}

// TestObjectsThatAreNotSentAreTold holds that nobody misses in silence what KubeFed sent.
func TestObjectsThatAreNotSentAreTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := kubefed.Convert(read(g, shop+`
{apiVersion: types.kubefed.io/v1beta1, kind: FederatedJob, metadata: {name: j, namespace: shop}, spec: {template: {spec: {ttlSecondsAfterFinished: 60, template: {}}}, placement: {clusterSelector: {}}}}
---
{apiVersion: types.kubefed.io/v1beta1, kind: FederatedService, metadata: {name: s, namespace: shop}, spec: {template: {spec: {clusterIP: 10.0.0.9, ports: [{port: 80}]}}, placement: {clusterSelector: {}}}}
---
{apiVersion: types.kubefed.io/v1beta1, kind: FederatedService, metadata: {name: headless, namespace: shop}, spec: {template: {spec: {clusterIP: None}}, placement: {clusterSelector: {}}}}
`), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(refusals(r)).To(BeEmpty())
	g.Expect(told(r)).To(ContainElements(
		HavePrefix("f.yaml: FederatedJob shop/j: spec.template.spec.ttlSecondsAfterFinished: not sent to the members"),
		HavePrefix("f.yaml: FederatedService shop/s: spec.template.spec.clusterIP: not sent to the members"),
	))
	g.Expect(told(r)).NotTo(ContainElement(ContainSubstring("headless")))
}

// TestHints checks that people are told to wait for all clusters where that matters.
func TestHints(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := kubefed.Convert(read(g, shop+deployment("placement: {clusterSelector: {}}")), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(r.Hints).To(BeEmpty())
	r = kubefed.Convert(read(g, shop+deployment("placement: {clusters: [{name: a}, {name: b}]}\n  overrides: [{clusterName: a, clusterOverrides: [{path: /spec/replicas, value: 3}]}]")),
		kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(r.Hints).To(HaveExactElements(HavePrefix("Apply this when all clusters have joined"), Not(BeEmpty())))
	r = kubefed.Convert(read(g, shop+deployment("placement: {clusterSelector: {}}")+"---\n"+preference("totalReplicas: 4")), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(r.Hints).To(ContainElements(HavePrefix("Apply this when all"), HavePrefix("KubeFed divides replicas among ready clusters")))
}

// TestWeightsOfNobodyByName checks that people are told what --apply cannot find out for a policy that names no
// clusters.
func TestWeightsOfNobodyByName(t *testing.T) {
	t.Parallel()
	for clusters, want := range map[string]bool{
		`{"*": {weight: 1}, a: {weight: 2}}`: true,
		`{a: {weight: 1}, b: {weight: 2}}`:   false,
		`{"*": {weight: 0}, a: {weight: 2}}`: false,
		`{"*": {weight: 1}, a: {weight: 0}}`: true,
	} {
		g := NewWithT(t)
		r := kubefed.Convert(read(g, shop+deployment("placement: {clusterSelector: {}}")+"---\n"+preference("totalReplicas: 4\n  clusters: "+clusters)), kubefed.Options{Replicas: kubefed.Weights})
		told := slices.ContainsFunc(told(r), func(line string) bool {
			return strings.Contains(line, "spec.clusters[*]: the policy names no clusters") && strings.Contains(line, "does not know which ones have not joined")
		})
		g.Expect(told).To(Equal(want), clusters)
	}
}

func TestNamespacesAreMadeWhereTheyAreNotThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := ""
	for _, namespace := range []string{"kube-system", "default", "shop", "kube-federation-system"} {
		in += "{apiVersion: types.kubefed.io/v1beta1, kind: FederatedNamespace, metadata: {name: " + namespace + ", namespace: " + namespace + "}, spec: {template: {}, placement: {clusterSelector: {}}}}\n---\n" +
			"{apiVersion: types.kubefed.io/v1beta1, kind: FederatedSecret, metadata: {name: s, namespace: " + namespace + "}, spec: {template: {}, placement: {clusterSelector: {}}}}\n---\n"
	}
	in += "{apiVersion: types.kubefed.io/v1beta1, kind: FederatedSecret, metadata: {name: s, namespace: alone}, spec: {template: {}, placement: {clusterSelector: {}}}}\n"
	r := kubefed.Convert(read(g, in), kubefed.Options{Replicas: kubefed.Freeze})
	var made, placed []string
	for _, obj := range r.Objects {
		switch obj.GetKind() {
		case "Namespace":
			made = append(made, obj.GetName())
		case "PropagationPolicy":
			placed = append(placed, obj.GetNamespace())
		}
	}
	g.Expect(made).To(Equal([]string{"alone", "kube-federation-system", "shop"}))
	g.Expect(placed).To(ConsistOf("kube-system", "default", "shop", "kube-federation-system"))
}

func TestClustersWithoutReplicasAreTold(t *testing.T) {
	t.Parallel()
	const none = "f.yaml: ReplicaSchedulingPreference shop/web: spec.clusters: b gets no replicas, and the policy does not name it; the object stays there as it is, and is not managed"
	for name, in := range map[string]string{
		"planned": deployment("placement: {clusterSelector: {}}") + "---\n" + preference("totalReplicas: 2\n  clusters: {a: {weight: 1, minReplicas: 2}, b: {weight: 1}}"),
		"written": deployment("placement: {clusters: [{name: a}, {name: b}]}\n  overrides: [{clusterName: a, clusterOverrides: [{path: /spec/replicas, value: 2}]}, {clusterName: b, clusterOverrides: [{path: /spec/replicas, value: 0}]}]") +
			"---\n" + preference("totalReplicas: 2"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := kubefed.Convert(read(g, shop+in), kubefed.Options{Replicas: kubefed.Freeze})
			g.Expect(refusals(r)).To(BeEmpty())
			g.Expect(told(r)).To(ContainElement(none))
			p, _ := policyOf(g, r)
			g.Expect(p.Spec.Placement.ClusterAffinity.ClusterNames).To(Equal([]string{"a"}))
		})
	}
}

// TestAKindWhoseNameEndsInStatus checks that a kind ending in Status is not taken for KubeFed's bookkeeping if a
// FederatedTypeConfig names it.
func TestAKindWhoseNameEndsInStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := "{apiVersion: types.kubefed.io/v1beta1, kind: FederatedOrderStatus, metadata: {name: o, namespace: shop}, spec: {template: {spec: {a: b}}, placement: {clusterSelector: {}}}}\n"
	r := kubefed.Convert(read(g, shop+in+"---\n"+typeConfig("orderstatus.apps", "OrderStatus", "FederatedOrderStatus")), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(refusals(r)).To(BeEmpty())
	g.Expect(written(g, r)).To(ContainSubstring("kind: OrderStatus\n"))
	r = kubefed.Convert(read(g, shop+in), kubefed.Options{Replicas: kubefed.Freeze})
	g.Expect(written(g, r)).NotTo(ContainSubstring("OrderStatus"))
}
