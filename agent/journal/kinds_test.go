package journal

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/atomicfile"
)

func TestTheJournalHasTheKindsThatWereApplied(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	one, two := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, schema.GroupVersionKind{Group: "farm.example.com", Version: "v1", Kind: "Barn"}
	j, _, _ := s.open("edge")
	g.Expect(j.Kinds()).To(BeEmpty())
	j.Begin(namespace)
	j.PutKinds([]schema.GroupVersionKind{one})
	j.Put(work("settings", 1))
	j.Remove(client.ObjectKeyFromObject(work("settings", 1)))
	j, _, works := s.open("edge")
	g.Expect(works).To(BeEmpty())
	g.Expect(s.warnings).To(BeEmpty())
	g.Expect(j.Kinds()).To(Equal([]schema.GroupVersionKind{one}), "the Work has ended")

	// A full disk keeps an older list until there is room.
	j.replace = func(string, []byte) error { return syscall.ENOSPC }
	j.PutKinds([]schema.GroupVersionKind{one, two})
	g.Expect(j.failing).To(BeTrue())
	again, _, _ := s.open("edge")
	g.Expect(again.Kinds()).To(Equal([]schema.GroupVersionKind{one}))
	j.replace = atomicfile.Replace
	j.retryUnwritten()
	g.Expect(j.failing).To(BeFalse())
	j, _, _ = s.open("edge")
	g.Expect(j.Kinds()).To(Equal([]schema.GroupVersionKind{one, two}))

	// One that is torn, too long or of another hub is not used.
	path := filepath.Join(s.directory, kindsFile)
	text, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	for _, bad := range []string{string(text[:len(text)/2]), string(text) + strings.Repeat(" ", maxKinds)} {
		g.Expect(os.WriteFile(path, []byte(bad), 0o600)).To(Succeed())
		j, _, _ = s.open("edge")
		g.Expect(j.Kinds()).To(BeEmpty())
	}
	j.PutKinds([]schema.GroupVersionKind{two})
	j.Begin("karmada-es-other")
	j, _, _ = s.open("edge")
	g.Expect(j.Kinds()).To(BeEmpty())
	g.Expect(path).NotTo(BeAnExistingFile())
}
