package joining

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
)

// TestAnAgentInWhosePlaceAnotherJoinedLeavesItsMemberAlone restarts the agent of a lost machine after the cluster has
// joined from another one: its local state is outdated, and it must not mistake the hub's rejection for an outage.
func TestAnAgentInWhosePlaceAnotherJoinedLeavesItsMemberAlone(t *testing.T) {
	w := up(t)
	dir := t.TempDir()
	with := func(machine string) []string {
		return []string{"--kubeconfig", w.Kubeconfig(member), "--state-dir", filepath.Join(dir, machine)}
	}
	lost := w.RunAgent(filepath.Join(dir, "log"), append(w.joinArguments("moved"), with("lost")...)...)
	w.AwaitReady("moved")
	w.send("changed", "moved")
	w.send("dropped", "moved")
	lost.Kill()

	w.MustKubectl(fleet.HubName, "patch", "configmap", "changed", "-p", `{"data":{"a":"2"}}`)
	w.MustKubectl(fleet.HubName, "delete", "configmap", "dropped")
	_, rest, found := strings.Cut(w.Operate("token", "create", "--rejoin", "moved"), "agent join ")
	w.G.Expect(found).To(BeTrue())
	command, _, _ := strings.Cut(rest, "\n")
	w.RunAgent(filepath.Join(dir, "log of the new"), append(strings.Fields(command), with("new")...)...)
	w.Eventually(w.isAsTheHubHasIt)

	began := time.Now()
	w.RunAgent(filepath.Join(dir, "log of the lost"), with("lost")...)
	w.Eventually(func(g Gomega) {
		log, err := os.ReadFile(filepath.Join(dir, "log of the lost"))
		g.Expect(err).NotTo(HaveOccurred())
		w.isAsTheHubHasIt(g)
		g.Expect(string(log)).To(And(ContainSubstring("Leaving the objects in the member as they are"), ContainSubstring("stop this one")))
	})
	w.isAsTheHubHasIt(w.G)
	said, err := w.agent(nil, "status", "--state-dir", filepath.Join(dir, "lost"))
	w.G.Expect(err).To(HaveOccurred())
	w.G.Expect(said).To(MatchRegexp(`(?m)^Refused +.*or another agent has this cluster: stop this one`))
	w.isAsTheHubHasIt(w.G)
	t.Logf("looked for %.1f s", time.Since(began).Seconds())
}

// isAsTheHubHasIt checks that the changed object in the member is up to date, and the dropped one is gone.
func (w *world) isAsTheHubHasIt(g Gomega) {
	w.T.Helper()
	there, err := w.Kubectl(w.T.Context(), member, "get", "configmaps", "-l", "karmada.io/managed=true", "-o", `jsonpath={range .items[*]}{.metadata.name}={.data.a} {end}`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(strings.Fields(there)).To(ConsistOf("changed=2"))
}
