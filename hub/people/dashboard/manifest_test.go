package dashboard

import (
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/people/view/diff"
)

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &Server{mask: diff.NewMask([]byte("key"))}
	secret := func(value string) []byte {
		return []byte(`{"kind":"Secret","metadata":{"name":"s","managedFields":[{}],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"hush"}},"data":{"a":"` + value + `"},"stringData":{"b":"hush"}}`)
	}
	const one, other = "aHVzaA==", "SFVTSA=="
	text, err := s.manifestOf(secret(one))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(And(ContainSubstring("a: (hidden, "), Not(ContainSubstring("hush")), Not(ContainSubstring("aHVzaA")), Not(ContainSubstring("managedFields"))))

	// As the page compares the manifest sent to a cluster with the template.
	shown := func(value string) string {
		content, err := contentOf(secret(value))
		g.Expect(err).NotTo(HaveOccurred())
		dropUnsent(content)
		text, err := s.manifestOf(content)
		g.Expect(err).NotTo(HaveOccurred())
		return text
	}
	g.Expect(shown(one)).To(Equal(shown(one)))
	lines, err := diff.Lines(shown(one), shown(other), 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(HaveLen(4), "that they differ is seen, be they as long: a line away, a line there, and a gap on each side")
}

// TestAManifestTakesLittleMemory has an object that is hundreds of megabytes as YAML. It is not parallel, because the
// allocations of other tests would count.
func TestAManifestTakesLittleMemory(t *testing.T) {
	g := NewWithT(t)
	s := &Server{mask: diff.NewMask([]byte("key"))}
	const levels = 250
	object := []byte(`{"kind":"A","spec":` + strings.Repeat("[", levels) + strings.Repeat("0,", 300_000) + "0" + strings.Repeat("]", levels) + "}")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, err := s.manifestOf(object)
	runtime.ReadMemStats(&after)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.TotalAlloc - before.TotalAlloc).To(BeNumerically("<", 64<<20))
	g.Expect(text).To(And(HavePrefix(`{"kind":"A","spec":[[`), ContainSubstring("Shown as JSON"), ContainSubstring("longer than is shown here")))
}
