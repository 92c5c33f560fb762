package execution_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/test/cluster"
)

// TestPeopleAreToldAfterARestartOfWhatFinalizersHold restarts the agent, as an upgrade does, just when an application
// is being removed.
func TestPeopleAreToldAfterARestartOfWhatFinalizersHold(t *testing.T) {
	t.Parallel()
	g, w, kept := NewWithT(t), unstarted(t), &extraKept{}
	w.journal = kept
	config := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Config
	stop := w.startBetween(t, config, config, native.New())
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"a": "1"}))
	w.isApplied(t, work)
	held := w.get(g, "settings")
	before := held.DeepCopy()
	held.Finalizers = []string{"shop.example.com/held"}
	g.Expect(w.client.Patch(t.Context(), held, client.MergeFrom(before))).To(Succeed())
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	stop()

	w.events = &events{}
	w.deps = func(deps *execution.Deps) { deps.Deletions = kept.deletions() }
	w.start(t, config, native.New())
	g.Eventually(w.executor.Stuck).WithTimeout(waitTimeout).Should(Equal(1))
	g.Eventually(w.events.all).WithTimeout(waitTimeout).Should(ContainElement(And(
		HavePrefix("DeletionStuck: ConfigMap "+w.member+"/settings "), ContainSubstring("(shop.example.com/held)"))))

	live := w.get(g, "settings")
	before = live.DeepCopy()
	live.Finalizers = nil
	g.Expect(w.client.Patch(t.Context(), live, client.MergeFrom(before))).To(Succeed())
	g.Eventually(w.executor.Stuck).WithTimeout(waitTimeout).Should(BeZero())
	g.Eventually(kept.deletions).WithTimeout(waitTimeout).Should(BeEmpty())
}
