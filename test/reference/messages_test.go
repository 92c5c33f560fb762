package reference

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fairlead.dev/test/cluster"
)

// TestTroubleshootingQuotesWhatAHubSays compares the section on several machines with the sources: every quoted message is in the sources,
// and every reason of the packages that meet other machines has an entry.
func TestTroubleshootingQuotesWhatAHubSays(t *testing.T) {
	t.Parallel()
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "hub", "TROUBLESHOOTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "## A hub on several machines")
	if !found {
		t.Fatal("the section is gone")
	}
	var said strings.Builder
	for _, dir := range []string{"hub/machinery", "hub/cli", "hub/fleet/connect"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			said.Write(source)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	// Messages may continue in the next line of the source.
	sources := regexp.MustCompile(`"\s*\+\s*"`).ReplaceAllString(said.String(), "")
	quotations := regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(section, -1)
	if len(quotations) == 0 {
		t.Fatal("the section quotes nothing")
	}
	for _, quoted := range quotations {
		if !strings.Contains(sources, quoted[1]) {
			t.Errorf("no hub says %q", quoted[1])
		}
	}
	reasons := 0
	for _, dir := range []string{"peers", "database", "datadir"} {
		files, err := filepath.Glob(filepath.Join(root, "hub/machinery/controlplane", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal("its sources are gone", err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, reason := range regexp.MustCompile(`(?m)^var Err(?:Authority|OtherDatabase|NoAnswer|NotLetIn) += errors\.New\("([^"]+)"\)`).FindAllStringSubmatch(string(source), -1) {
				reasons++
				if !strings.Contains(section, `"`+reason[1]+`"`) {
					t.Errorf("the section has no entry for %q", reason[1])
				}
			}
		}
	}
	if reasons != 4 {
		t.Errorf("%d reasons were found in the sources, want 4", reasons)
	}
}
