package cluster

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// NeedTools is the environment variable that lists tools, separated by spaces, that must not be missing. The full check
// sets it to the tools that it installs: a test skipped there would never run anywhere.
const NeedTools = "FAIRLEAD_NEED_TOOLS"

// Tool returns the path of a program that a test needs and that may not be installed: a name, or alternative names. If
// it is missing, the test is skipped, or fails if NeedTools lists it.
func Tool(tb testing.TB, name string, others ...string) string {
	tb.Helper()
	for _, candidate := range append([]string{name}, others...) {
		if candidate == "" {
			continue
		}
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	if slices.Contains(strings.Fields(os.Getenv(NeedTools)), name) {
		tb.Fatalf("there is no %s on this machine, and $%s says that nothing is skipped for that: install it", name, NeedTools)
	}
	tb.Skipf("SKIPPED: there is no %s on this machine, which this test needs", name)
	return ""
}
