package scheduler_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/stagetest"
)

// deferring starts a scheduler that defers routine status for a while.
func deferring(t *testing.T, deferFor time.Duration) *world {
	t.Helper()
	w := start(t)
	w.stop()
	w.deferred, w.deferFor = kube.NewDeferredStatus(clock.RealClock{}), deferFor
	w.stop = w.run(t)
	return w
}

func TestARoutineStatusGoesWithThatOfTheClusters(t *testing.T) {
	g, w := NewWithT(t), deferring(t, time.Hour)
	c := w.join(t, "defer-1", "defer")
	t.Cleanup(func() { g.Expect(w.hub.Delete(context.Background(), c)).To(Succeed()) })
	w.sees(t, "defer-1", "defer")
	b := w.binding("web", "defer")
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("defer-1 untouched"))

	// Do what the status stage does.
	take := func(g Gomega) {
		_, waits := w.deferred.Since(read(t, w, b))
		g.Expect(waits).To(BeTrue())
		w.deferred.Include(b)
		g.Expect(w.hub.Status().Update(t.Context(), b)).To(Succeed())
	}
	g.Eventually(take, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Expect(summary(read(t, w, b))).To(Equal("defer-1 Success"))
	g.Expect(b.Status.LastScheduledTime).NotTo(BeNil())

	// A change that does not move it changes only the observed generation.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { b.Spec.Resource.ResourceVersion = "2" })
	g.Eventually(func() bool {
		_, waits := w.deferred.Since(read(t, w, b))
		return waits
	}, stagetest.Timeout, stagetest.Poll).Should(BeTrue())
	g.Expect(summary(read(t, w, b))).To(Equal("defer-1 Success outdated"))
	g.Eventually(take, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	g.Expect(summary(read(t, w, b))).To(Equal("defer-1 Success"))

	// Status that is not routine is written at once.
	none := w.binding("none", "nowhere")
	g.Expect(w.hub.Create(t.Context(), none)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, none)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("NoClusterFit"))
}

func TestARoutineStatusThatNobodyTakesIsWrittenByTheScheduler(t *testing.T) {
	g, w := NewWithT(t), deferring(t, stagetest.Quiet)
	c := w.join(t, "alone-1", "alone")
	t.Cleanup(func() { g.Expect(w.hub.Delete(context.Background(), c)).To(Succeed()) })
	b := w.binding("web", "alone")
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	g.Eventually(func() string { return summary(read(t, w, b)) }, stagetest.Timeout, stagetest.Poll).Should(Equal("alone-1 Success"))
	g.Expect(b.Status.SchedulerObservedGeneration).To(Equal(b.Generation))
	// The write is visible before the scheduler records it.
	g.Eventually(func() bool {
		_, waits := w.deferred.Since(b)
		return waits
	}, stagetest.Timeout, stagetest.Poll).Should(BeFalse())
}
