package joining

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
)

// ofShop is a pod in the namespace to which the owner admits operators, and one in another.
const ofShop = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: web, image: web}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: operators, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "fairlead:ops"}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: "fairlead:bob"}]
`

// reach lets the group ops and bob send requests to a cluster, according to the hub's RBAC.
const reach = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reach}
rules: [{apiGroups: [connect.fairlead.dev], resources: [clusters/proxy], resourceNames: [watched], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reach}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reach}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: ops}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`

// through runs kubectl as a user of the hub through the line of a cluster.
func (w *world) through(cluster, user, group string, args ...string) (string, error) {
	w.T.Helper()
	config, err := clientcmd.LoadFromFile(w.Kubeconfig(fleet.HubName))
	w.G.Expect(err).NotTo(HaveOccurred())
	for _, c := range config.Clusters {
		c.Server += contract.ClusterProxyPath(cluster)
	}
	file := filepath.Join(w.T.TempDir(), "looking.kubeconfig")
	w.G.Expect(clientcmd.WriteToFile(*config, file)).To(Succeed())
	as := []string{"--kubeconfig", file, "--as", user}
	if group != "" {
		as = append(as, "--as-group", group)
	}
	ctx, cancel := context.WithTimeout(w.T.Context(), fleettest.WaitTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, w.Program("kubectl"), append(as, args...)...).CombinedOutput()
	return string(out), err
}

// TestOperatorsAreLetInByTheJoinAndOutByLeaving admits operators to a member as a new user would, changes that, and
// leaves.
func TestOperatorsAreLetInByTheJoinAndOutByLeaving(t *testing.T) {
	w := up(t)
	const name = "watched"
	file := w.Apply(reach)
	inMember := filepath.Join(t.TempDir(), "shop.yaml")
	w.G.Expect(os.WriteFile(inMember, []byte(ofShop), 0o600)).To(Succeed())
	w.MustKubectl(member, "apply", "-f", inMember)
	t.Cleanup(func() {
		w.MustKubectl(fleet.HubName, "delete", "--ignore-not-found", "-f", file)
		w.MustKubectl(member, "delete", "--ignore-not-found", "--wait=false", "-f", inMember)
	})
	w.MustKubectl(member, "wait", "-n", "shop", "--for=condition=Ready", "pod/web", "--timeout=120s")

	state := filepath.Join(t.TempDir(), "state")
	where := []string{"--kubeconfig", w.Kubeconfig(member), "--state-dir", state}
	out, err := w.agent(nil, append(append([]string{"join", "--operators", "group:ops", "--operators-may", "exec", "--operators-in", "shop"}, w.joinArguments(name)...), where...)...)
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Expect(out).To(And(ContainSubstring("Operators of the hub: read, exec in shop for group:ops"),
		ContainSubstring(`kubectl create rolebinding fairlead-operators -n shop --clusterrole=view --group='fairlead:ops'`)))
	agent := w.RunAgent(filepath.Join(t.TempDir(), "log"), where...)
	w.AwaitReady(name)

	// New RBAC rules take a moment to be effective.
	answers := func(user, group, want string, args ...string) {
		t.Helper()
		w.Eventually(func(g Gomega) {
			out, err := w.through(name, user, group, args...)
			g.Expect(err).NotTo(HaveOccurred(), out)
			g.Expect(out).To(ContainSubstring(want), strings.Join(args, " "))
		})
	}
	refuses := func(user, group, want string, args ...string) {
		t.Helper()
		w.Eventually(func(g Gomega) {
			out, err := w.through(name, user, group, args...)
			g.Expect(err).To(HaveOccurred(), out)
			g.Expect(out).To(ContainSubstring(want), strings.Join(args, " "))
		})
	}
	answers("alice", "ops", "pod/web", "get", "pods", "-n", "shop", "-o", "name")
	answers("alice", "ops", "typed", "exec", "-n", "shop", "web", "--", "echo", "typed")
	const allowed = "its owner lets operators get, list, watch, log, exec in shop; not "
	refuses("alice", "ops", allowed+"what is in default", "get", "pods", "-n", "default")
	refuses("alice", "ops", allowed+"what is in all namespaces or in none", "get", "nodes")
	refuses("alice", "ops", allowed+"secrets", "get", "secrets", "-n", "shop")
	refuses("alice", "ops", allowed+"write", "delete", "pod", "-n", "shop", "web")
	refuses("alice", "ops", allowed+"port-forward", "port-forward", "-n", "shop", "web", ":80")
	refuses("bob", "", "bob is not among them", "get", "--raw", "/api/v1/namespaces/shop/pods")
	w.Eventually(func(g Gomega) {
		g.Expect(w.Operate("clusters")).To(MatchRegexp(name + ` +Ready .* up \S+ .*read, exec in shop for group:ops`))
	})

	// The command replaces the whole configuration.
	out, err = w.agent(nil, "operators", "user:bob", "--in", "shop", "--kubeconfig", w.Kubeconfig(member))
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Expect(out).To(ContainSubstring("Operators of the hub: read in shop for user:bob"))
	answers("bob", "", "pod/web", "get", "pods", "-n", "shop", "-o", "name")
	refuses("bob", "", "not exec", "exec", "-n", "shop", "web", "--", "echo", "typed")
	refuses("alice", "ops", "alice is not among them", "get", "--raw", "/api/v1/namespaces/shop/pods")
	w.Eventually(func(g Gomega) { g.Expect(w.Operate("clusters")).To(ContainSubstring("read in shop for user:bob")) })

	agent.Kill()
	const kinds = "serviceaccounts,configmaps,roles,rolebindings,clusterroles,clusterrolebindings"
	w.G.Expect(w.MustKubectl(member, "get", kinds, "-A", "-o", "name")).To(ContainSubstring("serviceaccount/" + contract.ConnectName))
	out, err = w.agent(nil, append([]string{"leave", "--objects", "remove"}, where...)...)
	w.G.Expect(err).NotTo(HaveOccurred())
	w.G.Expect(out).To(ContainSubstring("The settings that let operators of the hub in are removed"))
	w.G.Expect(w.MustKubectl(member, "get", kinds, "-A", "-o", "name")).NotTo(ContainSubstring(contract.ConnectName), "nothing of it is left")
	w.Eventually(func(g Gomega) {
		out, err := w.through(name, "bob", "", "get", "--raw", "/api/v1/namespaces/shop/pods")
		g.Expect(err).To(HaveOccurred())
		g.Expect(out).To(ContainSubstring("there is no cluster " + name))
		g.Expect(w.MustKubectl(fleet.HubName, "get", "lines", "-o", "name")).NotTo(ContainSubstring(name))
	})
	w.Operate("forget", name, "--release")
}
