package kube

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	testingclock "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

func TestADeferredStatusGoesWithTheNextWrite(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Unix(1000, 0)
	c := testingclock.NewFakePassiveClock(start)
	d := NewDeferredStatus(c)
	say := func(n int64) func(*workv1alpha2.ResourceBindingStatus) {
		return func(s *workv1alpha2.ResourceBindingStatus) { s.SchedulerObservedGeneration = n }
	}
	b := binding()
	b.UID, b.Generation = "u", 2
	g.Expect(d.Defer(b, say(2))).To(Equal(start))

	c.SetTime(start.Add(time.Second))
	g.Expect(d.Defer(b, say(2))).To(Equal(start), "it waits since it was said first")
	d.Include(b)
	g.Expect(b.Status.SchedulerObservedGeneration).To(BeEquivalentTo(2))

	for name, other := range map[string]func(*workv1alpha2.ResourceBinding){
		"a binding that changed since":  func(b *workv1alpha2.ResourceBinding) { b.Generation = 3 },
		"another binding of that name":  func(b *workv1alpha2.ResourceBinding) { b.UID = "v" },
		"a binding nothing was said of": func(b *workv1alpha2.ResourceBinding) { b.Name = "other" },
		"one in another namespace":      func(b *workv1alpha2.ResourceBinding) { b.Namespace = "other" },
	} {
		b := binding()
		b.UID, b.Generation = "u", 2
		other(b)
		d.Include(b)
		g.Expect(b.Status.SchedulerObservedGeneration).To(BeZero(), name)
		_, waits := d.Since(b)
		g.Expect(waits).To(BeFalse(), name)
	}

	b.Generation = 3
	g.Expect(d.Defer(b, say(3))).To(Equal(start.Add(time.Second)), "it is about something new")
	d.Drop(client.ObjectKeyFromObject(b))
	_, waits := d.Since(b)
	g.Expect(waits).To(BeFalse())
}
