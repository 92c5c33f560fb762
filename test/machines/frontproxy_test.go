package machines

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
)

// frontProxy is the file name of the front-proxy authority.
const frontProxy = "front-proxy-ca"

// theFrontProxyAuthorityIsExchanged follows manifests/install/rotation.md, with its commands, while no hub runs, and
// starts both hubs. The new authority is created on the second machine.
func (w *world) theFrontProxyAuthorityIsExchanged() {
	t, g, ctx := w.t, NewWithT(w.t), w.t.Context()
	made, key := frontProxyCommands(w)
	pki := filepath.Join(w.dataDir(second), "pki")
	before, old := w.lasting(), w.file(second, frontProxy+".crt")
	for _, command := range made {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		cmd.Dir = pki
		out, err := cmd.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s: %s", command, out)
	}
	info, err := os.Stat(filepath.Join(pki, frontProxy+".key"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	w.refused("its front-proxy authority is another")

	w.etcd.remove(ctx, g, key)
	w.startSecond()
	w.eventually(func(g Gomega) {
		g.Expect(w.second.Ended()).To(BeFalse(), "it is not refused any more")
		_, err := w.works(ctx, second)
		g.Expect(err).NotTo(HaveOccurred())
	})
	file := filepath.Join(t.TempDir(), "authority")
	g.Expect(w.hub(second, "ca", "export", file)).To(MatchRegexp(`front-proxy authority .*, until ` + time.Now().AddDate(0, 0, 3650).Format("2006")))
	w.hub(fleet.HubName, "ca", "import", "--replace", file)
	w.restarts()

	// Requests for members are forwarded with a certificate of the new authority, by both APIs.
	g.Expect(w.file(second, frontProxy+".crt")).NotTo(Equal(old))
	g.Expect(w.file(fleet.HubName, frontProxy+".crt")).To(Equal(w.file(second, frontProxy+".crt")))
	for _, name := range []string{fleet.HubName, second} {
		config, err := w.Config(name)
		g.Expect(err).NotTo(HaveOccurred())
		clientset, err := kubernetes.NewForConfig(config)
		g.Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		w.eventually(func(g Gomega) { isAnswered(ctx, g, clientset) })
		t.Logf("the member is reached through %s %.1f s later", name, time.Since(began).Seconds())
	}
	hub, err := w.Client(second)
	g.Expect(err).NotTo(HaveOccurred())
	told := &corev1.ConfigMap{}
	g.Expect(hub.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}, told)).To(Succeed())
	g.Expect(told.Data["requestheader-client-ca-file"]).To(ContainSubstring(strings.TrimSpace(w.file(second, frontProxy+".crt"))), "APIs of others are told")
	g.Expect(w.lasting()).To(Equal(before), "what agents trust is as it was")
}

// frontProxyCommands returns the commands of the page that create the authority, and the etcd key that is deleted.
func frontProxyCommands(w *world) (made [][]string, key string) {
	w.t.Helper()
	g := NewWithT(w.t)
	root, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(root, "manifests", "install", "rotation.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, match := range regexp.MustCompile(`(?m)^sudo -u fairlead (openssl .+)$`).FindAllStringSubmatch(string(page), -1) {
		made = append(made, strings.Fields(match[1]))
	}
	g.Expect(made).NotTo(BeEmpty())
	match := regexp.MustCompile(`(?m)^etcdctl del (\S+)$`).FindStringSubmatch(string(page))
	g.Expect(match).NotTo(BeNil())
	return made, match[1]
}

// lasting returns the credentials by which agents and hubs know each other, of both machines.
func (w *world) lasting() (out []string) {
	w.t.Helper()
	for _, hub := range []string{fleet.HubName, second} {
		for _, name := range []string{"ca.crt", "ca.key", "sa.key"} {
			out = append(out, w.file(hub, name))
		}
	}
	return out
}

// file returns a certificate or key of a hub.
func (w *world) file(hub, name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dataDir(hub), "pki", name))
	NewWithT(w.t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}
