package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"fairlead.dev/test/cluster"
)

// dialTimeout is how long a connection may take that is neither accepted nor refused.
const dialTimeout = 30 * time.Second

// refused stands for an address without a reachable server.
const refused = "refused"

// TestPort443LeadsToTheHub takes the rule of proxy.md on a machine with a packet filter, which also forwards for others: it has what comes to
// port 443 of the machine reach the hub, from where nothing else may go out, and leaves the rest as it was.
func TestPort443LeadsToTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ip, nft := cluster.Tool(t, "ip", "/usr/sbin/ip"), cluster.Tool(t, "nft", "/usr/sbin/nft")
	hub, agent, elsewhere := newMachine(t), newMachine(t), newMachine(t)
	for _, m := range []*machine{hub, agent, elsewhere} {
		m.run("", ip, "link", "set", "dev", "lo", "up")
		// A link whose own address is still looked for among its neighbours (RFC 4862) asks for none of them, so what came within a second or
		// two of its beginning, longer on a busy machine, had no route.
		m.set("ipv6/conf/default/accept_dad", "0")
	}
	for to, link := range map[*machine]string{agent: "1", elsewhere: "2"} {
		hub.run("", ip, "link", "add", "down"+link, "type", "veth", "peer", "name", "out", "netns", to.namespace)
		for at, addresses := range map[*machine][]string{hub: {"down" + link, ".1", "::1"}, to: {"out", ".2", "::2"}} {
			at.run("", ip, "address", "add", "10.0."+link+addresses[1]+"/24", "dev", addresses[0])
			at.run("", ip, "address", "add", "2001:db8:0:"+link+addresses[2]+"/64", "dev", addresses[0], "nodad")
			at.run("", ip, "link", "set", "dev", addresses[0], "up")
		}
		to.run("", ip, "route", "add", "default", "via", "10.0."+link+".1")
		to.run("", ip, "-6", "route", "add", "default", "via", "2001:db8:0:"+link+"::1")
	}
	for _, setting := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		hub.set(setting, "1")
	}
	hub.serves(":6443", "hub")
	hub.serves(":8443", "dashboard")
	elsewhere.serves(":443", "elsewhere")
	// As a machine has one that lets only the hub be reached: it sees packets as the rule has made them.
	hub.run(`table inet filter {
		chain input {
			type filter hook input priority filter; policy drop;
			ct state established,related accept
			icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept
			tcp dport { 6443, 8443 } accept
			tcp dport 443 reject with tcp reset
		}
	}`, nft, "-f", "-")

	for _, hubs := range []string{"10.0.1.1", "2001:db8:0:1::1"} {
		g.Expect(agent.reaches(hubs, "443")).To(Equal(refused), "without the rule")
	}
	hub.run(portRule(t), nft, "-f", "-")
	reached := func(port string) []string {
		return []string{agent.reaches("10.0.1.1", port), agent.reaches("2001:db8:0:1::1", port)}
	}
	g.Expect(reached("443")).To(HaveEach("hub"))
	g.Expect(reached("6443")).To(HaveEach("hub"), "agents that joined by that port keep it")
	g.Expect(reached("8443")).To(HaveEach("dashboard"))
	for _, address := range []string{"10.0.2.2", "2001:db8:0:2::2"} {
		g.Expect(agent.reaches(address, "443")).To(Equal("elsewhere"), "what is forwarded goes where it went")
	}

	agent.run(`table inet filter {
		chain output {
			type filter hook output priority filter; policy accept;
			oifname out tcp dport != 443 reject with tcp reset
		}
	}`, nft, "-f", "-")
	g.Expect(reached("443")).To(HaveEach("hub"))
	g.Expect(reached("6443")).To(HaveEach(refused))
}

// portRule is the rule of the page.
func portRule(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	root, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	page, err := os.ReadFile(filepath.Join(root, "manifests", "install", "proxy.md"))
	g.Expect(err).NotTo(HaveOccurred())
	_, rest, found := strings.Cut(string(page), "<<'END' | nft -f -\n")
	g.Expect(found).To(BeTrue())
	rule, _, found := strings.Cut(rest, "\nEND\n")
	g.Expect(found).To(BeTrue())
	return rule
}

// machine is a network namespace, which is removed at the end of the test.
type machine struct {
	t *testing.T
	// namespace is its path for other processes.
	namespace string
	jobs      chan func()
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	m := &machine{t: t, jobs: make(chan func())}
	made := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and the thread ends with this goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		m.namespace = fmt.Sprintf("/proc/%d/task/%d/ns/net", os.Getpid(), unix.Gettid())
		made <- err
		for job := range m.jobs {
			job()
		}
	}()
	t.Cleanup(func() { close(m.jobs) })
	if err := <-made; err != nil {
		t.Skipf("SKIPPED: this user may not make network namespaces (%v), which this test needs", err)
	}
	return m
}

// in runs a function in the network namespace.
func (m *machine) in(job func() error) error {
	done := make(chan error, 1)
	m.jobs <- func() { done <- job() }
	return <-done
}

// do runs a function there that must succeed.
func (m *machine) do(job func() error) {
	m.t.Helper()
	NewWithT(m.t).Expect(m.in(job)).To(Succeed())
}

// set sets a sysctl of the network namespace.
func (m *machine) set(setting, value string) {
	m.t.Helper()
	m.do(func() error { return os.WriteFile(filepath.Join("/proc/sys/net", setting), []byte(value), 0o600) })
}

// run runs a program there.
func (m *machine) run(input, program string, args ...string) {
	m.t.Helper()
	m.do(func() error {
		cmd := exec.CommandContext(m.t.Context(), program, args...)
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s %v: %w: %s", program, args, err, out)
		}
		return nil
	})
}

// serves starts a server there that sends its name on each connection.
func (m *machine) serves(address, name string) {
	m.t.Helper()
	var l net.Listener
	m.do(func() (err error) {
		l, err = (&net.ListenConfig{}).Listen(m.t.Context(), "tcp", address)
		return err
	})
	m.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, name)
			_ = conn.Close()
		}
	}()
}

// reaches returns the name of the server that answers from there.
func (m *machine) reaches(host, port string) string {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), dialTimeout)
	defer cancel()
	var conn net.Conn
	err := m.in(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
		return err
	})
	if errors.Is(err, unix.ECONNREFUSED) {
		return refused
	}
	g := NewWithT(m.t)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	said, err := io.ReadAll(conn)
	g.Expect(err).NotTo(HaveOccurred())
	return string(said)
}
