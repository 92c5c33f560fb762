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

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/process"
)

// embedded returns one that listens on a free port. Its directory has a short path, which
// is what the sockets in it need.
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

func TestEmbeddedKeepsItsDataAndItsPortOverARestart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := embedded(t)
	var lines bytes.Buffer
	e.Progress = func(line string) { lines.WriteString(line + "\n") }

	first, err := e.Start(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	url := first.ServerURL(t.Context())
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept", Namespace: "default"}}
	hubClient, err := client.New(first.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hubClient.Create(t.Context(), cm)).To(Succeed())

	_, err = e.Start(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("is in use by another hub")))

	first.Stop()
	g.Expect(first.Done()).To(BeClosed())
	// That it is ready it may not have said: we asked it ourselves, and stopped it at once.
	g.Expect(lines.String()).To(ContainSubstring("starting etcd and kube-apiserver"))

	second, err := e.Start(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer second.Stop()
	g.Expect(second.ServerURL(t.Context())).To(Equal(url))
	hubClient, err = client.New(second.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hubClient.Get(t.Context(), client.ObjectKeyFromObject(cm), cm)).To(Succeed())
}

func TestEmbeddedThatDiesSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, err := embedded(t).Start(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	defer p.Stop()
	g.Expect(p.cmd.Process.Signal(syscall.SIGKILL)).To(Succeed())
	g.Eventually(p.Done()).WithTimeout(10 * time.Second).Should(BeClosed())
	g.Expect(p.Err()).To(MatchError(ContainSubstring("the embedded API stopped by itself")))
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
