package connect

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	coordinationv1 "k8s.io/api/coordination/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

// leaseOf returns the lease of a member.
func (w *world) leaseOf(g Gomega, member string) *coordinationv1.Lease {
	c, err := w.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	lease := &coordinationv1.Lease{}
	g.Expect(c.Get(w.T.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: member}, lease)).To(Succeed())
	g.Expect(lease.Spec.RenewTime).NotTo(BeNil())
	return lease
}

// renew waits until agents renew their leases like agents without a line.
func (w *world) renew(members ...string) {
	w.T.Helper()
	last, renewals := map[string]time.Time{}, map[string]int{}
	w.Eventually(func(g Gomega) {
		for _, member := range members {
			lease := w.leaseOf(g, member)
			// With a line the duration would be longer, and the lease renewed every ten minutes.
			g.Expect(*lease.Spec.LeaseDurationSeconds).To(BeEquivalentTo(40), member)
			if at := lease.Spec.RenewTime.Time; at.After(last[member]) {
				last[member] = at
				renewals[member]++
			}
		}
		for _, member := range members {
			g.Expect(renewals[member]).To(BeNumerically(">=", 3), "two renewals of %s were seen", member)
		}
	})
}

// sinceReady returns the last transition of a member to Ready.
func (w *world) sinceReady(member string) string {
	w.T.Helper()
	return w.MustKubectl(fleet.HubName, "get", "cluster", member, "-o", `jsonpath={range .status.conditions[?(@.type=="Ready")]}{.status} {.lastTransitionTime}{end}`)
}

func TestAnAgentThatIsToHaveNoLine(t *testing.T) {
	w := up(t)
	agent := fleet.AgentName(closed)
	before := w.AgentArgs
	w.G.Expect(w.Stop(t.Context(), agent)).To(Succeed())
	t.Cleanup(func() {
		w.AgentArgs = before
		w.G.Expect(w.Stop(context.Background(), agent)).To(Succeed())
		w.G.Expect(w.Up(context.Background())).To(Succeed())
	})
	w.AgentArgs = append(slices.Clone(before), "--line=false")
	w.G.Expect(w.StartAgent(closed)).To(Succeed())
	w.renew(closed)
	const why = "its agent runs with --line=false"
	w.Eventually(func(g Gomega) {
		g.Expect(w.Operate("clusters")).To(MatchRegexp(closed + ` +Ready .*No line: ` + why))
		g.Expect(w.Operate("clusters", "describe", closed)).To(MatchRegexp(`Line: +none: ` + why))
		out, err := w.does(closed, "", "get", "--raw", "/api/v1/namespaces")
		g.Expect(err).To(HaveOccurred(), out)
		g.Expect(out).To(And(ContainSubstring(closed+" is not connected: "+why), ContainSubstring("ServiceUnavailable")))
	})
}

func TestAHubThatIsToServeNoLines(t *testing.T) {
	w := up(t)
	ready := w.sinceReady(open)
	w.G.Expect(ready).To(HavePrefix("True "))
	restart := func(args []string) {
		t.Helper()
		w.HubArgs = args
		w.G.Expect(w.Stop(context.Background(), fleet.HubName)).To(Succeed())
		w.G.Expect(w.StartHub(context.Background())).To(Succeed())
	}
	before := w.HubArgs
	api := contract.ConnectVersion + "." + contract.ConnectGroup
	w.MustKubectl(fleet.HubName, "get", "apiservice", api)
	restart(append(slices.Clone(before), "--connect=false"))
	t.Cleanup(func() {
		restart(before)
		// An agent that was told that there are no lines rarely retries; a restarted one retries at once.
		for _, member := range w.Members() {
			w.G.Expect(w.Stop(context.Background(), fleet.AgentName(member))).To(Succeed())
		}
		w.G.Expect(w.Up(context.Background())).To(Succeed())
		w.awaitLine()
	})

	w.Eventually(func(g Gomega) {
		out, err := w.Kubectl(t.Context(), fleet.HubName, "get", "apiservice", api, "--ignore-not-found", "-o", "name")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.TrimSpace(out)).To(BeEmpty())
		// Discovery of an unavailable group fails, and kubectl prints that even with -o name.
		found, err := exec.CommandContext(t.Context(), w.Program("kubectl"), "--kubeconfig", w.Kubeconfig(fleet.HubName), "api-resources", "-o", "name").CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(found))
		g.Expect(string(found)).To(And(ContainSubstring("clusters.cluster.karmada.io"), Not(ContainSubstring(contract.ConnectGroup))))
	})
	w.MustKubectl(fleet.HubName, "create", "namespace", "goes")
	w.MustKubectl(fleet.HubName, "delete", "namespace", "goes", "--timeout=120s")
	w.renew(open, closed)
	out, err := w.does(open, "alice", "get", "--raw", "/api")
	w.G.Expect(err).To(HaveOccurred(), out)
	w.G.Expect(w.sinceReady(open)).To(Equal(ready), "it was never Unknown")
	w.G.Expect(w.Operate("clusters")).NotTo(ContainSubstring("LINE"), "a hub without lines says nothing of them")
}
