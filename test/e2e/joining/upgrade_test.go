package joining

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
)

// want sets the desired image of a cluster's agent. An attempt is the time of the request.
func (w *world) want(cluster, image, within string, attempt int64) {
	w.T.Helper()
	w.MustKubectl(fleet.HubName, "patch", "cluster", cluster, "--type", "merge", "-p",
		fmt.Sprintf(`{"spec":{"agent":{"image":%q,"reportWithin":%q,"attempt":%d}}}`, image, within, attempt))
}

// upgrade returns the status of the upgrade of the agent in its member: wanted, phase, running, message.
func (w *world) upgrade(g Gomega) string {
	out, err := w.Kubectl(w.T.Context(), fleet.HubName, "get", "cluster", "inside", "-o",
		"jsonpath={.status.agentUpgrade.image} {.status.agentUpgrade.phase} {.status.agentUpgrade.running} {.status.agentUpgrade.message}")
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// runs returns the images of the agent and of the guard in the member, with their replicas.
func (w *world) runs(g Gomega) string {
	out, err := w.Kubectl(w.T.Context(), member, "get", "deployments", "-n", "karmada-system", "fairlead-agent", "fairlead-agent-guard",
		"-o", "jsonpath={range .items[*]}{.spec.template.spec.containers[0].image}*{.spec.replicas} {end}")
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

// TestAnAgentIsUpgradedFromTheHub upgrades an agent in its member to images that work, that cannot be pulled, that do
// not start and that exit soon after, while it and its guard are killed.
func TestAnAgentIsUpgradedFromTheHub(t *testing.T) {
	w := up(t)
	program := w.Program("agent")
	images := map[string][]string{
		"r.example/agent:v1": {program}, "r.example/agent:v2": {program},
		"r.example/agent:broken": {"/bin/sh", "-c", `exec "$0" "$@" --no-such-flag`, program}, crashes: {program},
	}
	k := w.installInside(t, "inside", images, "--image", "r.example/agent:v1", "--namespaces", "default", "--kinds", "configmaps")
	w.AwaitReady("inside")

	// All at once: there is no later wave, before which the agent would be watched for a minute.
	w.Operate("upgrade", "agents", "inside", "--image", "r.example/agent:v2", "--batch", "1", "--report-within", "40s")
	w.G.Expect(w.upgrade(w.G)).To(Equal("r.example/agent:v2 Upgraded r.example/agent:v2 upgraded from r.example/agent:v1"))
	w.Eventually(func(g Gomega) {
		g.Expect(w.runs(g)).To(Equal("r.example/agent:v2*1 r.example/agent:v2*0 "), "the guard has gone to sleep, and is as new as the agent")
	})

	w.want("inside", "r.example/agent:v1", "20s", time.Now().Add(-time.Hour).Unix())
	w.Eventually(func(g Gomega) {
		g.Expect(w.upgrade(g)).To(HavePrefix("r.example/agent:v1 Refused r.example/agent:v2 the hub requests what it requested before the last upgrade here, to r.example/agent:v2"))
	})
	w.G.Expect(w.runs(w.G)).To(Equal("r.example/agent:v2*1 r.example/agent:v2*0 "), "a hub that was restored from a backup brings no older agent back")

	out := w.Operate("upgrade", "agents", "inside", "--image", "evil.example/agent:v3")
	w.G.Expect(out).To(ContainSubstring("the owner of the member allows images of r.example/agent only"))
	w.G.Expect(w.runs(w.G)).To(HavePrefix("r.example/agent:v2*1 "))
	for verb, right := range map[string]string{"patch": "deployments.apps/fairlead-agent", "update": "deployments.apps/fairlead-agent-guard"} {
		out, _ := w.Kubectl(t.Context(), member, "auth", "can-i", verb, right, "-n", "karmada-system", "--as", "system:serviceaccount:karmada-system:fairlead-agent")
		w.G.Expect(out).NotTo(HavePrefix("yes"), "no Work can bring another image past the guard: %s %s", verb, right)
	}

	// Whatever is killed meanwhile, an agent that cannot reach the hub is rolled back.
	for _, image := range []string{"r.example/agent:broken", crashes, "r.example/agent:absent"} {
		within := "4s"
		if image == crashes { // it reports, and exits before half of this has passed
			within = "10s"
		}
		w.want("inside", image, within, time.Now().Unix())
		w.Eventually(func(g Gomega) {
			record, err := w.Kubectl(t.Context(), member, "get", "deployment", "-n", "karmada-system", "fairlead-agent", "-o", `jsonpath={.metadata.annotations.fairlead\.dev/agent-upgrade}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(record).To(ContainSubstring(image), "it has begun")
		})
		k.kill("")
		w.Eventually(func(g Gomega) {
			g.Expect(w.upgrade(g)).To(HavePrefix(image + " RolledBack r.example/agent:v2 the hub received no heartbeat of it within " + within + ", so r.example/agent:v2 runs again"))
			g.Expect(w.runs(g)).To(Equal("r.example/agent:v2*1 r.example/agent:v2*0 "))
		})
	}
	w.G.Expect(w.Operate("clusters", "describe", "inside")).To(ContainSubstring("Its agent went back from r.example/agent:absent"))

	// The upgrade is retried only on request, and succeeds once the image exists.
	again := []string{"upgrade", "agents", "inside", "--image", "r.example/agent:absent", "--batch", "1", "--report-within", "40s", "--kubeconfig", w.Kubeconfig(fleet.HubName)}
	_, err := w.Run(t.Context(), "hub", again...)
	w.G.Expect(err).To(MatchError(ContainSubstring("in wave all the upgrade failed in inside, and 0 may")))
	k.pull("r.example/agent:absent", program)
	out, err = w.Run(t.Context(), "hub", append(again, "--retry")...)
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.G.Expect(w.upgrade(w.G)).To(HavePrefix("r.example/agent:absent Upgraded "))
}

// TestAnAgentThatIsAProcessIsUpgradedByItsOwner checks that the hub says how.
func TestAnAgentThatIsAProcessIsUpgradedByItsOwner(t *testing.T) {
	w := up(t)
	dir := t.TempDir()
	w.RunAgent(filepath.Join(dir, "log"), append(w.joinArguments("process"), "--cluster-status-update-frequency", "1s", "--kubeconfig", w.Kubeconfig(member), "--state-dir", filepath.Join(dir, "state"))...)
	w.AwaitReady("process")
	out := w.Operate("upgrade", "agents", "--all", "--image", "r.example/agent:v9")
	w.G.Expect(out).To(And(ContainSubstring("cluster process is upgraded by its owner: it runs as a process"), ContainSubstring("systemctl restart fairlead-agent")))
	w.G.Expect(w.Operate("upgrade", "status")).To(MatchRegexp(`process +NotInPod +r.example/agent:v9`))
}
