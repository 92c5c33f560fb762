package upkeep

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/test/fleet"
)

func TestTheAuthorityIsExchangedWhileClustersAreJoined(t *testing.T) {
	w := newExchange(t)
	w.stay(stays)
	w.stop(fleet.AgentName(away))
	old := w.hashes(w.G)
	w.G.Expect(old).To(HaveLen(1))
	copied := w.copyAdmin()
	w.G.Expect(w.status(w.G)).To(And(ContainSubstring("Phase: Steady"), MatchRegexp(stays+` +fairlead-ca +fairlead-ca`)))
	w.refused("there is no other certificate authority yet", "switch")
	w.G.Expect(w.ca("finish")).To(ContainSubstring("Nothing to do"))
	w.joinsAndWorks("steady", old)

	w.ca("begin")
	w.refused("restart `hub serve` first", "switch")
	w.restartHub()
	var both []string
	w.Eventually(func(g Gomega) {
		both = w.hashes(g)
		g.Expect(both).To(And(HaveLen(2), HaveExactElements(old[0], Not(Equal(old[0])))), "the one that signs is first")
	})
	w.G.Expect(w.ca("begin")).To(ContainSubstring("Nothing to do"))
	w.G.Expect(w.hashes(w.G)).To(Equal(both), "nothing was made again")
	next := both[1]
	w.refused("the old certificate authority signs still", "finish")
	w.joinsAndWorks("overlap", both)
	w.Eventually(func(g Gomega) {
		g.Expect(w.waitedFor(g)).To(ConsistOf(away), "all but the one that is away learned of it")
	})
	w.refused(away+": it has not told that it trusts "+next, "switch")

	w.ca("switch", "--force")
	w.restartHub()
	w.G.Expect(w.ca("switch", "--force")).To(ContainSubstring("Nothing to do"))
	w.Eventually(func(g Gomega) { g.Expect(w.hashes(g)).To(Equal([]string{next, old[0]}), "the one that signs is first") })
	w.refused("the exchange of before is not at its end", "begin")
	w.joinsAndWorks("switched", []string{next, old[0]})
	w.Eventually(func(g Gomega) {
		g.Expect(w.waitedFor(g)).To(ConsistOf(away), "all but the one that is away have certificates of it")
	})
	w.refused(away, "finish")
	w.G.Expect(w.reaches(copied)).To(HaveOccurred(), "a copy of before trusts the old one only")

	w.ca("finish", "--force")
	w.restartHub()
	w.G.Expect(w.ca("finish")).To(ContainSubstring("Nothing to do"))
	w.Eventually(func(g Gomega) { g.Expect(w.hashes(g)).To(Equal([]string{next})) })
	w.G.Expect(w.status(w.G)).To(ContainSubstring("Phase: Steady"))
	w.joinsAndWorks("finished", []string{next})

	// The agent that was away does not trust the hub's new certificate until it is given the new authority.
	w.G.Expect(w.StartAgent(away)).To(Succeed())
	w.Eventually(func(g Gomega) { g.Expect(w.log(fleet.AgentName(away))).To(ContainSubstring("x509")) })
	w.stop(fleet.AgentName(away))
	args := w.rejoin(away)
	w.G.Expect(strings.Join(args, " ")).To(ContainSubstring("--discovery-token-ca-cert-hash " + next))
	w.mustAgent(append(append([]string{"join"}, args...), "--kubeconfig", w.Kubeconfig(away), "--state-dir", w.StateDir(away))...)
	w.G.Expect(w.StartAgent(away)).To(Succeed())
	w.AwaitReady(away)
	w.Eventually(func(g Gomega) {
		status := w.status(g)
		for _, member := range []string{stays, away} {
			g.Expect(status).To(MatchRegexp(member+` +fairlead-ca-\S+ +fairlead-ca-\S+ +-`), "it trusts the new one only")
		}
	})
	w.send("back", away)
	w.stayed()
}

// joinsAndWorks joins a member, and checks that it and the connected one apply objects.
func (w *exchange) joinsAndWorks(phase string, hashes []string) {
	w.T.Helper()
	args, err := w.CreateToken(w.T.Context(), phase)
	w.G.Expect(err).NotTo(HaveOccurred())
	var pins []string
	for i, arg := range args {
		if arg == "--discovery-token-ca-cert-hash" {
			pins = append(pins, args[i+1])
		}
	}
	w.G.Expect(pins).To(Equal(hashes), "the join command has the hash of each")
	state := filepath.Join(w.T.TempDir(), "state")
	agent := w.RunAgent(w.Log("new-"+phase), append(args, "--kubeconfig", w.Kubeconfig(joins), "--state-dir", state)...)
	w.AwaitReady(phase)
	w.send("new-"+phase, phase)
	w.send("stays-"+phase, stays)
	agent.Kill()
	w.Operate("forget", phase, "--force")
	w.Operate("forget", phase, "--release")
}

// hashes returns the authorities' hashes shown by the hub.
func (w *exchange) hashes(g Gomega) []string {
	w.T.Helper()
	hub, err := w.Client(fleet.HubName)
	g.Expect(err).NotTo(HaveOccurred())
	var info corev1.ConfigMap
	g.Expect(hub.Get(w.T.Context(), client.ObjectKey{Namespace: "kube-public", Name: "cluster-info"}, &info)).To(Succeed())
	config, err := clientcmd.Load([]byte(info.Data["kubeconfig"]))
	g.Expect(err).NotTo(HaveOccurred())
	hashes, err := bootstrap.CAHash(config.Clusters[""].CertificateAuthorityData)
	g.Expect(err).NotTo(HaveOccurred())
	return hashes
}

// waitedFor returns the clusters that `hub ca status` shows as not done.
func (w *exchange) waitedFor(g Gomega) []string {
	var names []string
	for line := range strings.Lines(w.status(g)) {
		if strings.Contains(line, "it has not told") || strings.Contains(line, "of the old authority") {
			names = append(names, strings.Fields(line)[0])
		}
	}
	return names
}

func (w *exchange) ca(args ...string) string {
	w.T.Helper()
	out, err := w.tryCA(args...)
	w.G.Expect(err).NotTo(HaveOccurred())
	return out
}

// status returns the output of `hub ca status`.
func (w *exchange) status(g Gomega) string {
	w.T.Helper()
	out, err := w.tryCA("status")
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

func (w *exchange) tryCA(args ...string) (string, error) {
	w.T.Helper()
	return w.Run(w.T.Context(), "hub", append(append([]string{"ca"}, args...), "--data-dir", filepath.Join(w.Dir, fleet.HubName), "--kubeconfig", w.Kubeconfig(fleet.HubName))...)
}

// refused checks that a step is refused for a reason.
func (w *exchange) refused(why, step string) {
	w.T.Helper()
	_, err := w.tryCA(step)
	w.G.Expect(err).To(MatchError(ContainSubstring(why)), fmt.Sprintf("hub ca %s", step))
}
