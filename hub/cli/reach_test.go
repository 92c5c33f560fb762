package cli

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/reachable"
)

// reach runs the commands that reach into members; edge-1 is connected. Requests go through the stand-in for the
// members, which serves without TLS.
func (l *lookout) reach(g *WithT) {
	hub := reachable.New(l.t, "edge-1", "default", "web", reachable.InFrontOf(l.t, l.hub.Config))
	own, err := clientcmd.LoadFromFile(l.hub.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	for _, c := range own.Clusters {
		c.Server, c.CertificateAuthority, c.CertificateAuthorityData = hub.URL, "", nil
	}
	path := filepath.Join(l.t.TempDir(), "hub.kubeconfig")
	g.Expect(clientcmd.WriteToFile(*own, path)).To(Succeed())
	before := l.env
	l.env = map[string]string{"KUBECONFIG": path}
	defer func() { l.env = before }()
	hub.Run("web-1", "rs-web")
	hub.Run("stranger", "rs-other")
	hub.Write("web-1", "hello\x1b[2J")

	out, said := l.run(ExitDone, "kubeconfig", "edge-1", "edge-2")
	g.Expect(said).To(Equal("Warning: edge-2 is not connected now: its line is down since 2026-11-23T08:00:00Z: it was lost, and the agent has not come back; check whether the agent runs and reaches the hub\n"))
	written, err := clientcmd.Load([]byte(out))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(written.CurrentContext).To(Equal("edge-1"))
	g.Expect(written.Clusters["edge-2"].Server).To(Equal(hub.URL + contract.ClusterProxyPath("edge-2")))
	user := written.AuthInfos[written.Contexts["edge-2"].AuthInfo]
	g.Expect(user.ClientKeyData).To(Equal(own.AuthInfos[own.Contexts[own.CurrentContext].AuthInfo].ClientKeyData))
	file := filepath.Join(l.t.TempDir(), "edge-1.kubeconfig")
	l.run(ExitDone, "kubeconfig", "edge-1", "-o", file)
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	_, said = l.run(ExitFailed, "kubeconfig", "edge-1", "-o", file)
	g.Expect(said).To(ContainSubstring("replace it with --force"))
	_, said = l.run(ExitFailed, "kubeconfig", "edge-9")
	g.Expect(said).To(ContainSubstring("there is no cluster edge-9 on the hub"))

	out, _ = l.run(ExitDone, "clusters")
	g.Expect(out).To(MatchRegexp(`NAME +STATE +LAG +LINE +VERSION .* OPERATORS +REMARK`))
	g.Expect(out).To(MatchRegexp(`edge-1 +Ready +0s +up \S+ .* read +-\n`))
	g.Expect(out).To(MatchRegexp(`edge-2 +Silent +\S+ +down \S+ .* read +said so\n`))

	out, _ = l.run(ExitDone, "clusters", "describe", "edge-1")
	g.Expect(out).To(And(MatchRegexp(`Line: +up since 2026-11-23T08:00:00Z \(\S+\)\n`), MatchRegexp(`Operators: +read\n`)))
	out, _ = l.run(ExitDone, "clusters", "describe", "edge-2")
	g.Expect(out).To(MatchRegexp(`Line: +down since 2026-11-23T08:00:00Z \(\S+\); it was lost, and the agent has not come back; `))

	out, _ = l.run(ExitDone, "pods", "deployment/web")
	g.Expect(out).To(MatchRegexp(`edge-1 +web-1 +1/1 +Running +0 `))
	g.Expect(out).To(MatchRegexp(`edge-2 +- +- +Unreachable .* edge-2 is not connected: line lost 12s ago\n`))
	g.Expect(out).NotTo(ContainSubstring("stranger"))
	out, _ = l.run(ExitDone, "pods", "deployment/web", "--cluster", "edge-1", "-o", "name")
	g.Expect(out).To(Equal("edge-1/web-1\n"))
	out, _ = l.run(ExitDone, "pods", "deployment/web", "-o", "json")
	g.Expect(out).To(ContainSubstring(`"reason": "ServiceUnavailable"`))
	_, said = l.run(ExitFailed, "pods", "deployment/web", "--cluster", "edge-2")
	g.Expect(said).To(ContainSubstring("none of the 1 clusters of Deployment default/web could be asked"))
	_, said = l.run(ExitFailed, "pods", "deployment/web", "--cluster", "edge-9")
	g.Expect(said).To(ContainSubstring("Deployment default/web is not in cluster edge-9; it is in edge-1, edge-2, edge-3"))

	out, said = l.run(ExitDone, "logs", "deployment/web", "--cluster", "edge-1,edge-2", "--timestamps")
	g.Expect(out).To(Equal("[edge-1/web-1] 2026-11-23T08:00:00.000000001Z hello\x1b[2J\n"), "what goes into a file is as it was written")
	g.Expect(said).To(Equal("edge-2: edge-2 is not connected: line lost 12s ago\n"))

	out, said = l.run(7, "exec", "deployment/web", "--", "date")
	g.Expect(out).To(BeEmpty())
	g.Expect(strings.Split(said, "\n")).To(HaveExactElements("Running in edge-1/web-1, container app", "Error: the command ended with status 7", ""))
	_, said = l.run(ExitFailed, "exec", "deployment/web", "--cluster", "edge-2", "--", "date")
	g.Expect(said).To(ContainSubstring("Deployment default/web has no pod to run a command in; edge-2: edge-2 is not connected"))
	_, said = l.run(ExitFailed, "exec", "pod/x", "--", "date")
	g.Expect(said).To(ContainSubstring("name the cluster of the pod with --cluster"))
	_, said = l.run(ExitFailed, "exec", "deployment/web", "date")
	g.Expect(said).To(ContainSubstring("hub exec deployment/web -- date"))
}
