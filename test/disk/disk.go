package disk

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"fairlead.dev/test/process"
)

// Disk is a small disk in memory.
type Disk struct {
	// Path is its path for all processes of this user.
	Path string

	mount string
	pid   int
}

// enter are arguments of unshare and nsenter; unprivileged users need a user namespace as well.
func enter(more ...string) []string {
	if os.Geteuid() == 0 {
		return append([]string{"-m"}, more...)
	}
	return append([]string{"-Um"}, more...)
}

// Small creates a disk of some MB, and skips the test where that is impossible.
func Small(t *testing.T, megabytes int) Disk {
	t.Helper()
	g := gomega.NewWithT(t)
	for _, program := range []string{"unshare", "nsenter", "mount"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("a small disk needs the program %s, which is not on this machine", program)
		}
	}
	dir := t.TempDir()
	d := Disk{mount: filepath.Join(dir, "disk")}
	g.Expect(os.Mkdir(d.mount, 0o700)).To(gomega.Succeed())
	log := filepath.Join(dir, "log")
	script := fmt.Sprintf("mount -t tmpfs -o mode=0700,size=%dm tmpfs %s && echo mounted && exec sleep infinity", megabytes, d.mount)
	args := enter("sh", "-c", script)
	if os.Geteuid() != 0 {
		args = append([]string{"-r"}, args...)
	}
	p, err := process.Start(process.Spec{Executable: "unshare", Args: args, Log: log})
	g.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(p.Kill)
	said := func() string {
		data, _ := os.ReadFile(log)
		return string(data)
	}
	g.Eventually(func() bool { return p.Ended() || strings.Contains(said(), "mounted") }).WithTimeout(mountTimeout).Should(gomega.BeTrue())
	if p.Ended() {
		t.Skipf("a small disk cannot be mounted here: %s", said())
	}
	d.pid = p.PID()
	d.Path = filepath.Join("/proc", fmt.Sprint(d.pid), "root", d.mount)
	return d
}

// Grow changes the size of the disk to some MB.
func (d Disk) Grow(t *testing.T, megabytes int) {
	t.Helper()
	args := enter("-t", fmt.Sprint(d.pid), "mount", "-o", fmt.Sprintf("remount,size=%dm", megabytes), d.mount)
	out, err := exec.CommandContext(t.Context(), "nsenter", args...).CombinedOutput()
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred(), string(out))
}

// mountTimeout is how long a mount may take, on a machine that does other work too.
const mountTimeout = 30 * time.Second
