package execution

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func TestASharedPrerequisiteIsAskedForOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	n, now := newPrerequisites(), time.Unix(0, 0)
	shop := need{namespace: "shop"}
	work := func(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
	g.Expect(n.Ask(shop, work("a"), now)).To(BeTrue(), "nobody knows that it is missing")
	n.Missing(shop, work("a"), now)
	g.Expect(n.Ask(shop, work("b"), now)).To(BeFalse())

	now = now.Add(firstRetry)
	g.Expect(n.Ask(shop, work("b"), now)).To(BeTrue())
	g.Expect(n.Ask(shop, work("c"), now)).To(BeFalse(), "the answer to the other one is awaited")
	for range 20 {
		n.Missing(shop, work("b"), now)
	}
	g.Expect(n.Ask(shop, work("b"), now.Add(lastRetry-1))).To(BeFalse())
	g.Expect(n.Ask(shop, work("b"), now.Add(lastRetry))).To(BeTrue())

	n.Forget(work("c"))
	g.Expect(n.Met(shop)).To(ConsistOf(work("a"), work("b")))
	g.Expect(n.Met(shop)).To(BeEmpty())
	g.Expect(n.Ask(shop, work("c"), now)).To(BeTrue())
}

func TestADefinitionHasTheKindsOfItsGroupAskedForAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	n, now := newPrerequisites(), time.Unix(0, 0)
	widget := need{kind: schema.GroupVersionKind{Group: "shop.example.com", Version: "v1", Kind: "Widget"}}
	work := types.NamespacedName{Name: "a"}
	n.Missing(widget, work, now)
	g.Expect(n.Group("other.example.com")).To(BeEmpty())
	g.Expect(n.Group("shop.example.com")).To(ConsistOf(work))
	g.Expect(n.Ask(widget, work, now)).To(BeTrue())
	n.Forget(work)
	g.Expect(n.missing).To(BeEmpty())
}
