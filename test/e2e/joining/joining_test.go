package joining

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
	"fairlead.dev/test/process"
)

func TestAMemberJoinsWhereOnlyAProxyMayGoOut(t *testing.T) {
	w := up(t)
	args := w.joinArguments("far")
	way := fleettest.NewProxy(t, map[string]string{hubName + ":443": args[0]}, 0)
	state := filepath.Join(t.TempDir(), "state")
	through := []string{"HTTPS_PROXY=" + way.Address}
	args[0] = hubName + ":443"
	join := append(append([]string{"join"}, args...), "--kubeconfig", w.Kubeconfig(member), "--state-dir", state)

	out, err := w.agent(nil, append(join, "--check")...)
	w.G.Expect(err).To(HaveOccurred())
	w.G.Expect(out).To(And(MatchRegexp(`(?m)^FAIL +DNS +`+hubName), MatchRegexp(`(?m)^- +TLS +not checked`), MatchRegexp(`(?m)^ok +member +`)))

	out, err = w.agent([]string{"HTTPS_PROXY=http://127.0.0.1:1"}, append(join, "--check")...)
	w.G.Expect(err).To(HaveOccurred())
	w.G.Expect(out).To(MatchRegexp(`(?m)^FAIL +TCP +127.0.0.1:1 does not answer`))

	out, err = w.agent(through, append(join, "--check")...)
	w.G.Expect(err).NotTo(HaveOccurred())
	for _, check := range []string{"DNS", "TCP", "proxy", "clock", "TLS", "token", "member", "rights", "name"} {
		w.G.Expect(out).To(MatchRegexp(`(?m)^ok +` + check + ` `))
	}
	w.G.Expect(w.Operate("token", "list")).To(MatchRegexp(`far +1 of 1`), "the check does not use the token up")

	began := time.Now()
	out, err = w.agent(through, join...)
	w.G.Expect(err).NotTo(HaveOccurred())
	t.Logf("from the command to Ready: %.1f s", time.Since(began).Seconds())
	for _, step := range []string{"Joining https://" + hubName, "Found the hub", "Asked the hub for a certificate", "Joined as cluster far", "The hub receives heartbeats of the agent", "The hub reports cluster far Ready", "agent run --kubeconfig"} {
		w.G.Expect(out).To(ContainSubstring(step))
	}
	w.G.Expect(w.Operate("clusters")).To(MatchRegexp(`far +Ready +\S+ +v\S+ .*in (29|30)d`))
	w.G.Expect(way.Seen()).To(And(Not(BeEmpty()), HaveEach("CONNECT "+hubName+":443")))

	t.Run("the token is used, and the check says so", func(t *testing.T) {
		g := NewWithT(t)
		other := append([]string{}, join...)
		other[len(other)-1] = filepath.Join(t.TempDir(), "other")
		out, err := w.agent(through, append(other, "--check")...)
		g.Expect(err).To(HaveOccurred())
		g.Expect(out).To(MatchRegexp(`(?m)^FAIL +name +Token \S+ was used already`))
	})
	t.Run("the same command again has nothing to do", func(t *testing.T) {
		g := NewWithT(t)
		out, err := w.agent(through, join...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(And(ContainSubstring("has already joined"), ContainSubstring("The hub reports cluster far Ready")))
	})
	t.Run("a unit of systemd", func(t *testing.T) {
		g := NewWithT(t)
		out, err := w.agent(through, "join", "--print", "systemd", "--kubeconfig", w.Kubeconfig(member), "--state-dir", state)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).To(And(ContainSubstring("ExecStart="+w.Program("agent")+" run --kubeconfig "+w.Kubeconfig(member)+" --state-dir "+state),
			ContainSubstring(`Environment="HTTPS_PROXY=`+way.Address)))
	})
}

func TestAMemberLeaves(t *testing.T) {
	w := up(t)
	for objects, left := range map[string]string{"keep": "", "remove": "gone"} {
		t.Run(objects, func(t *testing.T) {
			name := "leaves-" + objects
			state := filepath.Join(t.TempDir(), "state")
			where := []string{"--kubeconfig", w.Kubeconfig(member), "--state-dir", state}
			agent := w.RunAgent(filepath.Join(t.TempDir(), "log"), append(w.joinArguments(name), where...)...)
			w.AwaitReady(name)
			w.send(name, name)

			_, err := w.agent(nil, append([]string{"leave", "--objects", objects}, where...)...)
			w.G.Expect(err).To(HaveOccurred(), "while the agent runs")
			agent.Kill()
			out, err := w.agent(nil, append([]string{"leave", "--objects", objects}, where...)...)
			w.G.Expect(err).NotTo(HaveOccurred())
			w.G.Expect(out).To(ContainSubstring("Cluster " + name + " has left"))
			w.Eventually(func(g Gomega) {
				g.Expect(w.Operate("clusters", "describe", name)).To(MatchRegexp(`Forgotten: .* by system:karmada:agent:` + name))
			})
			w.Eventually(func(g Gomega) { g.Expect(w.Operate("clusters")).NotTo(ContainSubstring(name)) })
			w.G.Expect(w.managed(w.G, name)).To(Equal(left))
			_, err = os.Stat(state)
			w.G.Expect(os.IsNotExist(err)).To(BeTrue(), "the key is gone")
			w.Operate("forget", name, "--release")
		})
	}
}

