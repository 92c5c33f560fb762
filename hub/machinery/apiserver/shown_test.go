package apiserver

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/builder"
)

// TestExamplesAndTutorialsAreAccepted has a hub look at every manifest that people are
// told to apply.
func TestExamplesAndTutorialsAreAccepted(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	seen := 0
	for _, folder := range []string{"../../../manifests/examples", "../../../manifests/tutorials"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "migrating" {
				return filepath.SkipDir // objects of other systems, which are converted first
			}
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			raw, err := os.ReadFile(path)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			shown, err := builder.Objects(string(raw))
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), path)
			for _, u := range shown {
				switch group := u.GroupVersionKind().Group; {
				case strings.HasSuffix(group, "example.com"):
					continue // of a kind that the tutorial defines
				case group == "argoproj.io", strings.HasSuffix(group, ".fluxcd.io"):
					continue // for the cluster in which Argo CD or Flux runs
				}
				if u.GetNamespace() != "" {
					u.SetNamespace(a.namespace)
				}
				seen++
				NewWithT(t).Expect(a.client.Create(t.Context(), u, client.DryRunAll)).To(Succeed(), "%s: %s %s", path, u.GetKind(), u.GetName())
			}
			return nil
		})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
	}
	NewWithT(t).Expect(seen).To(BeNumerically(">", 20))
}
