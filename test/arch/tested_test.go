package arch

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// elsewhere are the packages whose tests `make test` does not run, with the target that does.
var elsewhere = map[string]string{
	"/test/arch": "make verify", "/test/reference": "make verify", "/test/network": "make test-network",
}

// TestEveryPackageIsTested checks that `make test` runs every package with tests: it sorts packages by their imports,
// and a package of no kind would never be tested.
func TestEveryPackageIsTested(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "make", "-s", "--no-print-directory", "tested-packages")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make tested-packages: %v", err)
	}
	tested := strings.Fields(string(out))
	module := strings.TrimSpace(string(run(t, "list", "-m")))
	all := strings.Fields(string(run(t, "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", module+"/...")))
	if len(all) < 100 {
		t.Fatalf("there are %d packages with tests only: %v", len(all), all)
	}
	for _, p := range all {
		if _, ok := elsewhere[strings.TrimPrefix(p, module)]; !ok && !slices.Contains(tested, p) {
			t.Errorf("make test does not run the tests of %s", p)
		}
	}
}