func TestAnAgentThatIsAliveIsToldThatItsClusterWasForgotten(t *testing.T) {
	w := up(t)
	for told, left := range map[string]string{"": "true", "remove": "gone"} {
		name := "forgotten" + told
		t.Run(name, func(t *testing.T) {
			args := append(w.joinArguments(name), "--kubeconfig", w.Kubeconfig(member), "--state-dir", filepath.Join(t.TempDir(), "state"))
			if told != "" {
				args = append(args, "--on-retire", told)
			}
			log := filepath.Join(t.TempDir(), "log")
			agent := w.RunAgent(log, args...)
			w.AwaitReady(name)
			w.send(name, name)
			w.Operate("forget", name, "--force")
			w.Eventually(func(g Gomega) { g.Expect(agent.Ended()).To(BeTrue(), "it stops by itself") })
			w.G.Expect(w.managed(w.G, name)).To(Equal(left))
			raw, err := os.ReadFile(log)
			w.G.Expect(err).NotTo(HaveOccurred())
			w.G.Expect(string(raw)).To(ContainSubstring("the hub has retired this cluster"))

			again := w.RunAgent(log, args...)
			w.Eventually(func(g Gomega) { g.Expect(again.Ended()).To(BeTrue(), "it stops again") })
			w.G.Expect(w.managed(w.G, name)).To(Equal(left))
			w.Operate("forget", name, "--release")
		})
	}
}

// TestAClonedMemberIsShown runs two agents with copies of one state directory.
func TestAClonedMemberIsShown(t *testing.T) {
	w := up(t)
	dir := t.TempDir()
	fast := []string{"--kubeconfig", w.Kubeconfig(member), "--cluster-lease-duration", "4s"}
	w.RunAgent(filepath.Join(dir, "log"), append(append(w.joinArguments("cloned"), fast...), "--state-dir", filepath.Join(dir, "one"))...)
	w.AwaitReady("cloned")
	w.G.Expect(os.Mkdir(filepath.Join(dir, "two"), 0o700)).To(Succeed())
	for _, file := range []string{"agent.json", "hub.kubeconfig"} {
		raw, err := os.ReadFile(filepath.Join(dir, "one", file))
		w.G.Expect(err).NotTo(HaveOccurred())
		w.G.Expect(os.WriteFile(filepath.Join(dir, "two", file), raw, 0o600)).To(Succeed())
	}
	w.RunAgent(filepath.Join(dir, "log"), append(fast, "--state-dir", filepath.Join(dir, "two"))...)
	w.Eventually(func(g Gomega) { g.Expect(w.Operate("clusters")).To(MatchRegexp(`cloned .*Several agents pass for it`)) })
	w.G.Expect(w.Operate("clusters", "describe", "cloned")).To(ContainSubstring("Several agents pass for cluster cloned at once"))
}

