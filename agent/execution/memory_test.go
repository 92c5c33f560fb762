package execution

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
)

func named(name string) plan.Object {
	o := plan.Object{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
	o.Version, o.Kind = "v1", "ConfigMap"
	return o
}

// TestAnObjectOfTwoWorksIsTrackedUntilTheLastOfThemGoes covers two Works with the same object, a conflict. When the
// Work that lost it goes, changes of the object must still be reverted.
func TestAnObjectOfTwoWorksIsTrackedUntilTheLastOfThemGoes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := newMemory()
	first, second := types.NamespacedName{Name: "first"}, types.NamespacedName{Name: "second"}
	tracked := func(name string) bool {
		_, ok := m.Record(named(name))
		return ok
	}
	m.Begin(first, 1, []plan.Object{named("a"), named("b")})
	m.Begin(second, 1, []plan.Object{named("a"), named("b")})
	m.Begin(second, 1, []plan.Object{named("a"), named("b")}) // idempotent
	m.Put(named("a"), plan.Record{UID: "u"})

	m.Begin(second, 2, []plan.Object{named("a")})
	g.Expect(tracked("b")).To(BeTrue())
	g.Expect(m.Forget(second)).To(BeTrue())
	g.Expect(m.Forget(second)).To(BeFalse())
	record, ok := m.Record(named("a"))
	g.Expect(ok).To(BeTrue())
	g.Expect(record).NotTo(BeNil())

	m.Begin(first, 2, []plan.Object{named("b")})
	g.Expect(tracked("a")).To(BeFalse())
	g.Expect(m.Forget(first)).To(BeTrue())
	g.Expect(m.objects).To(BeEmpty())
	g.Expect(m.works).To(BeEmpty())
}

// A kind may be watched in more versions than one, for different Works.
func TestAnObjectIsTheSameInEachVersionOfItsKind(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m, name := newMemory(), types.NamespacedName{Name: "first"}
	other := named("a")
	other.Version = "v2"
	g.Expect(m.MayHave(name, other)).To(BeTrue(), "nobody looked so far")
	m.Begin(name, 1, []plan.Object{named("a")})
	g.Expect(m.MayHave(name, other)).To(BeTrue())
	other.Name = "b"
	g.Expect(m.MayHave(name, other)).To(BeFalse())
	other = named("a")
	other.Kind = "Secret"
	g.Expect(m.MayHave(name, other)).To(BeFalse())
}
