package connect

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// hubName is a name that no DNS of this machine knows; the proxy does.
const hubName = "hub.fairlead.test"

func TestALineGoesThroughAProxyThatAllowsCONNECTOnly(t *testing.T) {
	w := up(t)
	hub, err := w.Config(fleet.HubName)
	w.G.Expect(err).NotTo(HaveOccurred())
	way := fleettest.NewProxy(t, map[string]string{hubName + ":443": strings.TrimPrefix(hub.Host, "https://")})

	agent := fleet.AgentName(open)
	w.G.Expect(w.Stop(t.Context(), agent)).To(Succeed())
	file := filepath.Join(w.StateDir(open), "hub.kubeconfig")
	named, err := clientcmd.LoadFromFile(file)
	w.G.Expect(err).NotTo(HaveOccurred())
	servers := map[string]string{}
	for name, cluster := range named.Clusters {
		servers[name], cluster.Server = cluster.Server, "https://"+hubName+":443"
	}
	w.G.Expect(clientcmd.WriteToFile(*named, file)).To(Succeed())
	t.Setenv("HTTPS_PROXY", way.Address)
	t.Setenv("NO_PROXY", "")
	w.G.Expect(w.StartAgent(open)).To(Succeed())
	w.awaitLine()
	out, err := w.does(open, "alice", "exec", "web", "--", "echo", "by CONNECT")
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.G.Expect(out).To(Equal("by CONNECT\n"))
	seen := way.Seen()
	w.G.Expect(len(seen)).To(BeNumerically(">=", 2), "the line is a connection of its own")
	for _, request := range seen {
		w.G.Expect(request).To(Equal("CONNECT " + hubName + ":443"))
	}

	w.G.Expect(w.Stop(t.Context(), agent)).To(Succeed())
	for name, cluster := range named.Clusters {
		cluster.Server = servers[name]
	}
	w.G.Expect(clientcmd.WriteToFile(*named, file)).To(Succeed())
	t.Setenv("HTTPS_PROXY", "")
	w.G.Expect(w.Up(t.Context())).To(Succeed())
}
