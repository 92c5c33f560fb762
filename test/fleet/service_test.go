package fleet

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// noted is the start of a script that waits until its pid file is written, and prints "started".
const noted = "until grep -qs \"^$$ \" $1/run/hub.pid; do sleep 0.01; done\necho started\n"

// TestAServiceThatStopsIsStartedOnceMore starts programs that exit before they are ready, once or every time.
func TestAServiceThatStopsIsStartedOnceMore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		starts int
		err    string
	}{
		"once":     {script: noted + "[ $(grep -c started $1/logs/hub.log) -gt 1 ] || exit 1\ntouch $1/ready\nexec sleep 60\n", starts: 2},
		"for ever": {script: noted + "exit 1\n", starts: 2, err: `starting "hub": it stopped by itself`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := t.TempDir()
			f, err := New(Options{Bin: "/bin", Dir: dir, Clusters: 1})
			g.Expect(err).NotTo(HaveOccurred())
			t.Cleanup(func() { g.Expect(f.Down(context.WithoutCancel(t.Context()))).To(Succeed()) })
			err = f.up(t.Context(), service{
				name: HubName, program: "sh", args: []string{"-c", test.script, "sh", dir}, timeout: time.Minute,
				ready: func(context.Context) error {
					if _, err := os.Stat(filepath.Join(dir, "ready")); err != nil {
						return errors.New("not yet")
					}
					return nil
				},
			})
			if test.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(test.err)))
			}
			log, err := os.ReadFile(f.Log(HubName))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Count(string(log), "started\n")).To(Equal(test.starts), "%s", log)
		})
	}
}
