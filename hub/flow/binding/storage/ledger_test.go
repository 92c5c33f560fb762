package storage_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/binding/storage"
)

func work(uid, namespace string, kib int) *workv1alpha1.Work {
	w := &workv1alpha1.Work{}
	w.UID = types.UID(uid)
	w.Annotations = map[string]string{contract.ResourceBindingNamespaceAnnotation: namespace, contract.ResourceBindingNameAnnotation: "web-deployment"}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(strings.Repeat("x", kib<<10))}}}
	return w
}

// admit returns whether there is room, and uses none. A Work without its manifests must get the same answer.
func admit(l *storage.Ledger, w *workv1alpha1.Work, replaced types.UID) error {
	dropped := w.DeepCopy()
	dropped.Spec.Workload.Manifests = nil
	checked := l.Check(dropped, len(w.Spec.Workload.Manifests[0].Raw), replaced, false)
	settle, err := l.Admit(w, replaced, false)
	if (checked == nil) != (err == nil) || err != nil && checked.Error() != err.Error() {
		return fmt.Errorf("checking returned %w, admitting %w", checked, err)
	}
	if err == nil {
		settle(nil)
	}
	return err
}

func TestLedgerLimitsNamespace(t *testing.T) {
	g := NewWithT(t)
	l := storage.NewLedger(100 << 10)
	l.Put(work("1", "shop", 38))
	l.Put(work("1", "shop", 38))
	dropped := work("1", "shop", 38)
	dropped.Spec.Workload.Manifests = nil
	l.Put(dropped) // as in a cache
	g.Expect(admit(l, work("", "shop", 58), "")).To(Succeed(), "a Work that is put twice counts once")
	l.Put(work("2", "shop", 50)) // 52 KiB with its metadata
	g.Expect(admit(l, work("", "office", 90), "")).To(Succeed(), "another namespace has its own limit")

	err := admit(l, work("", "shop", 10), "")
	full := &storage.NoRoomError{}
	g.Expect(errors.As(err, &full)).To(BeTrue())
	g.Expect(*full).To(Equal(storage.NoRoomError{Namespace: "shop", Taken: 92 << 10, More: 12 << 10, Limit: 100 << 10}))
	g.Expect(err).To(MatchError(`the Works of namespace "shop" for all clusters may take 100Ki of the hub's database, and this Work would exceed that by 4Ki`))

	g.Expect(admit(l, work("2", "shop", 58), "2")).To(Succeed(), "the replaced Work does not count")
	g.Expect(admit(l, work("2", "shop", 59), "2")).NotTo(Succeed())
	l.Put(work("2", "shop", 10))
	g.Expect(admit(l, work("", "shop", 46), "")).To(Succeed())
	l.Forget("1")
	l.Forget("unknown")
	g.Expect(admit(l, work("", "shop", 85), "")).To(Succeed())
}

// TestConcurrentAdmitsShareTheRoom covers the Works of one binding, hundreds of which are written at a time.
func TestConcurrentAdmitsShareTheRoom(t *testing.T) {
	g := NewWithT(t)
	l := storage.NewLedger(100 << 10)
	first, err := l.Admit(work("", "shop", 60), "", false)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(admit(l, work("", "shop", 60), "")).NotTo(Succeed())
	first(nil)
	second, err := l.Admit(work("", "shop", 60), "", false)
	g.Expect(err).NotTo(HaveOccurred(), "the room of a failed write is released")
	second(work("2", "shop", 60))
	g.Expect(admit(l, work("", "shop", 30), "")).To(Succeed(), "a written Work counts once")
	g.Expect(admit(l, work("", "shop", 40), "")).NotTo(Succeed())
}

// TestSmallerWorkIsAlwaysAdmitted covers a hub that is started with a lower limit than before.
func TestSmallerWorkIsAlwaysAdmitted(t *testing.T) {
	g := NewWithT(t)
	l := storage.NewLedger(10 << 10)
	l.Put(work("1", "shop", 40))
	g.Expect(admit(l, work("1", "shop", 40), "1")).To(Succeed())
	g.Expect(admit(l, work("1", "shop", 43), "1")).NotTo(Succeed())
}

func TestMovesMayExceedTheLimit(t *testing.T) {
	g := NewWithT(t)
	l := storage.NewLedger(100 << 10)
	l.Put(work("1", "shop", 98))
	for kib, wanted := range map[int]bool{20: true, 22: true, 23: false} {
		settle, err := l.Admit(work("", "shop", kib), "", true)
		g.Expect(err == nil).To(Equal(wanted), "%d", kib)
		if err == nil {
			settle(nil)
		}
	}
	g.Expect(admit(l, work("", "shop", 1), "")).NotTo(Succeed())
}

func TestUncountedWorks(t *testing.T) {
	g := NewWithT(t)
	l := storage.NewLedger(10 << 10)
	g.Expect(admit(l, work("1", "", 40), "")).To(Succeed(), "Works of cluster-scoped templates are not counted")
	byHand := work("1", "shop", 40)
	byHand.Annotations = nil
	g.Expect(admit(l, byHand, "")).To(Succeed())
	g.Expect(admit(storage.NewLedger(0), work("1", "shop", 40), "")).To(Succeed(), "a ledger without a limit admits everything")
	var none *storage.Ledger
	none.Put(work("1", "shop", 40))
	none.Forget("1")
	g.Expect(admit(none, work("1", "shop", 40), "")).To(Succeed())
}
