package network

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/cluster"
)

const (
	waitTimeout = 3 * time.Minute
	poll        = 500 * time.Millisecond

	hub        = "hub"
	kubeconfig = "/var/lib/fairlead/admin.kubeconfig"
)

func members() []string { return []string{"edge-1", "edge-2", "edge-3"} }

func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// kubectl runs kubectl of an image inside its container, because nothing outside can reach the API.
func (s *site) kubectl(t *testing.T, g Gomega, where string, in []byte, args ...string) string {
	t.Helper()
	return dockerWith(t.Context(), t, g, in, append([]string{
		"exec", "--interactive", s.name(where), "/controlplane", "kubectl", "--kubeconfig", kubeconfig,
	}, args...)...)
}

// startHub starts a hub on its own network, and returns when it can create tokens.
func (s *site) startHub(t *testing.T) {
	t.Helper()
	s.network(t, hub)
	s.start(t, hub, "--network", s.name(hub), "--network-alias", "hub", "fairlead/hub:"+s.version, "serve", "--advertise-host", "hub", "--tls-san", s.name(hub),
		"--metrics-bind-address", "0", "--cluster-monitor-grace-period", "20s")
}

// startMember starts a member with its agent and its relay. The agent joins by token, as an operator would do it.
func (s *site) startMember(t *testing.T, member, relay string) {
	t.Helper()
	g := NewWithT(t)
	s.network(t, member)
	docker(t.Context(), t, g, "volume", "create", "--label", s.label(), s.name(member))
	s.start(t, member, "--network", s.name(member), "--network-alias", "member", "--volume", s.name(member)+":/var/lib/fairlead",
		"--entrypoint", "/controlplane", "fairlead/hub:"+s.version,
		"--profile", "cluster", "--data-dir", "/var/lib/fairlead", "--bind-address", "0.0.0.0", "--secure-port", "6443",
		"--advertise-host", "member", "--nodes", "2", "--unsafe-no-fsync")
	s.start(t, "relay-"+member, "--network", s.name(member), "--network-alias", "hub", relay, ":6443", s.name(hub)+":6443")
	docker(t.Context(), t, g, "network", "connect", s.name(hub), s.name("relay-"+member))

	eventually(t, func(g Gomega) {
		g.Expect(s.kubectl(t, g, member, nil, "get", "--raw", "/readyz")).To(Equal("ok"))
	})
	var join []string
	eventually(t, func(g Gomega) {
		out := docker(t.Context(), t, g, "exec", s.name(hub), "/hub", "token", "create", "--cluster", member)
		_, command, found := strings.Cut(out, "agent join ")
		g.Expect(found).To(BeTrue(), out)
		command, _, _ = strings.Cut(command, "\n")
		join = strings.Fields(command)
	})
	g.Expect(join[0]).To(Equal("hub:6443"))
	s.start(t, "agent-"+member, append([]string{
		"--network", s.name(member), "--volume", s.name(member) + ":/member:ro",
		"fairlead/agent:" + s.version, "run", "--kubeconfig", "/member/admin.kubeconfig",
	}, join...)...)
}

