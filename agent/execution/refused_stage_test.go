package execution_test

import (
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// TestAnAgentThatWasRefusedGoesOnWhenItIsLetIn has the hub refuse the agent for a long time and then accept it: the
// changes made in between must then be reconciled.
func TestAnAgentThatWasRefusedGoesOnWhenItIsLetIn(t *testing.T) {
	t.Parallel()
	g, w := NewWithT(t), unstarted(t)
	var refuses atomic.Bool
	var asked atomic.Int32
	w.refused = func() (time.Time, bool) {
		if !refuses.Load() {
			return time.Time{}, false
		}
		asked.Add(1)
		return time.Unix(1, 0), true
	}
	w.start(t, cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config, native.New())
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)

	refuses.Store(true)
	w.change(t, work, func(work *workv1alpha1.Work) {
		work.Spec.Workload.Manifests = raw(t, w.configMap("settings", map[string]string{"a": "2"}))
	})
	g.Eventually(asked.Load).WithTimeout(waitTimeout).Should(BeNumerically(">", 0))
	g.Consistently(func(g Gomega) {
		g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("a", "1"))
	}).WithTimeout(500 * time.Millisecond).Should(Succeed())

	refuses.Store(false)
	w.isApplied(t, work)
	g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("a", "2"))
}
