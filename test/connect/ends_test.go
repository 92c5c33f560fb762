package connect

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
)

// TestStreamsEndWithTheAgentAndNewOnesWork must be last in its package, by file name, because it stops agents and the
// hub.
func TestStreamsEndWithTheAgentAndNewOnesWork(t *testing.T) {
	w := up(t)
	followed := w.start(w.kubectl(open, "alice", "logs", "-f", "web"))
	typed := w.start(w.kubectl(open, "alice", "exec", "-i", "web", "--", "cat"))
	w.awaitOutput(followed, "started")
	_, err := typed.in.Write([]byte("there\n"))
	w.G.Expect(err).NotTo(HaveOccurred())
	w.awaitOutput(typed, "there")

	w.G.Expect(w.Kill(t.Context(), fleet.AgentName(open))).To(Succeed())
	w.G.Expect(w.awaitEnd(typed)).To(HaveOccurred(), "a program that was cut off did not succeed")
	_ = w.awaitEnd(followed)

	out, err := w.does(open, "alice", "get", "pods")
	w.G.Expect(err).To(HaveOccurred(), out)
	w.G.Expect(out).To(ContainSubstring("not connected"))

	w.G.Expect(w.Up(t.Context())).To(Succeed())
	w.awaitLine()
}

func TestLinesComeBackToAHubThatWasKilled(t *testing.T) {
	w := up(t)
	followed := w.start(w.kubectl(open, "alice", "logs", "-f", "web"))
	w.awaitOutput(followed, "started")
	w.G.Expect(w.Kill(t.Context(), fleet.HubName)).To(Succeed())
	_ = w.awaitEnd(followed)
	w.G.Expect(w.Up(t.Context())).To(Succeed())
	w.awaitLine()
	out, err := w.does(open, "alice", "exec", "web", "--", "echo", "again")
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.G.Expect(out).To(Equal("again\n"))
}
