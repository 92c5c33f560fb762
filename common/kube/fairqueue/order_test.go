package fairqueue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// request returns the request for NAMESPACE/NAME.
func request(name string) reconcile.Request {
	namespace, rest, _ := strings.Cut(name, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: rest}}
}

// handOut hands out at most that many requests, and returns their names.
func (o *order) handOut(most int) []string {
	out := []string{}
	for len(out) < most {
		req, _, ok := o.pop()
		if !ok {
			break
		}
		out = append(out, req.String())
	}
	return out
}

func (o *order) addAll(priority int, names ...string) {
	for _, name := range names {
		o.add(request(name), priority)
	}
}

// finish ends the reconciles of requests.
func (o *order) finish(names ...string) {
	for _, name := range names {
		o.done(request(name))
	}
}

// fill makes requests of a namespace take slots until none are left, and returns their names.
func (o *order) fill(namespace string) []string {
	for i := 0; ; i++ {
		name := fmt.Sprint(namespace, "/holds-", i)
		o.add(request(name), 0)
		o.handOut(1)
		if !o.takeSlot(request(name)) {
			o.items[request(name)].waits = false
			o.finish(name)
			break
		}
	}
	var out []string
	for req, it := range o.items {
		if it.hasSlot {
			out = append(out, req.String())
		}
	}
	slices.Sort(out)
	return out
}

// refuse adds large requests that are reconciled one after the other and get no slot.
func (o *order) refuse(g *WithT, priority int, names ...string) {
	for _, name := range names {
		o.add(request(name), priority)
		g.Expect(o.handOut(1)).To(Equal([]string{name}))
		g.Expect(o.takeSlot(request(name))).To(BeFalse())
		o.finish(name)
	}
}

// expectNothingLeft checks that nothing is kept of finished requests.
func (o *order) expectNothingLeft(g *WithT) {
	g.Expect(o.items).To(BeEmpty())
	g.Expect(o.held).To(BeEmpty())
	g.Expect(o.all).To(BeZero())
	for _, l := range []*lane{o.ready, o.waiting} {
		g.Expect(l.lines).To(BeEmpty())
		g.Expect(l.order.Len()).To(BeZero())
		g.Expect(l.size).To(BeZero())
	}
}

func TestNamespacesTakeTurns(t *testing.T) {
	t.Parallel()
	g, o := NewWithT(t), newOrder(SlotsOf(12))
	o.addAll(0, "shop/1", "shop/2", "shop/3", "shop/4", "office/1", "office/2", "shop/2")
	g.Expect(o.handOut(2)).To(Equal([]string{"shop/1", "office/1"}))
	o.addAll(0, "home/1")
	all := []string{"shop/2", "office/2", "home/1", "shop/3", "shop/4"}
	g.Expect(o.handOut(9)).To(Equal(all))
	o.finish(append(all, "shop/1", "office/1")...)
	o.expectNothingLeft(g)
}

func TestAHigherPriorityComesFirst(t *testing.T) {
	t.Parallel()
	g, o := NewWithT(t), newOrder(SlotsOf(12))
	o.addAll(-100, "shop/1", "shop/2", "office/1")
	o.addAll(0, "shop/3", "shop/4", "shop/2")
	req, priority, _ := o.pop()
	g.Expect(req).To(Equal(request("shop/3")))
	g.Expect(priority).To(BeZero())
	g.Expect(o.handOut(9)).To(Equal([]string{"shop/4", "shop/2", "shop/1", "office/1"}), "shop/2 was raised")

	o = newOrder(Slots{OfNamespace: 2, OfAll: 2})
	held := o.fill("shop")
	o.refuse(g, -100, "office/low")
	o.refuse(g, 0, "home/normal")
	o.addAll(-100, "club/low")
	o.finish(held...)
	g.Expect(o.handOut(9)).To(Equal([]string{"home/normal", "club/low", "office/low"}))
}

func TestLargeRequestsHoldAPartOfTheWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ workers, ofNamespace, ofAll int }{
		"the workers of a hub":       {12, 6, 9},
		"fewer":                      {4, 2, 3},
		"so few that one is for all": {2, 1, 1},
		"one":                        {1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, o := NewWithT(t), newOrder(SlotsOf(c.workers))
			g.Expect(o.fill("shop")).To(HaveLen(c.ofNamespace))
			o.fill("office")
			all := o.fill("home")
			g.Expect(all).To(HaveLen(c.ofAll))
			g.Expect(o.takeSlot(request(all[0]))).To(BeTrue(), "it has one")
			o.finish(all...)
			o.expectNothingLeft(g)
		})
	}
}

func TestWhatWaitsForASlotGetsItInTurn(t *testing.T) {
	t.Parallel()
	g, o := NewWithT(t), newOrder(Slots{OfNamespace: 2, OfAll: 3})
	o.fill("shop")
	o.fill("office")
	g.Expect(o.all).To(Equal(3))
	o.refuse(g, 0, "shop/1", "shop/2", "shop/3", "home/1", "home/2")
	g.Expect(o.handOut(9)).To(BeEmpty(), "nothing asks again by itself")

	o.finish("office/holds-0") // shop has as many as it may have
	g.Expect(o.handOut(9)).To(Equal([]string{"home/1"}))
	g.Expect(o.takeSlot(request("home/1"))).To(BeTrue(), "it is handed out with a slot")
	o.finish("shop/holds-0")
	o.add(request("office/new"), 0)
	g.Expect(o.handOut(1)).To(Equal([]string{"office/new"}))
	g.Expect(o.takeSlot(request("office/new"))).To(BeFalse(), "others wait for the one that is free")
	g.Expect(o.takeSlot(request("office/new"))).To(BeFalse())
	o.finish("office/new")
	g.Expect(o.handOut(9)).To(Equal([]string{"shop/1"}))
	o.finish("shop/1")
	g.Expect(o.handOut(9)).To(Equal([]string{"home/2"}), "home had its turn before shop")
	o.finish("home/1")
	g.Expect(o.handOut(9)).To(Equal([]string{"office/new"}), "and office has not had one since it waits")
	o.finish("home/2")
	g.Expect(o.handOut(9)).To(Equal([]string{"shop/2"}))
	o.finish("office/new", "shop/2")
	g.Expect(o.handOut(9)).To(Equal([]string{"shop/3"}))
	o.finish("shop/3", "shop/holds-1")
	o.expectNothingLeft(g)
}