func TestMembersThatNobodyCanDial(t *testing.T) {
	s := newSite(t)
	g := NewWithT(t)
	relay := s.relayImage(t)
	s.startHub(t)
	for _, member := range members() {
		s.startMember(t, member, relay)
	}
	eventually(t, func(g Gomega) {
		ready := s.kubectl(t, g, hub, nil, "get", "clusters", "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}`)
		g.Expect(strings.Fields(ready)).To(And(HaveLen(len(members())), HaveEach("True")))
	})

	t.Run("only the hub's port can be reached, and nothing gets in", func(t *testing.T) {
		g := NewWithT(t)
		hubAddress := s.address(t, hub, hub)
		g.Expect(s.reaches(t, relay, hub, hubAddress+":8443")).To(BeTrue(), "the dashboard is served, so that what follows means something")
		for i, member := range members() {
			address := s.address(t, member, member)
			g.Expect(s.reaches(t, relay, member, address+":6443")).To(BeTrue(), "%s serves its API on its own network", member)
			g.Expect(s.reaches(t, relay, member, "hub:6443")).To(BeTrue(), "the way out of %s", member)
			g.Expect(s.reaches(t, relay, member, "hub:8443")).To(BeFalse(), "another port of the hub, from %s", member)
			g.Expect(s.reaches(t, relay, member, hubAddress+":6443")).To(BeFalse(), "the hub past the relay, from %s", member)
			g.Expect(s.reaches(t, relay, hub, address+":6443")).To(BeFalse(), "into %s, from the hub", member)
			other := members()[(i+1)%len(members())]
			g.Expect(s.reaches(t, relay, other, address+":6443")).To(BeFalse(), "into %s, from %s", member, other)
		}
	})

	t.Run("the examples run", func(t *testing.T) {
		g := NewWithT(t)
		s.kubectl(t, g, hub, examples(t), "apply", "-f", "-")
		eventually(t, func(g Gomega) {
			g.Expect(s.kubectl(t, g, hub, nil, "get", "deployment", "nginx", "-o", "jsonpath={.status.readyReplicas}")).To(Equal("3"))
			g.Expect(s.kubectl(t, g, hub, nil, "get", "deployment", "web", "-n", "shop", "-o", "jsonpath={.status.readyReplicas}")).To(Equal("6"))
			applied := strings.Fields(s.kubectl(t, g, hub, nil, "get", "resourcebindings", "-n", "shop", "-o",
				`jsonpath={.items[*].status.conditions[?(@.type=="FullyApplied")].status}`))
			g.Expect(applied).To(HaveLen(16))
			g.Expect(applied).To(HaveEach("True"))
		})
		pods := func(member string) int {
			return len(strings.Fields(s.kubectl(t, g, member, nil, "get", "pods", "-l", "app=nginx", "--field-selector", "status.phase=Running", "-o", "name")))
		}
		g.Expect([]int{pods("edge-1"), pods("edge-2"), pods("edge-3")}).To(Equal([]int{1, 2, 0}))
	})

	t.Run("a member that is cut off catches up", func(t *testing.T) {
		g := NewWithT(t)
		const cut = "edge-1"
		ready := func(g Gomega) string {
			return s.kubectl(t, g, hub, nil, "get", "cluster", cut, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status}`)
		}
		image := func(g Gomega, member string) string {
			return s.kubectl(t, g, member, nil, "get", "deployment", "nginx", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
		}
		before := image(g, cut)
		docker(t.Context(), t, g, "network", "disconnect", s.name(hub), s.name("relay-"+cut))
		eventually(t, func(g Gomega) { g.Expect(ready(g)).To(Equal("Unknown")) })
		s.kubectl(t, g, hub, nil, "set", "image", "deployment/nginx", "*=nginx:changed")
		eventually(t, func(g Gomega) { g.Expect(image(g, "edge-2")).To(HaveSuffix("nginx:changed"), "the others are served") })
		g.Expect(image(g, cut)).To(Equal(before))
		docker(t.Context(), t, g, "network", "connect", s.name(hub), s.name("relay-"+cut))
		eventually(t, func(g Gomega) {
			g.Expect(ready(g)).To(Equal("True"))
			g.Expect(image(g, cut)).To(HaveSuffix("nginx:changed"))
		})
	})
	g.Expect(docker(t.Context(), t, g, "ps", "--quiet", "--filter", "label="+s.label(), "--filter", "status=exited")).To(BeEmpty(), "nothing has stopped by itself")
}

// examples returns all manifests of the examples as one stream.
func examples(t *testing.T) []byte {
	t.Helper()
	g := NewWithT(t)
	root, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	files, err := filepath.Glob(filepath.Join(root, "manifests", "examples", "*", "*.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(files).NotTo(BeEmpty())
	var all strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		fmt.Fprintf(&all, "%s\n---\n", data)
	}
	return []byte(all.String())
}
