package failover

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/fleet"
)

// shop are objects in all clusters, with a CustomResourceDefinition of which the member creates its own objects. Half
// of them tolerate no unreachable cluster: they stay because they have no other cluster.
const shop = `
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tills.example.com}
spec:
  group: example.com
  names: {kind: Till, listKind: TillList, plural: tills, singular: till}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ledger, namespace: shop}
spec:
  serviceName: ledger
  selector: {matchLabels: {app: ledger}}
  template:
    metadata: {labels: {app: ledger}}
    spec: {containers: [{name: main, image: example.com/ledger}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: till, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: till}}
  template:
    metadata: {labels: {app: till}}
    spec: {containers: [{name: main, image: example.com/till}]}
---
apiVersion: v1
kind: Service
metadata: {name: till, namespace: shop}
spec: {selector: {app: till}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: till, namespace: shop}
stringData: {pin: "1234"}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: shop}
spec:
  resourceSelectors:
  - {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: tills.example.com}
  - {apiVersion: v1, kind: Namespace, name: shop}
  - {apiVersion: apps/v1, kind: StatefulSet, namespace: shop, name: ledger}
  placement: {clusterAffinity: {clusterNames: [edge-1, edge-2]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: shop, namespace: shop}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: till}
  - {apiVersion: v1, kind: Service, name: till}
  - {apiVersion: v1, kind: Secret, name: till}
  placement:
    clusterAffinity: {clusterNames: [edge-1, edge-2]}
    clusterTolerations: [{key: example.com/lost, operator: Exists, effect: NoExecute, tolerationSeconds: 0}]
`

// TestAnOutageLeavesEverythingAsItWas taints a cluster with the ClusterTaintPolicy of the README while its network is
// down but the cluster is healthy. An application without a toleration moves away meanwhile, so the others could have;
// when the network is back, their objects have not been recreated.
func TestAnOutageLeavesEverythingAsItWas(t *testing.T) {
	w := start(t)
	g, ctx := w.g, t.Context()
	w.pool(t, "edge-1", true)
	w.pool(t, "edge-2", true)
	w.apply(t, readmePolicy(t)+shop+deployment("mover", strings.ReplaceAll(atOnce, "key: lost", "key: example.com/lost"), "edge-1", "edge-2"))
	member := w.members["edge-1"]
	w.eventually(t, func(g Gomega) {
		g.Expect(w.objects(t, g, "edge-1")).To(HaveLen(6))
		g.Expect(w.deployment(t, g, "edge-1", "mover")).NotTo(BeNil())
		g.Expect(w.where(t, g, "mover")).To(Equal([]string{"edge-1"}))
	})
	own := till("counter")
	w.eventually(t, func(g Gomega) { g.Expect(member.Create(ctx, own)).To(Succeed()) })
	before := w.objects(t, g, "edge-1")

	g.Expect(w.Kill(ctx, fleet.AgentName("edge-1"))).To(Succeed())
	w.eventually(t, func(g Gomega) {
		g.Expect(w.where(t, g, "mover")).To(Equal([]string{"edge-2"}), "the hub gave the cluster up")
		g.Expect(w.deployment(t, g, "edge-2", "mover")).NotTo(BeNil())
		g.Expect(w.deployment(t, g, "edge-2", "mover").Status.ReadyReplicas).To(BeEquivalentTo(2))
	})
	g.Expect(w.StartAgent("edge-1")).To(Succeed())
	w.eventually(t, func(g Gomega) {
		g.Expect(w.ready(t, g)).To(Equal(metav1.ConditionTrue))
		g.Expect(w.deployment(t, g, "edge-1", "mover")).To(BeNil(), "the agent did what there was to do")
		g.Expect(w.evicting(t, g, "mover")).To(BeEmpty())
	})
	g.Expect(w.objects(t, g, "edge-1")).To(Equal(before))
	g.Expect(member.Get(ctx, client.ObjectKeyFromObject(own), till("counter"))).To(Succeed(), "what the member made itself is there")
}

// readmePolicy returns the ClusterTaintPolicy of the README.
func readmePolicy(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	readme, err := os.ReadFile("../../README.md")
	g.Expect(err).NotTo(HaveOccurred())
	for _, block := range strings.Split(string(readme), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.Contains(block, "kind: ClusterTaintPolicy\n") {
			return block
		}
	}
	t.Fatal("README has no ClusterTaintPolicy")
	return ""
}

// till returns a custom resource of shop.
func till(name string) *unstructured.Unstructured {
	out := &unstructured.Unstructured{}
	out.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Till"})
	out.SetNamespace("shop")
	out.SetName(name)
	return out
}

// objects returns the UIDs of shop's objects in a member.
func (w *world) objects(t *testing.T, g Gomega, member string) map[string]types.UID {
	t.Helper()
	out := map[string]types.UID{}
	for _, id := range []struct{ apiVersion, kind, namespace, name string }{
		{"v1", "Namespace", "", "shop"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "tills.example.com"},
		{"apps/v1", "StatefulSet", "shop", "ledger"},
		{"apps/v1", "Deployment", "shop", "till"},
		{"v1", "Service", "shop", "till"},
		{"v1", "Secret", "shop", "till"},
	} {
		obj := &metav1.PartialObjectMetadata{}
		obj.APIVersion, obj.Kind = id.apiVersion, id.kind
		if err := w.members[member].Get(t.Context(), client.ObjectKey{Namespace: id.namespace, Name: id.name}, obj); client.IgnoreNotFound(err) == nil && err == nil {
			out[id.kind] = obj.UID
		} else {
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		}
	}
	return out
}
