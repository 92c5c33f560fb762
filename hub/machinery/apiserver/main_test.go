package apiserver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/test/cluster"
)

// childEnv names the data directory to a copy of this test process that runs an
// embedded API until it is killed.
const childEnv = "FAIRLEAD_TEST_EMBEDDED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		runEmbedded(dir)
		os.Exit(1) // it was to be killed
	}
	cluster.Main(m)
}

func runEmbedded(dir string) {
	binary, err := cluster.Executable("controlplane")
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := Embedded{
		Binary: binary, DataDir: dir, BindAddress: "127.0.0.1",
		Kubeconfig: filepath.Join(dir, "admin.kubeconfig"), Context: "hub", Clock: clock.RealClock{},
	}.Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	<-p.Done()
}

func TestEmbeddedDoesNotOutliveAHubThatIsKilled(t *testing.T) {
	t.Parallel()
	// The kernel kills the child when the thread that started it ends, not when the process does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g := NewWithT(t)
	e := embedded(t)
	hub := exec.CommandContext(t.Context(), os.Args[0])
	hub.Env = append(os.Environ(), childEnv+"="+e.DataDir)
	hub.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := hub.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hub.Start()).To(Succeed())
	line, err := bufio.NewReader(out).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line).To(Equal("ready\n"))
	_, err = flock(filepath.Join(e.DataDir, childLock))
	g.Expect(err).To(MatchError(errHeld))

	g.Expect(hub.Process.Kill()).To(Succeed())
	_ = hub.Wait() // it was killed

	// The next hub waits for the end of the orphan and goes on with its data.
	p, err := e.Start(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	p.Stop()
	free, err := flock(filepath.Join(e.DataDir, childLock))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(free.Close()).To(Succeed())
	g.Eventually(func() string {
		data, _ := os.ReadFile(p.log.Name())
		return string(data)
	}).WithTimeout(time.Second).Should(ContainSubstring("stopped"))
}
