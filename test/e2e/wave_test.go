package e2e

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// wave is a change that is rolled out to one cluster at a time; the first has it, and is not healthy yet.
type wave struct {
	*fleet.Fleet
	// generations are the generations of the Works before the change.
	generations map[string]int64
}

// inOneWave is an application that runs on nodes with a label, and goes to edge-1, edge-2 and edge-3 in this order.
const inOneWave = `
apiVersion: fairlead.dev/v1alpha1
kind: RolloutStrategy
metadata: {name: one-by-one}
spec:
  settle: 100ms
  waves: [{name: all, orderByLabel: turn, maxConcurrent: 1}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: waving, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: waving}}
  template:
    metadata: {labels: {app: waving}}
    spec: {containers: [{name: main, image: example.com/main}]}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: waving, namespace: default, annotations: {fairlead.dev/rollout-strategy: one-by-one}}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: waving}]
  placement: {clusterAffinity: {clusterNames: [edge-1, edge-2, edge-3]}}
`

// beginWave starts a change in edge-1, where no node has the label.
func beginWave(t *testing.T, f *fleet.Fleet) wave {
	t.Helper()
	g, w := NewWithT(t), wave{Fleet: f, generations: map[string]int64{}}
	for _, member := range f.Members() {
		kubectl(t, g, f, fleet.HubName, "label", "cluster", member, "--overwrite", "turn="+strings.TrimPrefix(member, "edge-"))
	}
	apply(t, f, inOneWave)
	eventually(t, func(g Gomega) {
		g.Expect(w.rollout(t, g)).To(Equal("1 Completed"))
		for _, member := range f.Members() { // a cluster's Work is created when the cluster is chosen
			w.generations[member] = w.generation(t, g, member)
		}
	})
	kubectl(t, g, f, fleet.HubName, "patch", "deployment", "waving", "--type=merge", "-p", `{"spec":{"template":{"spec":{"nodeSelector":{"wave":"on"}}}}}`)
	eventually(t, func(g Gomega) {
		g.Expect(w.rollout(t, g)).To(Equal("2 Progressing"))
		g.Expect(w.wants(t, g, "edge-1")).To(Equal("on"))
	})
	return w
}

// goesOn checks that no cluster was updated twice or before its turn, and that all are updated in the end.
func (w wave) goesOn(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	// Once the hub has observed a change of the spec, it has looked at everything.
	for _, paused := range []string{"true", "false"} {
		kubectl(t, g, w.Fleet, fleet.HubName, "patch", "stagedrollout", "waving-deployment", "--type=merge", "-p", `{"spec":{"paused":`+paused+`}}`)
		eventually(t, func(g Gomega) {
			g.Expect(w.rollout(t, g)).To(Equal(map[string]string{"true": "2 Paused", "false": "2 Progressing"}[paused]))
		})
	}
	g.Expect(w.writes(t, g, "edge-1")).To(BeEquivalentTo(1))
	for _, member := range []string{"edge-2", "edge-3"} {
		g.Expect(w.writes(t, g, member)).To(BeZero(), "it is not the turn of %s", member)
		g.Expect(w.wants(t, g, member)).To(BeEmpty(), member)
	}
	for _, member := range w.Members() {
		kubectl(t, g, w.Fleet, member, "label", "nodes", "--all", "--overwrite", "wave=on")
	}
	eventually(t, func(g Gomega) { g.Expect(w.rollout(t, g)).To(Equal("2 Completed")) })
	for _, member := range w.Members() {
		eventually(t, func(g Gomega) { g.Expect(w.wants(t, g, member)).To(Equal("on"), member) })
		g.Expect(w.writes(t, g, member)).To(BeEquivalentTo(1), "%s is sent it once", member)
	}
}

// The following are called often, so they do not run kubectl.

// rollout returns the newest revision and its phase.
func (w wave) rollout(t *testing.T, g Gomega) string {
	t.Helper()
	live := &fairleadv1alpha1.StagedRollout{}
	read(t, g, w.Fleet, fleet.HubName, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "waving-deployment"}, live)
	return fmt.Sprintf("%d %s", live.Status.Revision, live.Status.Phase)
}

// wants returns the node label that the application selects in a member.
func (w wave) wants(t *testing.T, g Gomega, member string) string {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetAPIVersion("apps/v1")
	live.SetKind("Deployment")
	read(t, g, w.Fleet, member, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: "waving"}, live)
	node, _, err := unstructured.NestedString(live.Object, "spec", "template", "spec", "nodeSelector", "wave")
	g.Expect(err).NotTo(HaveOccurred())
	return node
}

// generation returns the generation of a cluster's Work, which counts its changes.
func (w wave) generation(t *testing.T, g Gomega, member string) int64 {
	t.Helper()
	live := &workv1alpha1.Work{}
	read(t, g, w.Fleet, fleet.HubName, client.ObjectKey{
		Namespace: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, member),
		Name:      contract.WorkName("Deployment", "default", "waving"),
	}, live)
	return live.Generation
}

// writes returns how often the cluster's Work has changed since the change.
func (w wave) writes(t *testing.T, g Gomega, member string) int64 {
	t.Helper()
	return w.generation(t, g, member) - w.generations[member]
}
