package joining

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
	"fairlead.dev/test/process"
)

// oldest is the commit of the oldest agent that is tested with this hub. Once there are releases, it will be the one
// two minor versions before.
const oldest = "08ff814d737dfcbe3a9f8abc6bda17fa3bf64404"

// oldAgent builds the agent of that commit from the repository's history.
func (w *world) oldAgent() string {
	w.T.Helper()
	root, err := exec.CommandContext(w.T.Context(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		w.T.Skip("there is no git repository here, and so no older agent to build")
	}
	dir := w.T.TempDir()
	archive := filepath.Join(dir, "source.tar")
	git := exec.CommandContext(w.T.Context(), "git", "-C", strings.TrimSpace(string(root)), "archive", "-o", archive, oldest)
	if out, err := git.CombinedOutput(); err != nil {
		w.T.Skipf("commit %s is not in this clone, which may be a shallow one: %s", oldest, out)
	}
	// Without paths in the binary, unchanged packages come from the build cache.
	for _, command := range [][]string{{"tar", "-xf", archive}, {"go", "build", "-trimpath", "-buildvcs=false", "-o", "old-agent", "./agent"}} {
		cmd := exec.CommandContext(w.T.Context(), command[0], command[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
		out, err := cmd.CombinedOutput()
		w.G.Expect(err).NotTo(HaveOccurred(), string(out))
	}
	return filepath.Join(dir, "old-agent")
}

// TestAHubWorksWithAnOlderAgent joins an older agent and uses it, replaces it by the current one, which takes over its
// objects, and downgrades again.
func TestAHubWorksWithAnOlderAgent(t *testing.T) {
	w := up(t)
	programs := map[string]string{"old": w.oldAgent(), "new": w.Program("agent")}
	dir := t.TempDir()
	args := append([]string{"run"}, w.joinArguments("skewed")...)
	args = append(args, "--cluster-status-update-frequency", "1s", "--kubeconfig", w.Kubeconfig(member), "--state-dir", filepath.Join(dir, "state"))
	start := func(age string) *process.Process {
		p, err := process.Start(process.Spec{Executable: programs[age], Args: args, Log: filepath.Join(dir, "log")})
		w.G.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(p.Kill)
		return p
	}
	identity := func() string {
		return w.MustKubectl(member, "get", "configmap", "-n", "default", "lasting", "-o", "jsonpath={.metadata.uid} {.metadata.resourceVersion}")
	}

	running := start("old")
	w.AwaitReady("skewed")
	w.send("lasting", "skewed")
	lasting := identity()
	w.want("skewed", "r.example/agent:v9", "5m", 1)
	w.G.Expect(w.Operate("clusters", "describe", "skewed")).To(ContainSubstring("was asked to upgrade to r.example/agent:v9, and has not answered"))

	for _, age := range []string{"new", "old"} {
		running.Kill()
		running = start(age)
		name := "brought-by-" + age
		w.send(name, "skewed")
		w.G.Expect(identity()).To(Equal(lasting), "what was there is left alone by the %s agent", age)
		w.MustKubectl(fleet.HubName, "delete", "configmap", "-n", "default", name)
		w.Eventually(func(g Gomega) {
			g.Expect(w.managed(g, name)).To(Equal("gone"), "the %s agent deletes what the hub deletes", age)
		})
	}
	w.G.Eventually(func() string { return w.Operate("clusters", "describe", "skewed") }).WithTimeout(fleettest.WaitTimeout).Should(MatchRegexp(`State: +Ready`))
}
