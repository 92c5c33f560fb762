package execution_test

import (
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// shelf is a journal that remembers the UID of the Work in each record, and whether the Work is absent.
type shelf struct {
	mu   sync.Mutex
	last map[string]types.UID
	gone map[string]bool
}

func (s *shelf) put(work *workv1alpha1.Work, gone bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[work.Name], s.gone[work.Name] = work.UID, gone
	return true
}

func (s *shelf) Put(work *workv1alpha1.Work) bool    { return s.put(work, false) }
func (s *shelf) Absent(work *workv1alpha1.Work) bool { return s.put(work, true) }
func (*shelf) Remove(types.NamespacedName)           {}
func (*shelf) PutKinds([]schema.GroupVersionKind)    {}

func (*shelf) PutDeletions([]metav1.PartialObjectMetadata) {}

func (s *shelf) has(work string) (types.UID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[work], s.gone[work]
}

// TestAnObjectNewerThanABackupOutlivesAnOldDeletion has a hub that was restored delete a Work which ended after the backup, and after
// which another one of its name was applied.
func TestAnObjectNewerThanABackupOutlivesAnOldDeletion(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	older := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "old"}))
	w.end(t, older, contract.DeletionRemoved)
	newer := older.DeepCopy()
	newer.UID, newer.CreationTimestamp = "newer", metav1.NewTime(older.CreationTimestamp.Add(time.Hour))
	newer.Spec.Workload.Manifests = raw(t, w.configMap("settings", map[string]string{"a": "1"}))
	g.Expect(w.client.Create(t.Context(), w.marked("settings"))).To(Succeed())
	since := w.get(g, "settings").UID
	kept := &shelf{last: map[string]types.UID{"settings": newer.UID}, gone: map[string]bool{}}
	w.kept, w.journal = []execution.Kept{{Work: newer}}, kept
	w.start(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, native.New())

	w.isGone(t, older)
	g.Eventually(w.executor.Unclaimed).WithTimeout(waitTimeout).Should(Equal(1))
	live := w.get(g, "settings")
	g.Expect(live.UID).To(Equal(since))
	g.Expect(live.DeletionTimestamp).To(BeNil())
	g.Expect(live.Data).To(HaveKeyWithValue("a", "1"))
	g.Expect(w.requests.about("DELETE")).To(BeEmpty())
	uid, gone := kept.has("settings")
	g.Expect(uid).To(Equal(newer.UID))
	g.Expect(gone).To(BeTrue())

	again := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "2"}))
	w.isApplied(t, again)
	g.Eventually(func(g Gomega) { g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("a", "2")) }).WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(w.get(g, "settings").UID).To(Equal(since), "it is claimed again")
}
