package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/test/fleet"
)

// fails runs a program that must fail, and returns the last line that it printed.
func fails(t *testing.T, f *fleet.Fleet, program string, args ...string) string {
	t.Helper()
	g := NewWithT(t)
	_, err := f.Run(t.Context(), program, args...)
	g.Expect(err).To(HaveOccurred(), "the exit status is not zero")
	text := strings.TrimSpace(err.Error())
	g.Expect(text).NotTo(ContainSubstring("goroutine"))
	g.Expect(text).NotTo(ContainSubstring("Usage:"), "an error is no manual")
	lines := strings.Split(text, "\n")
	return lines[len(lines)-1]
}

func TestMistakesAtTheCommandLine(t *testing.T) {
	f := up(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() string { return filepath.Join(t.TempDir(), "data") }
	for name, c := range map[string]struct {
		program string
		args    []string
		want    string
	}{
		"an unknown flag of the hub":            {"hub", []string{"serve", "--nonsense"}, "--nonsense"},
		"an unknown flag of the agent":          {"agent", []string{"run", "--nonsense"}, "--nonsense"},
		"an unknown flag of the control plane":  {"controlplane", []string{"--nonsense"}, "--nonsense"},
		"an unknown command":                    {"hub", []string{"nonsense"}, "nonsense"},
		"a port of the hub that is in use":      {"hub", serve(fresh(), port), port},
		"a port of a cluster that is in use":    {"controlplane", []string{"--profile", "cluster", "--data-dir", fresh(), "--secure-port", port}, port},
		"a data directory that is a file":       {"hub", serve(filepath.Join(file, "data"), "0"), file},
		"a data directory that is in use":       {"hub", serve(filepath.Join(f.Dir, fleet.HubName), "0"), filepath.Join(f.Dir, fleet.HubName)},
		"a token for a name that is none":       {"hub", []string{"token", "create", "--kubeconfig", f.Kubeconfig(fleet.HubName), "--cluster", "Not A Name"}, "Not A Name"},
		"a kubeconfig that is not there":        {"hub", []string{"token", "create", "--kubeconfig", "/nowhere", "--cluster", "x"}, "/nowhere"},
		"a token that nobody can use in time":   {"hub", []string{"token", "create", "--kubeconfig", f.Kubeconfig(fleet.HubName), "--cluster", "x", "--ttl", "1ms"}, "valid for longer"},
		"an agent that has never joined":        {"agent", []string{"run", "--kubeconfig", f.Kubeconfig("edge-1"), "--state-dir", fresh()}, "join"},
		"an agent with no cluster to speak for": {"agent", []string{"run", "--kubeconfig", "/nowhere", "--state-dir", fresh()}, "/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(fails(t, f, c.program, c.args...)).To(ContainSubstring(c.want))
		})
	}
}

func serve(dataDir, port string) []string {
	return []string{"serve", "--data-dir", dataDir, "--bind-address", "127.0.0.1", "--secure-port", port, "--metrics-bind-address", "0", "--dashboard-bind-address", "0"}
}

// idOf returns the ID of the token among the arguments of `agent join`.
func idOf(g Gomega, arguments []string) string {
	g.Expect(arguments).To(ContainElement("--token"))
	token, err := bootstrap.Parse(arguments[slices.Index(arguments, "--token")+1])
	g.Expect(err).NotTo(HaveOccurred())
	return token.ID
}

func TestTokensThatDoNotOpen(t *testing.T) {
	g := NewWithT(t)
	f := up(t)
	join := func(t *testing.T, member string, arguments []string) []string {
		t.Helper()
		return append([]string{
			"join", "--kubeconfig", f.Kubeconfig(member), "--state-dir", filepath.Join(t.TempDir(), "agent"), "--discovery-timeout", "15s",
		}, arguments...)
	}
	t.Run("a used token", func(t *testing.T) {
		g := NewWithT(t)
		token, err := f.CreateToken(t.Context(), "edge-1")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = f.Run(t.Context(), "agent", append(join(t, "edge-1", token), "--discovery-timeout", "2m")...)
		g.Expect(err).NotTo(HaveOccurred(), "the same member may come back")
		g.Expect(fails(t, f, "agent", join(t, "edge-2", token)...)).To(ContainSubstring("was used already"))
		// The new join ended the one that edge-1's agent runs with, so that agent must join again as well.
		g.Expect(f.Stop(t.Context(), fleet.AgentName("edge-1"))).To(Succeed())
		g.Expect(os.RemoveAll(f.StateDir("edge-1"))).To(Succeed())
		g.Expect(f.Up(t.Context())).To(Succeed())
	})
	t.Run("an expired token", func(t *testing.T) {
		g := NewWithT(t)
		token, err := f.CreateToken(t.Context(), "edge-9")
		g.Expect(err).NotTo(HaveOccurred())
		// A time to live of a second might end before the token is usable.
		kubectl(t, g, f, fleet.HubName, "patch", "secret", "-n", bootstrap.SecretNamespace, bootstrap.SecretName(idOf(g, token)),
			"-p", `{"stringData": {"expiration": "2020-01-01T00:00:00Z"}}`)
		g.Eventually(func(g Gomega) {
			tokens, err := f.Run(t.Context(), "hub", "token", "list", "--kubeconfig", f.Kubeconfig(fleet.HubName))
			g.Expect(err).NotTo(HaveOccurred())
			for line := range strings.Lines(tokens) {
				g.Expect(line).NotTo(And(ContainSubstring("edge-9"), ContainSubstring(" in ")), "it has not ended yet")
			}
		}).WithTimeout(waitTimeout).WithPolling(100 * time.Millisecond).Should(Succeed())
		g.Expect(fails(t, f, "agent", join(t, "edge-1", token)...)).To(ContainSubstring("token"))
	})
	t.Run("a token for another name", func(t *testing.T) {
		g := NewWithT(t)
		token, err := f.CreateToken(t.Context(), "edge-4")
		g.Expect(err).NotTo(HaveOccurred())
		token[len(token)-1] = "edge-5"
		g.Expect(fails(t, f, "agent", join(t, "edge-1", token)...)).To(ContainSubstring("edge-5"))
	})
	t.Run("a name that another member has", func(t *testing.T) {
		g := NewWithT(t)
		token, err := f.CreateToken(t.Context(), "edge-1")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(fails(t, f, "agent", join(t, "edge-2", token)...)).To(ContainSubstring("edge-1"))
	})
	t.Run("a wrong hash of the certificate authority", func(t *testing.T) {
		g := NewWithT(t)
		token, err := f.CreateToken(t.Context(), "edge-4")
		g.Expect(err).NotTo(HaveOccurred())
		for i, argument := range token {
			if strings.HasPrefix(argument, "sha256:") {
				token[i] = "sha256:" + strings.Repeat("0", 64)
			}
		}
		g.Expect(fails(t, f, "agent", join(t, "edge-1", token)...)).To(ContainSubstring("hash"))
	})
	g.Expect(table(kubectl(t, g, f, fleet.HubName, "get", "clusters"))).To(HaveLen(3), "none of this made a cluster, of "+strconv.Itoa(f.Clusters))
}
