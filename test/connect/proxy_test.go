package connect

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/common/line"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

const (
	// hubName is a name that only the proxy resolves.
	hubName = "hub.fairlead.test"
	// idleLimit is after how long without traffic the proxy closes a connection: a little more than the hub's ping
	// interval.
	idleLimit = line.DefaultPing + 3*time.Second
)

func TestALineGoesThroughAProxyThatAllowsCONNECTOnly(t *testing.T) {
	w := up(t)
	hub, err := w.Config(fleet.HubName)
	w.G.Expect(err).NotTo(HaveOccurred())
	way := fleettest.NewProxy(t, map[string]string{hubName + ":443": strings.TrimPrefix(hub.Host, "https://")}, idleLimit)

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
	// The agent's other connection pings every half minute, which suits the usual minute of proxies, but not the
	// seconds of this one.
	t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", "3")
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
	t.Run("silence", func(t *testing.T) { (&world{shared.World(t)}).mayBeSilent() })
	for _, protocol := range slices.Sorted(maps.Keys(transports())) {
		t.Run("20 port-forwards by "+protocol, func(t *testing.T) { w.forwardsMany(t, protocol) })
	}

	w.G.Expect(w.Stop(t.Context(), agent)).To(Succeed())
	for name, cluster := range named.Clusters {
		cluster.Server = servers[name]
	}
	w.G.Expect(clientcmd.WriteToFile(*named, file)).To(Succeed())
	t.Setenv("HTTPS_PROXY", "")
	w.G.Expect(w.Up(t.Context())).To(Succeed())
}

// mayBeSilent checks that commands and logs survive a silence longer than the proxy's idle limit.
func (w *world) mayBeSilent() {
	w.T.Helper()
	streams := []*stream{w.start(w.kubectl(open, "alice", "logs", "-f", "web"))}
	w.awaitOutput(streams[0], "started")
	for _, protocol := range slices.Sorted(maps.Keys(transports())) {
		cmd := w.kubectl(open, "alice", "exec", "-i", "web", "--", "cat")
		cmd.Env = append(os.Environ(), transports()[protocol]...)
		s := w.start(cmd)
		_, err := io.WriteString(s.in, "before\n")
		w.G.Expect(err).NotTo(HaveOccurred())
		w.awaitOutput(s, "before")
		streams = append(streams, s)
	}
	// kubectl sends its own pings, which would replace those of the line: it is stopped, so that only the line's pings
	// are sent.
	for _, s := range streams {
		w.G.Expect(s.process.Signal(syscall.SIGSTOP)).To(Succeed())
	}
	w.G.Consistently(func() int { return len(w.ended(streams)) }).WithTimeout(3 * idleLimit).WithPolling(time.Second).Should(BeZero())
	for _, s := range streams {
		w.G.Expect(s.process.Signal(syscall.SIGCONT)).To(Succeed())
	}
	for _, s := range streams[1:] {
		_, err := io.WriteString(s.in, "after\n")
		w.G.Expect(err).NotTo(HaveOccurred())
		w.awaitOutput(s, "after")
	}
	out, err := w.does(open, "alice", "exec", "web", "--", "sh", "-c", `echo still here >> "$LOG"`)
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.awaitOutput(streams[0], "still here")
	w.G.Expect(w.ended(streams)).To(BeEmpty())
}

// ended returns the programs that have exited.
func (w *world) ended(streams []*stream) []*stream {
	return slices.DeleteFunc(slices.Clone(streams), func(s *stream) bool { return len(s.ended) == 0 })
}
