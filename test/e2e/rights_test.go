package e2e

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
)

// TestAnAgentHasOnlyItsOwnRights uses the certificate of the agent of edge-1.
func TestAnAgentHasOnlyItsOwnRights(t *testing.T) {
	f := up(t)
	apply(t, f, configMaps("rights", 1, 1))
	var work string
	eventually(t, func(g Gomega) {
		work = kubectl(t, g, f, fleet.HubName, "get", "works", "-n", "karmada-es-edge-1", "-o", "jsonpath={.items[0].metadata.name}")
	})
	identity := filepath.Join(f.Dir, fleet.AgentName("edge-1"), "hub.kubeconfig")
	for name, c := range map[string]struct {
		args    []string
		allowed bool
	}{
		"it reads its own Works":                   {args: []string{"get", "works", "-n", "karmada-es-edge-1"}, allowed: true},
		"it reads its own Cluster":                 {args: []string{"get", "cluster", "edge-1"}, allowed: true},
		"it reads no Works of its neighbour":       {args: []string{"get", "works", "-n", "karmada-es-edge-2"}},
		"it reads no Works of all":                 {args: []string{"get", "works", "-A"}},
		"it reads no Cluster of its neighbour":     {args: []string{"get", "cluster", "edge-2"}},
		"it lists no Clusters":                     {args: []string{"get", "clusters"}},
		"it reads no Secrets":                      {args: []string{"get", "secrets", "-n", "kube-system"}},
		"it reads no templates":                    {args: []string{"get", "configmaps", "-n", "default"}},
		"it reads no bindings":                     {args: []string{"get", "resourcebindings", "-A"}},
		"it reads no lease of its neighbour":       {args: []string{"get", "lease", "edge-2", "-n", "karmada-cluster"}},
		"it reads its own lease":                   {args: []string{"get", "lease", "edge-1", "-n", "karmada-cluster"}, allowed: true},
		"it deletes no Work":                       {args: []string{"delete", "work", work, "-n", "karmada-es-edge-1"}},
		"it deletes no Cluster":                    {args: []string{"delete", "cluster", "edge-1"}},
		"it does not label its own Cluster":        {args: []string{"label", "cluster", "edge-1", "tier=gold"}},
		"it does not untaint its own Cluster":      {args: []string{"patch", "cluster", "edge-1", "--type=merge", "-p", `{"spec":{"taints":[]}}`}},
		"it does not change what a Work carries":   {args: []string{"patch", "work", work, "-n", "karmada-es-edge-1", "--type=merge", "-p", `{"spec":{"workload":{"manifests":[]}}}`}},
		"it does not change the labels of a Work":  {args: []string{"label", "work", work, "-n", "karmada-es-edge-1", "a=b"}},
		"it makes no token and hence no other one": {args: []string{"create", "secret", "generic", "x", "-n", "kube-system"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := f.Run(t.Context(), "kubectl", append([]string{"--kubeconfig", identity}, c.args...)...)
			if c.allowed {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(Or(ContainSubstring("orbidden"), ContainSubstring("denied"))))
			}
		})
	}
}
