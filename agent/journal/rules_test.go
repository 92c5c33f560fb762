package journal

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/journal/entry"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/atomicfile"
)

func meaning(script string) entry.Rules {
	c := configv1alpha1.ResourceInterpreterCustomization{ObjectMeta: metav1.ObjectMeta{Name: "wells", UID: "u", Generation: 1}}
	c.Spec.Customizations.Retention = &configv1alpha1.LuaRule{LuaScript: script}
	return entry.Rules{Customizations: []configv1alpha1.ResourceInterpreterCustomization{c}}
}

func TestTheJournalHasWhatKindsMean(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	g.Expect(j.Rules()).To(BeNil())
	j.Begin(namespace)
	j.PutRules(meaning("one"))
	j.PutRules(meaning("two"))
	j, _, works := s.open("edge")
	g.Expect(works).To(BeEmpty())
	g.Expect(s.warnings).To(BeEmpty())
	g.Expect(*j.Rules()).To(BeComparableTo(meaning("two")))
	j.replace = func(string, []byte) error { return syscall.EIO }
	j.PutRules(meaning("two"))
	g.Expect(j.failing).To(BeFalse(), "it is there already")

	// An older one is not used where it cannot be replaced.
	j.PutRules(meaning("three"))
	j, _, _ = s.open("edge")
	g.Expect(j.Rules()).To(BeNil())
	j.replace = func(string, []byte) error { return syscall.ENOSPC }
	j.PutRules(meaning("three"))
	j.replace = atomicfile.Replace
	j.retryUnwritten()
	g.Expect(j.failing).To(BeFalse())
	j, _, _ = s.open("edge")
	g.Expect(*j.Rules()).To(BeComparableTo(meaning("three")))

	// Nor is one that is torn, of another hub, or more than is kept.
	path := filepath.Join(s.directory, rulesFile)
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(path, text[:len(text)/2], 0o600)).To(Succeed())
	j, _, _ = s.open("edge")
	g.Expect(j.Rules()).To(BeNil())
	j.PutRules(meaning("four"))
	j.Begin("karmada-es-other")
	j, _, _ = s.open("edge")
	g.Expect(j.Rules()).To(BeNil())
	j.PutRules(meaning("five"))
	j.PutRules(meaning(strings.Repeat("x", maxRules)))
	g.Expect(path).NotTo(BeAnExistingFile())
}
