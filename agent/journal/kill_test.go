package journal

import (
	"bufio"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// victim names the directory of a process that writes until it is killed.
const victim = "FAIRLEAD_TEST_JOURNAL"

// TestVictim is that process; it is no test by itself.
func TestVictim(t *testing.T) { //nolint:paralleltest // It is run in a process of its own.
	directory := os.Getenv(victim)
	if directory == "" {
		t.Skip("this is for TestAKilledAgentLeavesWholeVersions to run")
	}
	s := &shelf{directory: directory}
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	for generation := int64(1); ; generation++ {
		for i := range 5 {
			w := work("w"+strconv.Itoa(i), generation)
			j.Put(w)
			if i == 0 {
				_, _ = os.Stdout.WriteString("put " + strconv.FormatInt(generation, 10) + "\n") // read by the test
			}
			if generation%7 == 0 && i == 4 {
				j.Remove(client.ObjectKeyFromObject(w))
			}
		}
	}
}

func TestAKilledAgentLeavesWholeVersions(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	for range 10 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVictim$")
		cmd.Env = append(os.Environ(), victim+"="+s.directory)
		out, err := cmd.StdoutPipe()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(cmd.Start()).To(Succeed())
		lines := bufio.NewScanner(out)
		g.Expect(lines.Scan()).To(BeTrue())
		// It is killed at any instant.
		time.AfterFunc(time.Duration(rand.IntN(20_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		last := 0
		for ok := true; ok; ok = lines.Scan() {
			if n, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "put ")); err == nil {
				last = n
			}
		}
		g.Expect(cmd.Wait()).NotTo(Succeed())

		_, _, names := s.open("edge")
		g.Expect(s.warnings).To(BeEmpty())
		first, _ := strconv.Atoi(strings.TrimPrefix(names[0], "w0/"))
		g.Expect(first).To(BeNumerically(">=", last), "what was said to be written is there: %v", names)
	}
}
