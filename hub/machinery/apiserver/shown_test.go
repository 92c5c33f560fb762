package apiserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// TestWhatExamplesAndTutorialsShowIsAccepted has a hub look at every manifest that people are
// told to apply.
func TestWhatExamplesAndTutorialsShowIsAccepted(t *testing.T) {
	t.Parallel()
	a := startAdmission(t)
	seen := 0
	for _, folder := range []string{"../../../manifests/examples", "../../../manifests/tutorials"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() && d.Name() == "migrating" {
				return filepath.SkipDir // what other systems hold is converted first
			}
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			for _, u := range documents(t, path) {
				if strings.HasSuffix(u.GroupVersionKind().Group, "example.com") {
					continue // of a kind that the tutorial defines
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

func documents(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	raw, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	var out []*unstructured.Unstructured
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		g.Expect(err).NotTo(HaveOccurred(), path)
		u := &unstructured.Unstructured{}
		g.Expect(yaml.UnmarshalStrict(document, &u.Object)).To(Succeed(), path)
		if u.Object != nil { // else comments only
			out = append(out, u)
		}
	}
}
