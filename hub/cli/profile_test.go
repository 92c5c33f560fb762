package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// tellsProfiles serves profiles as a hub with --profiling does, until the test ends, and returns the socket.
func tellsProfiles(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("/tmp", "fairlead-profile-") //nolint:usetesting // The path of a socket must be short.
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, profilingSocket)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- profiling{socket: socket}.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))
	})
	g.Eventually(func() error {
		_, err := os.Stat(socket)
		return err
	}).WithTimeout(time.Minute).Should(Succeed())
	return socket
}

func TestAProfileIsTakenOfAHubThatTellsIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	socket := tellsProfiles(t)
	gzip := []byte{0x1f, 0x8b}

	var printed execution
	g.Expect(printed.run(t.Context(), "profile", "heap", "--data-dir", filepath.Dir(socket))).To(Equal(ExitDone), printed.err.String())
	g.Expect(bytes.HasPrefix([]byte(printed.out.String()), gzip)).To(BeTrue(), "a profile for go tool pprof, byte by byte")

	file := filepath.Join(t.TempDir(), "hub.pprof")
	var written execution
	g.Expect(written.run(t.Context(), "profile", "--seconds", "1", "--socket", socket, "-o", file)).To(Equal(ExitDone), written.err.String())
	data, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(bytes.HasPrefix(data, gzip)).To(BeTrue())
}

func TestProfileSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"a hub without --profiling": {[]string{"profile", "--data-dir", t.TempDir()}, "start it with --profiling"},
		"a profile that is none":    {[]string{"profile", "memory"}, `there is no profile "memory"`},
		"no time":                   {[]string{"profile", "--seconds", "0"}, "--seconds 0 must be 1 to 600"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var asked execution
			g.Expect(asked.run(t.Context(), tt.args...)).NotTo(Equal(ExitDone))
			g.Expect(asked.err.String()).To(ContainSubstring(tt.want))
		})
	}
}

func TestAHubWithoutADataDirectoryTellsItsProfilesBelowTMPDIR(t *testing.T) {
	g := NewWithT(t)
	dir, err := os.MkdirTemp("/tmp", "fairlead-profile-") //nolint:usetesting // The path of a socket must be short.
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- profiling{}.Start(ctx) }()
	var found []string
	g.Eventually(func() []string {
		found, _ = filepath.Glob(filepath.Join(dir, "fairlead-hub-*", profilingSocket)) // the pattern is valid
		return found
	}).WithTimeout(time.Minute).Should(HaveLen(1))
	info, err := os.Stat(filepath.Dir(found[0]))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o700)))
	cancel()
	g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))
	g.Expect(filepath.Dir(found[0])).NotTo(BeADirectory(), "nothing is left")

	t.Setenv("TMPDIR", filepath.Join(dir, "gone"))
	g.Expect(profiling{}.Start(t.Context())).To(MatchError(ContainSubstring("$TMPDIR")))
}
