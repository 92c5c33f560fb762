package machines

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
	"fairlead.dev/test/process"
)

// Names of the hubs of both machines, which only the proxy resolves.
const (
	firstName  = "hub-1.fairlead.test"
	secondName = "hub-2.fairlead.test"
)

// areNamed makes both hubs, from their next start on, reachable by these names only.
func (w *world) areNamed() {
	w.HubArgs = append(slices.Clone(w.HubArgs),
		"--hub-addresses=https://"+firstName+":443,https://"+secondName+":443", "--tls-san="+firstName+","+secondName)
}

// anAgentBehindAProxyGoesOnWithTheOther gives the agent only a proxy as a way out, and stops the hub that it talks to.
func (w *world) anAgentBehindAProxyGoesOnWithTheOther() {
	t, g, ctx := w.t, NewWithT(w.t), w.t.Context()
	agent := fleet.AgentName("edge-1")
	if w.agentEnds != nil {
		w.agentEnds()
	}
	w.stops(agent)
	targets := map[string]string{}
	for hub, name := range map[string]string{fleet.HubName: firstName, second: secondName} {
		config, err := w.Config(hub)
		g.Expect(err).NotTo(HaveOccurred())
		targets[name+":443"] = strings.TrimPrefix(config.Host, "https://")
	}
	way := fleettest.NewProxy(t, targets, 0)

	// It joined by an address; replace it by the name, as if it had joined by that.
	joined := filepath.Join(w.StateDir("edge-1"), "hub.kubeconfig")
	config, err := clientcmd.LoadFromFile(joined)
	g.Expect(err).NotTo(HaveOccurred())
	for _, hub := range config.Clusters {
		hub.Server = "https://" + firstName + ":443"
	}
	g.Expect(clientcmd.WriteToFile(*config, joined)).To(Succeed())
	p, err := process.Start(process.Spec{
		Executable: w.Program("agent"), Log: w.Log(agent), Env: []string{"HTTPS_PROXY=" + way.Address, "NO_PROXY="},
		Args: []string{"run", "--kubeconfig", w.Kubeconfig("edge-1"), "--state-dir", w.StateDir("edge-1")},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Adopt(agent, p)).To(Succeed())
	w.eventually(func(g Gomega) {
		state, err := os.ReadFile(filepath.Join(w.StateDir("edge-1"), "agent.json"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(state)).To(ContainSubstring(`"https://`+firstName+`:443,https://`+secondName+`:443"`), "it knows both by these names only")
	})
	w.send(fleet.HubName)
	g.Expect(way.Seen()).To(HaveEach("CONNECT " + firstName + ":443"))

	w.stops(fleet.HubName)
	w.send(second)
	other, err := w.Config(second)
	g.Expect(err).NotTo(HaveOccurred())
	clientset, err := kubernetes.NewForConfig(other)
	g.Expect(err).NotTo(HaveOccurred())
	w.eventually(func(g Gomega) { isAnswered(ctx, g, clientset) })
	g.Expect(way.Seen()).To(ContainElement("CONNECT " + secondName + ":443"))
}
