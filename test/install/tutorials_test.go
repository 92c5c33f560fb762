package install

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestATutorialCanBeAppliedAsAFolder checks that `kubectl apply -f` of a folder, which takes the files by name, creates
// each namespace before its contents.
func TestATutorialCanBeAppliedAsAFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := os.ReadFile(file(t, "..", "tutorials", "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	folders := regexp.MustCompile(`kubectl apply -f manifests/tutorials/([\w-]+)\n`).FindAllSubmatch(text, -1)
	g.Expect(folders).NotTo(BeEmpty())
	for _, folder := range folders {
		files, err := filepath.Glob(file(t, "..", "tutorials", string(folder[1]), "*.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		made := map[string]bool{"": true, "default": true}
		for _, name := range files {
			data, err := os.ReadFile(name)
			g.Expect(err).NotTo(HaveOccurred())
			for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
				obj := &unstructured.Unstructured{}
				if err := documents.Decode(&obj.Object); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("reading %s: %v", name, err)
				}
				g.Expect(made).To(HaveKey(obj.GetNamespace()), "%s %s of %s", obj.GetKind(), obj.GetName(), name)
				if obj.GetKind() == "Namespace" {
					made[obj.GetName()] = true
				}
			}
		}
	}
}
