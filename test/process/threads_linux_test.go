package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// withoutFirst is in the environment of a process whose first thread ends at once while the others go on.
const withoutFirst = "FAIRLEAD_TEST_WITHOUT_FIRST_THREAD"

// The variables of a package are initialized on the first thread.
var _ = endFirstThread()

func endFirstThread() bool {
	if os.Getenv(withoutFirst) == "" {
		return false
	}
	runtime.LockOSThread()
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the test kills it, or ends
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}()
	_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0) // it does not return
	return true
}

func TestAProcessRunsUntilItsLastThreadEnds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), withoutFirst+"=1")
	_, err := cmd.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cmd.Start()).To(Succeed())
	pid := cmd.Process.Pid
	g.Eventually(func() (string, error) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return string(stat), err
	}).WithTimeout(time.Minute).Should(ContainSubstring(") Z "), "its first thread has ended")
	_, err = startTime(pid)
	g.Expect(err).NotTo(HaveOccurred(), "its other threads hold what it has open")

	g.Expect(syscall.Kill(pid, syscall.SIGKILL)).To(Succeed())
	g.Eventually(func() error {
		_, err := startTime(pid)
		return err
	}).WithTimeout(time.Minute).Should(MatchError(errGone))
	g.Expect(cmd.Wait()).NotTo(Succeed())
}