// TestAnAgentInItsMember installs the agent in the member. The member's nodes run no processes, so the test runs the
// pod's command: the same arguments, as the same service account.
func TestAnAgentInItsMember(t *testing.T) {
	w := up(t)
	args := w.joinArguments("inside")
	join := append(append([]string{"join"}, args...), "--kubeconfig", w.Kubeconfig(member), "--namespaces", "default", "--kinds", "configmaps")

	out, err := w.agent(nil, append(join, "--print", "manifests")...)
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Expect(out).To(And(ContainSubstring("kind: Deployment"), ContainSubstring("--token-file"), Not(ContainSubstring(args[2])), Not(ContainSubstring("- '*'"))))

	done := make(chan string, 1)
	go func() {
		out, err := w.agent(nil, append(join, "--install")...)
		if err != nil {
			out = "FAILED " + out
		}
		done <- out
	}()
	w.Eventually(func(g Gomega) {
		out, err := w.Kubectl(t.Context(), member, "get", "deployment", "-n", "karmada-system", "fairlead-agent", "-o", "name")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out).NotTo(BeEmpty())
	})
	pod := w.playPod("log")
	var said string
	w.G.Eventually(done).WithTimeout(fleettest.WaitTimeout).Should(Receive(&said))
	w.G.Expect(said).To(And(ContainSubstring("The hub reports cluster inside Ready"), Not(HavePrefix("FAILED"))))

	w.send("narrow", "inside")
	w.MustKubectl(fleet.HubName, "create", "namespace", "elsewhere")
	w.MustKubectl(fleet.HubName, "create", "configmap", "wide", "-n", "elsewhere")
	w.Apply(`
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: wide, namespace: elsewhere}
spec:
  resourceSelectors: [{apiVersion: v1, kind: ConfigMap, name: wide}]
  placement: {clusterAffinity: {clusterNames: [inside]}}
`)
	w.Eventually(func(g Gomega) {
		works, err := w.Kubectl(t.Context(), fleet.HubName, "get", "works", "-n", "karmada-es-inside", "-o", `jsonpath={range .items[*]}{.metadata.name} {.status.conditions[?(@.type=="Applied")].message}{"\n"}{end}`)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(works).To(MatchRegexp(`(?m)^wide.*confined`), "what it may not do, the Work says")
	})
	w.MustKubectl(fleet.HubName, "delete", "namespace", "elsewhere", "--wait=false")

	pod.Kill() // Kubernetes does not stop a process that only replaces the pod
	cache := filepath.Join(w.T.TempDir(), "cache")
	leaving := []string{"leave", "--installed", "--objects", "remove", "--kubeconfig", w.Kubeconfig(member)}
	// The hub no longer mentions the cluster after that.
	w.killAt("The hub has released the cluster", []string{"XDG_CACHE_HOME=" + cache}, leaving...)
	out, err = w.agent([]string{"XDG_CACHE_HOME=" + cache}, leaving...)
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Expect(filepath.Glob(filepath.Join(cache, "fairlead", "*"))).To(BeEmpty(), "nor is anything left here")
	w.G.Expect(out).To(And(ContainSubstring("Leaving as cluster inside"), ContainSubstring("The hub has released the cluster"),
		ContainSubstring("The Deployment of the agent and its rights are removed")))
	w.G.Expect(w.managed(w.G, "narrow")).To(Equal("gone"), "what the hub had here is removed")
	w.Eventually(func(g Gomega) {
		g.Expect(w.MustKubectl(fleet.HubName, "get", "clusters", "-o", "name")).NotTo(ContainSubstring("inside"))
		left := w.MustKubectl(member, "get", "deployments,secrets,serviceaccounts,clusterroles,clusterrolebindings,roles,rolebindings", "-A", "-o", "name")
		g.Expect(left).NotTo(ContainSubstring("fairlead"), "nothing of the agent is left")
	})
	out, err = w.agent(nil, leaving...)
	w.G.Expect(err).To(HaveOccurred(), "there is nothing to leave with")
	w.G.Expect(out).NotTo(ContainSubstring("panic"))
}

// playPod runs the command of the Deployment's pod.
func (w *world) playPod(log string) *process.Process {
	w.T.Helper()
	dir := w.T.TempDir()
	raw := w.MustKubectl(member, "get", "deployment", "-n", "karmada-system", "fairlead-agent", "-o", `jsonpath={range .spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}`)
	args := strings.Fields(raw)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "/var/lib/fairlead/agent", filepath.Join(dir, "state"))
		if args[i] == ":10357" { // pods have their own IP addresses, these processes share one
			args[i] = "127.0.0.1:0"
		}
	}
	token := strings.TrimSpace(w.MustKubectl(member, "create", "token", "fairlead-agent", "-n", "karmada-system"))
	config, err := clientcmd.LoadFromFile(w.Kubeconfig(member))
	w.G.Expect(err).NotTo(HaveOccurred())
	for _, user := range config.AuthInfos {
		user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token
	}
	kubeconfig := filepath.Join(dir, "pod.kubeconfig")
	w.G.Expect(clientcmd.WriteToFile(*config, kubeconfig)).To(Succeed())
	w.G.Expect(args[0]).To(Equal("run"))
	p := w.RunAgent(filepath.Join(dir, log), append(args[1:], "--kubeconfig", kubeconfig)...)
	w.T.Cleanup(func() {
		p.Kill()
		if w.T.Failed() {
			if raw, err := os.ReadFile(filepath.Join(dir, log)); err == nil {
				w.T.Log(string(raw))
			}
		}
	})
	return p
}
