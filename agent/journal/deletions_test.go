package journal

import (
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/atomicfile"
)

func TestTheJournalHasTheObjectsThatDoNotGo(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	one := metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings", UID: "u", DeletionTimestamp: &metav1.Time{Time: time.Unix(1_700_000_000, 0)}},
	}
	j, _, _ := s.open("edge")
	g.Expect(j.Deletions()).To(BeEmpty())
	j.Begin(namespace)
	j.PutDeletions([]metav1.PartialObjectMetadata{one})
	j, _, works := s.open("edge")
	g.Expect(works).To(BeEmpty())
	g.Expect(s.warnings).To(BeEmpty())
	g.Expect(j.Deletions()).To(Equal([]metav1.PartialObjectMetadata{one}))

	// A full disk keeps the old list until there is room.
	j.replace = func(string, []byte) error { return syscall.ENOSPC }
	j.PutDeletions(nil)
	g.Expect(j.failing).To(BeTrue())
	again, _, _ := s.open("edge")
	g.Expect(again.Deletions()).To(HaveLen(1))
	j.replace = atomicfile.Replace
	j.retryUnwritten()
	j, _, _ = s.open("edge")
	g.Expect(j.Deletions()).To(BeEmpty())

	j.PutDeletions([]metav1.PartialObjectMetadata{one})
	j.Begin("karmada-es-other")
	j, _, _ = s.open("edge")
	g.Expect(j.Deletions()).To(BeEmpty(), "it may be another hub")
}
