package book

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/issuer"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard()) // the programs write their own logs
	cluster.Main(m)
}

// pages returns the pages with commands, in the order in which an operator may run them.
func pages() []string {
	return []string{"machine.md", "looking.md", "profiling.md", "backup.md", "login.md", "audit.md", "encryption.md", "rotation.md", "disaster.md", "upgrade.md", "leaving.md"}
}

// exceptions returns the pages with blocks that are not run, the number of these blocks, and the reason.
func exceptions() map[string]exception {
	return map[string]exception{
		"README.md":     {2, "Helm and a Kubernetes cluster: test/install holds the charts against an API"},
		"backup.md":     {1, "containers: test/network has them where there is a Docker engine"},
		"disaster.md":   {3, "containers: test/network restores a hub in one where there is a Docker engine, and test/install holds restore.yaml against an API; and a hub that lost a part, which lost_test.go of the embedded API has"},
		"encryption.md": {1, "containers"},
		"looking.md":    {1, "an application with pods: test/connect has kubectl in one, and the tests of hub/people/pods the others"},
		"machines.md":   {3, "an etcd of three members: test/machines has one, and kills hubs and members"},
		"profiling.md":  {2, "containers and a Kubernetes cluster: the tests of hub/cli hold where a hub tells its profiles"},
		"proxy.md":      {2, "a packet filter, whose rule test/install tries, and a proxy: test/e2e/joining joins through one that lets only port 443 out, test/connect has a line through one, and test/machines has an agent go from one hub to the other"},
		"rotation.md":   {3, "containers; several machines, on which test/machines takes these steps; and agents take an hour to renew their certificates: test/e2e/upkeep takes these steps with one that does not wait"},
		"sizing.md":     {2, "a measurement takes its time, and a database that is full a hub of its own"},
		"upgrade.md":    {2, "what an upgrade to this version asks of operators who stored certain things before"},
		"tenants.md":    {1, "people and what they may: the tests of hub/cli look as a tenant, and those of hub/adjust/quotas and hub/flow/scheduler hold what a quota does"},
	}
}

// needs returns programs that pages use and that may not be installed.
func needs() map[string][]string { return map[string][]string{"audit.md": {"jq"}} }

type exception struct {
	blocks int
	why    string
}

func TestEveryBlockOfTheBookIsRunOrAnException(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all, err := filepath.Glob(filepath.Join(book(t), "*.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(all).NotTo(BeEmpty())
	index, err := os.ReadFile(filepath.Join(book(t), "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, path := range all {
		page := filepath.Base(path)
		blocks, err := read(path)
		g.Expect(err).NotTo(HaveOccurred())
		number := map[string]int{}
		for _, b := range blocks {
			number[b.language]++
			g.Expect(b.language).To(BeElementOf(shell, console), "%s:%d: a block is of the language sh, which is run, or console, which is not", page, b.line)
		}
		g.Expect(number[console]).To(Equal(exceptions()[page].blocks), "%s: each block that is not run is an exception with its reason", page)
		if number[shell] > 0 {
			g.Expect(pages()).To(ContainElement(page), "%s has blocks of shell, which are run", page)
		}
		if page != "README.md" {
			g.Expect(string(index)).To(ContainSubstring("]("+page+")"), "the index leads to each page")
		}
	}
}

// book returns the directory of the pages.
func book(t *testing.T) string {
	t.Helper()
	root, err := cluster.Root()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return filepath.Join(root, "manifests", "install")
}

// Timeouts allow for a machine that does other work too.
const (
	waitTimeout = 2 * time.Minute
	poll        = 200 * time.Millisecond
)

func TestTheBookWorksAsItIsWritten(t *testing.T) {
	t.Parallel()
	login := issuer.Start(t)
	// It runs no pods, so an API is enough.
	member := cluster.Start(t, cluster.Options{Name: "edge-1"})
	m := newMachine(t, "hub.example.com", "127.0.0.1", "https://login.example.com/realms/ops", login.URL)
	g := NewWithT(t)
	g.Expect(os.Symlink(member.Kubeconfig, filepath.Join(m.home(), "edge-1.kubeconfig"))).To(Succeed())
	g.Expect(os.MkdirAll(m.path("/etc/fairlead"), 0o700)).To(Succeed())
	g.Expect(os.Symlink(login.CAFile, m.path("/etc/fairlead/login-ca.crt"))).To(Succeed())
	var sent types.UID
	works := func(t *testing.T) {
		t.Helper()
		m.change(t, member, sent)
	}
	// after has checks for after a page, in addition to its own commands.
	after := map[string]func(t *testing.T){
		"machine.md":  func(t *testing.T) { t.Helper(); sent = m.send(t, member) },
		"login.md":    func(t *testing.T) { t.Helper(); m.signIn(t, login) },
		"disaster.md": works, "upgrade.md": works,
		"leaving.md": func(t *testing.T) {
			t.Helper()
			g := NewWithT(t)
			g.Expect(uid(t, g, member)).To(Equal(sent), "it was never deleted")
		},
	}
	for _, page := range pages() {
		blocks, err := read(filepath.Join(book(t), page))
		g.Expect(err).NotTo(HaveOccurred())
		ran := t.Run(page, func(t *testing.T) {
			for _, program := range needs()[page] {
				cluster.Tool(t, program)
			}
			m.run(t, page, blocks)
			if look := after[page]; look != nil {
				look(t)
			}
		})
		if !ran {
			return // later pages build on it
		}
	}
}
