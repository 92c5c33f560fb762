package apiserver

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/filelock"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/issuer"
	"fairlead.dev/test/process"
)

// embedded returns an embedded API that listens on a free port. The path of its directory is short, because it contains
// unix sockets.
func embedded(t *testing.T) Embedded {
	t.Helper()
	g := NewWithT(t)
	binary, err := cluster.Executable("controlplane")
	g.Expect(err).NotTo(HaveOccurred())
	dir, err := os.MkdirTemp("/tmp", "fairlead-embedded-") //nolint:usetesting // see above
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(process.Remove(dir)).To(Succeed()) })
	return Embedded{
		Binary: binary, DataDir: dir, BindAddress: "127.0.0.1",
		Kubeconfig: filepath.Join(dir, "admin.kubeconfig"), Context: "hub", Clock: clock.RealClock{},
	}
}

// TestEmbeddedOverKillsAndRestarts takes one data directory through every way a hub can end: it is killed, stopped, and
// loses its API. Starts take seconds, so each one serves several of them.
func TestEmbeddedOverKillsAndRestarts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := embedded(t)
	var lines bytes.Buffer
	e.Progress = func(line string) { lines.WriteString(line + "\n") }
	keep := func(name string) {
		g.Expect(asAdministrator(t, e).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}})).To(Succeed())
	}
	isKept := func(name string) {
		g.Expect(asAdministrator(t, e).Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &corev1.ConfigMap{})).To(Succeed())
	}
	killedHub(t, e, func() { keep("before-the-kill") })

	// The next hub waits for the orphaned API to end and continues with its data. A full disk under the audit log stops
	// nothing.
	full := filepath.Join(t.TempDir(), "audit.log")
	g.Expect(os.Symlink("/dev/full", full)).To(Succeed())
	e.Flags = []string{"--audit-log-path=" + full}
	// From here on the hub gets access before everybody else.
	e.WaitForHub = true
	hubAlone := func(p *Process) {
		t.Helper()
		hubClient, err := client.New(p.Config(), client.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hubClient.Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})).To(Succeed())
		_, err = net.Dial("tcp", strings.TrimPrefix(p.ServerURL(t.Context()), "https://"))
		g.Expect(err).To(MatchError(syscall.ECONNREFUSED))
	}
	opened := func(p *Process) {
		t.Helper()
		g.Expect(p.Open(t.Context())).To(Succeed())
		g.Expect(asAdministrator(t, e).Get(t.Context(), client.ObjectKey{Name: "default"}, &corev1.Namespace{})).To(Succeed(), "as soon as it is said")
	}
	first, err := e.Start(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	hubAlone(first)
	opened(first)
	url := first.ServerURL(t.Context())
	isKept("before-the-kill")
	keep("before-the-stop")
	g.Eventually(func() string { return text(filepath.Join(e.DataDir, "logs", "kube-apiserver.log")) }).
		WithTimeout(time.Minute).Should(ContainSubstring("no space left on device"))
	_, err = e.Start(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("is in use by another hub")))

	first.Stop()
	g.Expect(first.Done()).To(BeClosed())
	// It may not have reported that it is ready: the test polled it itself, and stopped it at once.
	g.Expect(lines.String()).To(ContainSubstring("starting etcd and kube-apiserver"))
	free, err := filelock.Take(filepath.Join(e.DataDir, childLock))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(free.Close()).To(Succeed())
	g.Eventually(func() string { return text(first.log.Name()) }).WithTimeout(time.Minute).Should(ContainSubstring("stopped"))

	e.Flags = nil
	second, err := e.Start(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer second.Stop()
	g.Expect(second.ServerURL(t.Context())).To(Equal(url))
	hubAlone(second)
	opened(second)
	isKept("before-the-stop")
	g.Expect(second.cmd.Process.Signal(syscall.SIGKILL)).To(Succeed())
	g.Eventually(second.Done()).WithTimeout(time.Minute).Should(BeClosed())
	g.Expect(second.Err()).To(MatchError(ContainSubstring("the embedded API stopped by itself")))
}

// text returns the content of a file; empty if it does not exist yet.
func text(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}

// TestFlagsReachTheEmbeddedAPI starts one with flags that have nothing to do with one another.
func TestFlagsReachTheEmbeddedAPI(t *testing.T) {
	t.Parallel()
	i, s := issuer.Start(t), newSIEM(t)
	i.SetDown(true)
	e := embedded(t)
	e.Flags = append(knowing(i), "--audit-webhook-config-file="+s.kubeconfig)
	p, err := e.Start(t.Context())
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), "an issuer that is down keeps nobody else out")
	t.Cleanup(p.Stop)
	t.Run("who changed what is in the audit log", func(t *testing.T) {
		t.Parallel()
		isAudited(t, e, p)
	})
	t.Run("a server is told of what is audited", func(t *testing.T) {
		t.Parallel()
		s.isTold(t, e)
	})
	t.Run("people of an issuer are known", func(t *testing.T) {
		t.Parallel()
		knowsPeople(t, i, p)
	})
}

func TestEmbeddedSaysWhyItDoesNotStart(t *testing.T) {
	t.Parallel()

	t.Run("the port is taken", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = l.Close() }()
		_, port, err := net.SplitHostPort(l.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		e := embedded(t)
		e.SecurePort, err = strconv.Atoi(port)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = e.Start(t.Context())
		g.Expect(err).To(MatchError(And(ContainSubstring(port), ContainSubstring("address already in use"))))
		g.Expect(strings.Count(err.Error(), "\n")).To(BeZero())
	})
	t.Run("the data directory is a file", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		e := embedded(t)
		e.DataDir = filepath.Join(e.DataDir, "file")
		g.Expect(os.WriteFile(e.DataDir, nil, 0o600)).To(Succeed())
		_, err := e.Start(t.Context())
		g.Expect(err).To(MatchError(ContainSubstring("cannot be written")))
	})
	t.Run("the program ends at once and says nothing", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		e := embedded(t)
		var err error
		e.Binary, err = exec.LookPath("false")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = e.Start(t.Context())
		g.Expect(err).To(MatchError(ContainSubstring("exit status 1")))
	})
}

func TestFindBinary(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := FindBinary(filepath.Join(t.TempDir(), "absent"))
	g.Expect(err).To(MatchError(ContainSubstring("--controlplane-binary")))
	want, err := cluster.Executable("controlplane")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(FindBinary(want)).To(Equal(want))
}

func TestLocalURL(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ bind, advertised, want string }{
		"an address of its own is used":            {"192.0.2.7", "https://hub.example.com:6443", "https://192.0.2.7:6443"},
		"every address is that of this machine":    {"0.0.0.0", "https://hub.example.com:6443", "https://127.0.0.1:6443"},
		"every address of version 6 is its own 1":  {"::", "https://hub.example.com:6443", "https://[::1]:6443"},
		"the address of this machine stays itself": {"127.0.0.1", "https://127.0.0.1:1234", "https://127.0.0.1:1234"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Embedded{BindAddress: tc.bind}.localURL(tc.advertised)).To(Equal(tc.want))
		})
	}
}
