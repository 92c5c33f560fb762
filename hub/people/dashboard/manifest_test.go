package dashboard

import (
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

	// As the page compares what a cluster was sent with the template.
	shown := func(value string) string {
		content, err := contentOf(secret(value))
		g.Expect(err).NotTo(HaveOccurred())
		rendering(content)
		text, err := s.manifestOf(content)
		g.Expect(err).NotTo(HaveOccurred())
		return text
	}
	g.Expect(shown(one)).To(Equal(shown(one)))
	lines, err := diff.Lines(shown(one), shown(other), 0)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(lines).To(HaveLen(4), "that they differ is seen, be they as long: a line away, a line there, and a gap on each side")
}
