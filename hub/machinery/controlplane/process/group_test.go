package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

const waitTimeout = time.Minute

func newTestGroup(t *testing.T, clk clock.Clock) (*Group, string) {
	t.Helper()
	dir := t.TempDir()
	return NewGroup(Config{Executable: "/bin/sh", Dir: dir, Logs: dir, Clock: clk, Report: t.Logf}), dir
}

func eventually(t *testing.T, what string, met func() bool) {
	t.Helper()
	deadline := time.Now().Add(waitTimeout)
	for !met() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func lines(path string) int {
	data, _ := os.ReadFile(path)
	return strings.Count(string(data), "\n")
}

func TestEssentialComponentFailsTheGroup(t *testing.T) {
	t.Parallel()
	g, dir := newTestGroup(t, clock.RealClock{})
	defer g.Stop()
	if err := g.Start(Component{Name: "heart", Args: []string{"-c", "echo last words; exit 3"}, Essential: true, Grace: time.Second}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-g.Failed():
		for _, want := range []string{"heart", "exit status 3", filepath.Join(dir, "heart.log"), "last words"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error %q does not mention %q", err, want)
			}
		}
	case <-time.After(waitTimeout):
		t.Fatal("the group did not fail")
	}
}

func TestOptionalComponentIsStartedAgain(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakeClock(time.Unix(0, 0))
	g, dir := newTestGroup(t, clk)
	defer g.Stop()
	if err := g.Start(Component{Name: "limb", Args: []string{"-c", "echo run >> runs"}, Grace: time.Second}); err != nil {
		t.Fatal(err)
	}
	runs := filepath.Join(dir, "runs")
	for n, backoff := range []time.Duration{firstBackoff, 2 * firstBackoff} {
		eventually(t, "a run and the wait after it", func() bool { return lines(runs) == n+1 && clk.HasWaiters() })
		clk.Step(backoff - 1)
		if !clk.HasWaiters() {
			t.Fatalf("the wait after run %d is shorter than %s", n+1, backoff)
		}
		clk.Step(1)
	}
	eventually(t, "the third run", func() bool { return lines(runs) == 3 })
}

func TestStop(t *testing.T) {
	t.Parallel()
	g, dir := newTestGroup(t, clock.RealClock{})
	// A shell runs its trap only between commands, so each one waits in the background.
	script := "trap 'echo $0 >> order; exit' TERM; touch up-$0; while :; do sleep 0.01; done"
	for _, c := range []Component{
		{Name: "first", Essential: true}, {Name: "second", Essential: true}, {Name: "third"},
	} {
		c.Args, c.Grace = []string{"-c", script, c.Name}, waitTimeout
		if err := g.Start(c); err != nil {
			t.Fatal(err)
		}
		eventually(t, c.Name+" to be up", func() bool {
			_, err := os.Stat(filepath.Join(dir, "up-"+c.Name))
			return err == nil
		})
	}
	g.Stop()
	order, err := os.ReadFile(filepath.Join(dir, "order"))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Fields(string(order)); strings.Join(got, " ") != "third second first" {
		t.Errorf("stopped in the order %q, want third second first", got)
	}
}

func TestStopKillsWhatDoesNotListen(t *testing.T) {
	t.Parallel()
	g, dir := newTestGroup(t, clock.RealClock{})
	c := Component{Name: "deaf", Args: []string{"-c", "trap '' TERM; touch up; while :; do sleep 0.01; done"}, Grace: 50 * time.Millisecond}
	if err := g.Start(c); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the component to be up", func() bool {
		_, err := os.Stat(filepath.Join(dir, "up"))
		return err == nil
	})
	g.Stop() // returns, or the test times out
}

func TestEnvironmentOfEtcdIsIgnored(t *testing.T) {
	t.Parallel()
	got := environment([]string{"ETCD_DATA_DIR=/elsewhere", "HOME=/root"})
	if strings.Join(got, " ") != "HOME=/root" {
		t.Errorf("environment() = %q, want HOME only", got)
	}
}
