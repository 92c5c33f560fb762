package apiserver

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"k8s.io/utils/clock"

	"fairlead.dev/common/filelock"
	"fairlead.dev/test/cluster"
)

// childEnv names the data directory for a copy of this test process that runs an embedded API until it is killed.
const childEnv = "FAIRLEAD_TEST_EMBEDDED"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		runEmbedded(dir)
		os.Exit(1) // it should have been killed
	}
	cluster.Main(m)
}

// installed guards the installation of a hub on the shared API server, by two hubs that start at once. It happens only
// once, because checking that everything is installed takes a second of processor time.
var installed struct {
	sync.Once
	err error
}

// installedHub returns the shared API server, with a hub installed on it.
func installedHub(t *testing.T) *cluster.Cluster {
	t.Helper()
	hub := cluster.Shared(t, cluster.Options{})
	installed.Do(func() {
		var both errgroup.Group
		for range 2 {
			both.Go(func() error { return Install(context.Background(), hub.Config, Options{}) })
		}
		installed.err = both.Wait()
	})
	NewWithT(t).Expect(installed.err).NotTo(HaveOccurred())
	return hub
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

// killedHub starts the embedded API from a separate hub process, calls do, and kills that process.
func killedHub(t *testing.T, e Embedded, do func()) {
	t.Helper()
	// The kernel kills the child when the thread that started it ends, not when the process does.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	g := NewWithT(t)
	hub := exec.CommandContext(t.Context(), os.Args[0])
	hub.Env = append(os.Environ(), childEnv+"="+e.DataDir)
	hub.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := hub.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hub.Start()).To(Succeed())
	line, err := bufio.NewReader(out).ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(line).To(Equal("ready\n"))
	_, err = filelock.Take(filepath.Join(e.DataDir, childLock))
	g.Expect(err).To(MatchError(filelock.ErrHeld))
	do()

	g.Expect(hub.Process.Kill()).To(Succeed())
	_ = hub.Wait() // it was killed
}
