package e2e

import (
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// wave is a change that is going out, to one cluster at a time; the first has it, and is not well yet.
type wave struct {
	*fleet.Fleet
	// generations are those of the Works before the change.
	generations map[string]int
}

// inOneWave is an application that runs where nodes have a label, and goes to edge-1, edge-2 and edge-3 in this order.
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

// beginWave has a change go to edge-1, where no node has what it asks for.
func beginWave(t *testing.T, f *fleet.Fleet) wave {
	t.Helper()
	g, w := NewWithT(t), wave{Fleet: f, generations: map[string]int{}}
	for _, member := range f.Members() {
		kubectl(t, g, f, fleet.HubName, "label", "cluster", member, "--overwrite", "turn="+strings.TrimPrefix(member, "edge-"))
	}
	apply(t, f, inOneWave)
	eventually(t, func(g Gomega) { g.Expect(w.rollout(t, g)).To(Equal("1 Completed")) })
	for _, member := range f.Members() {
		w.generations[member] = w.generation(t, g, member)
	}
	kubectl(t, g, f, fleet.HubName, "patch", "deployment", "waving", "--type=merge", "-p", `{"spec":{"template":{"spec":{"nodeSelector":{"wave":"on"}}}}}`)
	eventually(t, func(g Gomega) {
		g.Expect(w.rollout(t, g)).To(Equal("2 Progressing"))
		g.Expect(w.wants(t, g, "edge-1")).To(Equal("on"))
	})
	return w
}

// goesOn expects that nobody was sent anything again or before its turn, and that all are in the end.
func (w wave) goesOn(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	// Once the hub has heard a person it has looked at all of it.
	for _, paused := range []string{"true", "false"} {
		kubectl(t, g, w.Fleet, fleet.HubName, "patch", "stagedrollout", "waving-deployment", "--type=merge", "-p", `{"spec":{"paused":`+paused+`}}`)
		eventually(t, func(g Gomega) {
			g.Expect(w.rollout(t, g)).To(Equal(map[string]string{"true": "2 Paused", "false": "2 Progressing"}[paused]))
		})
	}
	g.Expect(w.writes(t, g, "edge-1")).To(Equal(1))
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
		g.Expect(w.writes(t, g, member)).To(Equal(1), "%s is sent it once", member)
	}
}

// rollout is the newest revision and its phase.
func (w wave) rollout(t *testing.T, g Gomega) string {
	t.Helper()
	return kubectl(t, g, w.Fleet, fleet.HubName, "get", "stagedrollout", "waving-deployment", "-o", "jsonpath={.status.revision} {.status.phase}")
}

// wants is which nodes the application asks for in a member.
func (w wave) wants(t *testing.T, g Gomega, member string) string {
	t.Helper()
	return kubectl(t, g, w.Fleet, member, "get", "deployment", "waving", "-o", "jsonpath={.spec.template.spec.nodeSelector.wave}")
}

// generation counts the writes of what a cluster is sent.
func (w wave) generation(t *testing.T, g Gomega, member string) int {
	t.Helper()
	out := kubectl(t, g, w.Fleet, fleet.HubName, "get", "work", contract.WorkName("Deployment", "default", "waving"),
		"-n", contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, member), "-o", "jsonpath={.metadata.generation}")
	n, err := strconv.Atoi(out)
	g.Expect(err).NotTo(HaveOccurred())
	return n
}

// writes is how often a cluster was sent something since the change.
func (w wave) writes(t *testing.T, g Gomega, member string) int {
	t.Helper()
	return w.generation(t, g, member) - w.generations[member]
}
