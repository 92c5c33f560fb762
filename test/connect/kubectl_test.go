package connect

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// transports are kubectl's protocols, by the environment that selects them.
func transports() map[string][]string {
	return map[string][]string{
		"WebSocket": {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true", "KUBECTL_PORT_FORWARD_WEBSOCKETS=true"},
		"SPDY":      {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS=false", "KUBECTL_PORT_FORWARD_WEBSOCKETS=false"},
	}
}

func TestKubectlWorksInAMemberThatNobodyCanDial(t *testing.T) {
	w := up(t)

	out, err := w.does(open, "alice", "get", "pods", "web", "-o", "name")
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.G.Expect(out).To(Equal("pod/web\n"))

	out, err = w.does(open, "alice", "logs", "web")
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.G.Expect(out).To(HavePrefix("default/web: container web started\n"))

	out, err = w.does(open, "alice", "top", "pods")
	w.G.Expect(err).To(HaveOccurred(), "the member has no metrics, and nobody makes any up")
	w.G.Expect(out).To(ContainSubstring("Metrics API not available"))

	for name, environment := range transports() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for what, holds := range map[string]func(*world, string, func(...string) *exec.Cmd){
				"exec": (*world).execs, "logs and attach": (*world).follows, "cp": (*world).copies, "port-forward": (*world).forwards,
			} {
				t.Run(what, func(t *testing.T) {
					w := &world{shared.World(t)}
					holds(w, name, func(args ...string) *exec.Cmd {
						cmd := w.kubectl(open, "alice", args...)
						cmd.Env = append(os.Environ(), environment...)
						return cmd
					})
				})
			}
		})
	}
}

// execs checks that input, both outputs and the exit status are transferred.
func (w *world) execs(_ string, run func(...string) *exec.Cmd) {
	w.T.Helper()
	g := w.G
	cmd := run("exec", "-i", "web", "--", "sh", "-c", "cat; echo no >&2; exit 7")
	var out, diagnosis bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("some input\n"), &out, &diagnosis
	err := cmd.Run()
	var exited *exec.ExitError
	g.Expect(errors.As(err, &exited)).To(BeTrue(), "%v: %s", err, diagnosis.String())
	g.Expect(exited.ExitCode()).To(Equal(7), diagnosis.String())
	g.Expect(out.String()).To(Equal("some input\n"))
	g.Expect(diagnosis.String()).To(HavePrefix("no\n"))
}

// follows checks that log lines and typed input arrive immediately.
func (w *world) follows(name string, run func(...string) *exec.Cmd) {
	w.T.Helper()
	g := w.G
	followed := w.start(run("logs", "-f", "web"))
	w.awaitOutput(followed, "started")
	attached := w.start(run("attach", "-i", "web"))
	_, err := io.WriteString(attached.in, "typed by "+name+"\n")
	g.Expect(err).NotTo(HaveOccurred())
	w.awaitOutput(attached, "typed by "+name)
	w.awaitOutput(followed, "typed by "+name)
	g.Expect(attached.in.Close()).To(Succeed())
	g.Expect(w.awaitEnd(attached)).To(Succeed(), attached.out.String())
	g.Expect(followed.ended).NotTo(Receive(), "it goes on")
}

// copies checks that files are identical after a round trip.
func (w *world) copies(name string, run func(...string) *exec.Cmd) {
	w.T.Helper()
	g := w.G
	const size = 8 << 20
	data := make([]byte, size)
	_, err := rand.Read(data)
	g.Expect(err).NotTo(HaveOccurred())
	dir := w.T.TempDir()
	there, back := filepath.Join(dir, "there"), filepath.Join(dir, "back")
	g.Expect(os.WriteFile(there, data, 0o600)).To(Succeed())
	out, err := run("cp", there, "web:"+name).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	out, err = run("cp", "web:"+name, back).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(out))
	copied, err := os.ReadFile(back)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sha256.Sum256(copied)).To(Equal(sha256.Sum256(data)))
}

// forwarding matches what kubectl prints for each port.
var forwarding = regexp.MustCompile(`Forwarding from (127\.0\.0\.1:\d+) -> (\d+)`)

// forwards checks that ports of a pod answer locally, with several connections at a time.
func (w *world) forwards(_ string, run func(...string) *exec.Cmd) {
	w.T.Helper()
	g := w.G
	forward := w.start(run("port-forward", "web", ":80", ":7"))
	ports := map[string]string{}
	g.Eventually(func(g Gomega) {
		for _, match := range forwarding.FindAllStringSubmatch(forward.out.String(), -1) {
			ports[match[2]] = match[1]
		}
		g.Expect(ports).To(HaveLen(2), forward.out.String())
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())

	echo := make([]net.Conn, 3)
	for i := range echo {
		conn, err := net.Dial("tcp", ports["7"])
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = conn.Close() }()
		echo[i] = conn
	}
	for _, conn := range echo {
		_, err := conn.Write([]byte("hello"))
		g.Expect(err).NotTo(HaveOccurred())
	}
	for _, conn := range echo {
		got := make([]byte, len("hello"))
		_, err := io.ReadFull(conn, got)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(got)).To(Equal("hello"))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + ports["80"])
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(body)).To(Equal("default/web\n"))
}
