package status

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
)

func TestAChangedBindingWaitsForItsWorks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	key := types.NamespacedName{Namespace: "shop", Name: "web"}
	start := time.Unix(0, 0)
	after := func(d time.Duration) time.Time { return start.Add(d) }
	r := newRenders()
	g.Expect(r.wait(key, 3, start)).To(BeZero(), "nothing changed")

	r.begin(key, start)
	g.Expect(r.wait(key, 3, after(time.Second))).To(Equal(renderTimeout - time.Second))
	r.work(key, after(time.Second))
	r.work(key, after(2*time.Second))
	g.Expect(r.wait(key, 3, after(2*time.Second))).To(Equal(settleDown), "the third may follow")
	r.work(key, after(2*time.Second))
	g.Expect(r.wait(key, 3, after(2*time.Second))).To(BeZero(), "all changed")

	r.begin(key, start)
	r.work(key, after(time.Second))
	g.Expect(r.wait(key, 3, after(time.Second+settleDown))).To(BeZero(), "the change concerns one of them")

	r.begin(key, start)
	g.Expect(r.wait(key, 3, after(renderTimeout))).To(BeZero(), "it concerns none of them")

	r.begin(key, start)
	r.forget(key)
	g.Expect(r.wait(key, 3, start)).To(BeZero())
}