func TestWhatChangesWhileItWaitsForASlotIsLookedAt(t *testing.T) {
	t.Parallel()
	g, o := NewWithT(t), newOrder(SlotsOf(1))
	o.fill("shop")
	o.refuse(g, 0, "shop/1", "shop/2", "shop/3")

	// The object is small now, or gone.
	o.addAll(0, "shop/2", "shop/2")
	g.Expect(o.handOut(9)).To(Equal([]string{"shop/2"}))
	o.finish("shop/2")
	// It is as large as before, and keeps its place; an event during its reconcile makes it run once more.
	o.addAll(-100, "shop/1")
	g.Expect(o.handOut(9)).To(Equal([]string{"shop/1"}))
	g.Expect(o.takeSlot(request("shop/1"))).To(BeFalse())
	o.addAll(-100, "shop/1")
	o.finish("shop/1")
	req, priority, _ := o.pop()
	g.Expect(req).To(Equal(request("shop/1")))
	g.Expect(priority).To(BeZero())
	g.Expect(o.takeSlot(request("shop/1"))).To(BeFalse())
	o.finish("shop/1")
	g.Expect(o.handOut(9)).To(BeEmpty())

	o.finish("shop/holds-0")
	g.Expect(o.handOut(9)).To(Equal([]string{"shop/1"}))
	o.addAll(-100, "shop/1") // since it was handed out
	o.finish("shop/1")
	g.Expect(o.handOut(1)).To(Equal([]string{"shop/3"}))
	req, priority, _ = o.pop()
	g.Expect(req).To(Equal(request("shop/1")))
	g.Expect(priority).To(Equal(-100))
	o.finish("shop/1", "shop/3")
	o.expectNothingLeft(g)
}

// TestOneWorkerIsSharedByLargeAndSmall checks that neither large nor small requests starve the others.
func TestOneWorkerIsSharedByLargeAndSmall(t *testing.T) {
	t.Parallel()
	g, o := NewWithT(t), newOrder(SlotsOf(1))
	o.fill("shop")
	o.refuse(g, 0, "shop/large-1", "shop/large-2", "shop/large-3")
	o.addAll(0, "office/1", "office/2")
	o.finish("shop/holds-0")
	var got []string
	for range 5 {
		next := o.handOut(1)
		got = append(got, next...)
		o.finish(next...)
	}
	g.Expect(got).To(Equal([]string{"shop/large-1", "office/1", "shop/large-2", "office/2", "shop/large-3"}))
	o.expectNothingLeft(g)
}

// TestNothingIsLostOrHandedOutTwice plays random sequences of operations, many times.
func TestNothingIsLostOrHandedOutTwice(t *testing.T) {
	t.Parallel()
	const workers = 5
	for seed := range uint64(300) {
		g, o, dice := NewWithT(t), newOrder(SlotsOf(workers)), rand.New(rand.NewPCG(seed, 1))
		g.Expect(o.slots).To(Equal(Slots{OfNamespace: 2, OfAll: 3}))
		// owed are the requests that were added, or refused a slot, since their last reconcile, and held those with a
		// worker.
		owed, held := map[reconcile.Request]bool{}, map[reconcile.Request]bool{}
		add := func() {
			req := request(fmt.Sprintf("ns-%d/%d", dice.IntN(3), dice.IntN(4)))
			o.add(req, []int{0, 0, -100}[dice.IntN(3)])
			owed[req] = true
		}
		begin := func() {
			req, _, ok := o.pop()
			if !ok {
				return
			}
			if held[req] || !owed[req] {
				t.Fatalf("seed %d: %s is handed out twice, or for nothing", seed, req)
			}
			delete(owed, req)
			held[req] = true
			if dice.IntN(2) == 0 && !o.takeSlot(req) {
				owed[req] = true
			}
		}
		end := func() {
			for req := range held {
				o.done(req)
				delete(held, req)
				break
			}
		}
		for range 200 {
			switch {
			case dice.IntN(3) == 0:
				add()
			case len(held) < workers && dice.IntN(2) == 0:
				begin()
			default:
				end()
			}
			ofAll, ofOne := 0, map[string]int{}
			for req, it := range o.items {
				if it.hasSlot {
					ofAll++
					ofOne[req.Namespace]++
				}
				if it.hasSlot && !held[req] || ofOne[req.Namespace] > o.slots.OfNamespace {
					t.Fatalf("seed %d: %s has a slot, one of %v", seed, req, ofOne)
				}
			}
			if ofAll != o.all || ofAll > o.slots.OfAll {
				t.Fatalf("seed %d: %d slots are held, and %d are counted", seed, ofAll, o.all)
			}
		}
		for range 10_000 {
			if len(owed)+len(held) == 0 {
				break
			}
			begin()
			end()
		}
		g.Expect(owed).To(BeEmpty(), "seed %d", seed)
		o.expectNothingLeft(g)
	}
}
