package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func start(t *testing.T, detached bool, script string) *Process {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(Spec{
		Executable: shell, Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "logs", "p.log"), Detached: detached,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestAPIDFileFindsItsProcessAndNoOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := PIDFile(filepath.Join(t.TempDir(), "p.pid"))
	g.Expect(file.PID()).To(BeZero(), "there is no file yet")

	p := start(t, true, "exec sleep 60")
	g.Expect(file.Write(p.PID())).To(Succeed())
	g.Expect(file.PID()).To(Equal(p.PID()))

	data, err := os.ReadFile(string(file))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(string(file), append(data[:len(data)-1], '0'), 0o600)).To(Succeed())
	g.Expect(file.PID()).To(BeZero(), "a process that started at another time is a stranger")

	for _, broken := range []string{"", "12", "x y", "-1 5"} {
		g.Expect(os.WriteFile(string(file), []byte(broken), 0o600)).To(Succeed())
		g.Expect(file.PID()).To(BeZero(), "broken file %q", broken)
	}
}

func TestStopAsksBeforeItKills(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"a process that ends when asked":                    "exec sleep 60",
		"a process that does not hear, which is killed":     `trap "" TERM; while :; do sleep 0.05; done`,
		"a process that ended by itself, which is no error": "exit 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := start(t, true, script)
			file := PIDFile(filepath.Join(t.TempDir(), "p.pid"))
			_ = file.Write(p.PID()) // a process that exits by itself may be gone already
			g.Expect(file.Stop(t.Context(), 300*time.Millisecond)).To(Succeed())
			g.Eventually(p.Done()).WithTimeout(time.Minute).Should(BeClosed())
			g.Expect(string(file)).NotTo(BeAnExistingFile())
		})
	}
}

func TestTailNamesWhatItShows(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	path := filepath.Join(t.TempDir(), "a.log")
	g.Expect(os.WriteFile(path, []byte("one\ntwo\n"), 0o600)).To(Succeed())
	g.Expect(Tail(path)).To(Equal("--- end of a.log\none\ntwo\n"))
}

func TestKillWaitsForWhatTheProcessStarted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := start(t, true, "sleep 60 & sleep 60 & wait")
	file := PIDFile(filepath.Join(t.TempDir(), "p.pid"))
	g.Expect(file.Write(p.PID())).To(Succeed())
	var children []int
	g.Eventually(func() []int {
		children = descendants(p.PID())
		return children
	}).WithTimeout(time.Minute).Should(HaveLen(2))
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	g.Expect(file.Kill(short)).To(MatchError(context.DeadlineExceeded), "these two are not bound to it")
	for _, child := range children {
		g.Expect(syscall.Kill(child, syscall.SIGKILL)).To(Succeed())
	}
	g.Expect(file.PID()).To(BeZero())
	g.Expect(file.Kill(t.Context())).To(Succeed())
}
