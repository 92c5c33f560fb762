package journal

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
)

// onDisk returns the number and size of the Works' files in the directory.
func (s *shelf) onDisk(g Gomega) Size {
	var out Size
	for _, name := range s.files(g) {
		if filepath.Ext(name) != suffix {
			continue
		}
		info, err := os.Stat(filepath.Join(s.directory, name))
		g.Expect(err).NotTo(HaveOccurred())
		out.Works++
		out.Bytes += info.Size()
	}
	return out
}

func TestTheSizeOfTheJournalIsThatOfItsFiles(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge-1")
	j.Begin(namespace)
	g.Expect(j.Size()).To(Equal(Size{}))
	j.Put(work("web", 1))
	j.Put(work("shop", 1))
	longer := work("web", 2)
	longer.Spec.Workload.Manifests = append(longer.Spec.Workload.Manifests, longer.Spec.Workload.Manifests[0])
	j.Put(longer)
	g.Expect(j.Size()).To(Equal(s.onDisk(g)))
	g.Expect(j.Size().Works).To(Equal(2))

	j, _, _ = s.open("edge-1")
	g.Expect(j.Size()).To(Equal(s.onDisk(g)), "after a restart")
	j.Remove(types.NamespacedName{Namespace: namespace, Name: "web"})
	g.Expect(j.Size()).To(Equal(s.onDisk(g)))
	g.Expect(j.Size().Works).To(Equal(1))
	g.Expect(j.Erase()).To(Succeed())
	g.Expect(j.Size()).To(Equal(Size{}))
}
