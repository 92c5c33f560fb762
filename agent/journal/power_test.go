package journal

import (
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/atomicfile"
)

// A loss of power undoes what was renamed and removed since the directory was synced.
func TestDeletionsOutlastALossOfPower(t *testing.T) {
	t.Parallel()
	g, s := NewWithT(t), newShelf(t)
	j, _, _ := s.open("edge")
	j.Begin(namespace)
	syncs, broken := 0, false
	j.syncDir = func(path string) error {
		syncs++
		if broken {
			return syscall.EIO
		}
		return atomicfile.SyncDirectory(path)
	}
	g.Expect(j.Put(work("a", 1))).To(BeTrue())
	g.Expect(syncs).To(BeZero(), "whoever writes many waits for none")

	leaving := work("a", 1)
	leaving.DeletionTimestamp = new(metav1.Now())
	broken = true
	for range 2 {
		g.Expect(j.Put(leaving)).To(BeFalse(), "after a loss of power it would be as before")
	}
	broken = false
	g.Expect(j.Put(leaving)).To(BeTrue())
	syncs = 0
	g.Expect(j.Put(leaving)).To(BeTrue())
	g.Expect(syncs).To(BeZero(), "it is there")

	// Nor is a file durable that a process wrote before it was killed, without having synced the directory.
	third := work("c", 1)
	third.DeletionTimestamp = new(metav1.Now())
	broken = true
	g.Expect(j.Put(third)).To(BeFalse())
	broken = false
	after, _, _ := s.open("edge")
	after.syncDir = j.syncDir
	syncs = 0
	g.Expect(after.Put(third)).To(BeTrue())
	g.Expect(syncs).To(Equal(1))

	// Nor may the older version come back that was removed because this one could not be written.
	other := work("b", 1)
	g.Expect(j.Put(other)).To(BeTrue())
	other.DeletionTimestamp = new(metav1.Now())
	j.replace = func(string, []byte) error { return syscall.ENOSPC }
	broken = true
	g.Expect(j.Put(other)).To(BeFalse())
	broken = false
	g.Expect(j.Put(other)).To(BeTrue())
}
