package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/admit"
	"fairlead.dev/hub/flow/rollout/catchup"
	"fairlead.dev/test/builder"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// ofShop is the rollout of an application in a shop.
func ofShop(name string) slotKey {
	return slotKey{kind: fairleadv1alpha1.KindStagedRollout, name: types.NamespacedName{Namespace: "shop", Name: name}}
}

// waits returns waiting clusters, the first of which waits for the longest.
func waits(names ...string) slotsOf {
	out := slotsOf{strategy: "night", busy: sets.Set[string]{}}
	for i, name := range names {
		out.queue = append(out.queue, catchup.Waiting{Cluster: name, Since: noon.Add(time.Duration(i) * time.Minute)})
	}
	return out
}

// ask lets a rollout take every slot that it may have, and returns these, and its slots afterwards.
func ask(p *slots, key slotKey, now slotsOf, most int) (mine []string, after slotsOf) {
	p.decide(key, now, most, func(may sets.Set[string]) slotsOf {
		after = slotsOf{strategy: now.strategy, busy: now.busy.Clone()}
		for _, w := range now.queue {
			if may.Has(w.Cluster) {
				after.busy.Insert(w.Cluster)
			} else {
				after.queue = append(after.queue, w)
			}
		}
		return after
	})
	return sets.List(after.busy), after
}

func TestPlacesAreSharedByAllRolloutsOfAStrategy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := newSlots()
	var woken []string
	p.wake[fairleadv1alpha1.KindStagedRollout] = func(name types.NamespacedName) { woken = append(woken, name.Name) }

	mine, web := ask(p, ofShop("web"), waits("a", "b", "c"), 2)
	g.Expect(mine).To(Equal([]string{"a", "b"}))
	mine, db := ask(p, ofShop("db"), waits("a", "c"), 2)
	g.Expect(mine).To(Equal([]string{"a"}), "a cluster that catches up with all its applications is one, before anything is written")
	other := waits("c")
	other.strategy = "day"
	mine, _ = ask(p, ofShop("other"), other, 2)
	g.Expect(mine).To(Equal([]string{"c"}), "of another strategy")

	p.settle(ofShop("web"), waits("a", "b", "c"), web)
	p.settle(ofShop("db"), waits("a", "c"), db)
	g.Expect(slices.Compact(woken)).To(ConsistOf("web", "db"), "one of them takes less of the queue than was thought")

	woken = nil
	done := slotsOf{strategy: "night", busy: sets.New("b"), queue: web.queue}
	p.settle(ofShop("web"), web, done)
	g.Expect(woken).To(Equal([]string{"db"}))
	mine, _ = ask(p, ofShop("db"), db, 2)
	g.Expect(mine).To(Equal([]string{"a"}), "the other one is not through with that cluster")
	p.forget(fairleadv1alpha1.KindStagedRollout, ofShop("web").name)
	mine, _ = ask(p, ofShop("db"), db, 2)
	g.Expect(mine).To(Equal([]string{"a", "c"}))
}

func TestAFailedWriteTakesNoSlot(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p := newSlots()
	before := waits("a")
	_, _ = ask(p, ofShop("web"), before, 1)
	mine, _ := ask(p, ofShop("db"), waits("b"), 1)
	g.Expect(mine).To(BeEmpty(), "it is about to be written")
	p.settle(ofShop("web"), before, slotsOf{strategy: "night", busy: sets.Set[string]{}})
	mine, _ = ask(p, ofShop("db"), waits("b"), 1)
	g.Expect(mine).To(Equal([]string{"b"}))
}

func TestTheHubThatFollowsFindsThePlacesTaken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	p, times := newSlots(), 0
	load := func() (map[slotKey]slotsOf, error) {
		times++
		return map[slotKey]slotsOf{ofShop("web"): {strategy: "night", busy: sets.New("a")}}, nil
	}
	g.Expect(p.load(load)).To(Succeed())
	g.Expect(p.load(load)).To(Succeed())
	g.Expect(times).To(Equal(1))
	mine, _ := ask(p, ofShop("db"), waits("b"), 1)
	g.Expect(mine).To(BeEmpty())
}

func TestWhichPlacesAStatusTakes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	status := &fairleadv1alpha1.StagedRolloutStatus{Strategy: "night", Clusters: []fairleadv1alpha1.ClusterGroup{
		{State: fairleadv1alpha1.ClusterCatchingUp, Names: []string{"a"}},
		{State: fairleadv1alpha1.ClusterCatchingUp, Reason: fairleadv1alpha1.ClusterReasonDeadline, Names: []string{"failed"}},
		{State: fairleadv1alpha1.ClusterReturning, Reason: fairleadv1alpha1.ClusterReasonSlot, Names: []string{"b"}},
		{State: fairleadv1alpha1.ClusterReturning, Reason: fairleadv1alpha1.ClusterReasonSettling, Names: []string{"c"}},
		{State: fairleadv1alpha1.ClusterSetAside, Names: []string{"d"}},
	}}
	of := takenBy(status, func(name string) catchup.Waiting { return catchup.Waiting{Cluster: name, Since: noon} })
	g.Expect(of.strategy).To(Equal("night"))
	g.Expect(sets.List(of.busy)).To(Equal([]string{"a"}))
	g.Expect(of.queue).To(Equal([]catchup.Waiting{{Cluster: "b", Since: noon}}))
}

// TestPlacesAreThoseOfAllRollouts lets rollouts request slots, get some, return them and end, in random order: the slots that each may
// have, and the rollouts that are woken, must equal those computed from all rollouts, although only few are stored.
func TestPlacesAreThoseOfAllRollouts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := rand.New(rand.NewPCG(21, 6))
	p := newSlots()
	var woken []string
	p.wake[fairleadv1alpha1.KindStagedRollout] = func(name types.NamespacedName) { woken = append(woken, name.Name) }
	all, granted := map[slotKey]slotsOf{}, 0
	waiting := func(but slotKey, strategy string) []string {
		var out []string
		for key, of := range all {
			if key != but && of.strategy == strategy && len(of.queue) > 0 {
				out = append(out, key.name.Name)
			}
		}
		return out
	}
	anything := func(strategy string) slotsOf {
		out := slotsOf{strategy: strategy, busy: sets.Set[string]{}}
		for i := range 5 {
			switch random.IntN(8) {
			case 0:
				out.busy.Insert(fmt.Sprint(i))
			case 1:
				out.queue = append(out.queue, catchup.Waiting{Cluster: fmt.Sprint(i), Since: noon.Add(time.Duration(i) * time.Minute)})
			}
		}
		return out
	}
	for range 3000 {
		key, strategy := ofShop(fmt.Sprint(random.IntN(12))), []string{"night", "day"}[random.IntN(2)]
		woken = nil
		switch random.IntN(3) {
		case 0:
			before, known := all[key]
			delete(all, key)
			p.forget(key.kind, key.name)
			if known && before.busy.Len()+len(before.queue) > 0 {
				g.Expect(woken).To(ConsistOf(waiting(key, before.strategy)))
			} else {
				g.Expect(woken).To(BeEmpty())
			}
		case 1:
			before, after := anything(strategy), anything(strategy)
			all[key] = after
			p.settle(key, before, after)
			if after.busy.IsSuperset(before.busy) && len(before.queue) <= len(after.queue) {
				g.Expect(woken).To(BeEmpty())
			} else {
				g.Expect(woken).To(ConsistOf(waiting(key, strategy)))
			}
		default:
			now, after := anything(strategy), anything(strategy)
			all[key] = now
			want := catchup.Input{Max: 2, Busy: sets.Set[string]{}}
			for _, of := range all {
				if of.strategy == strategy {
					want.Busy = want.Busy.Union(of.busy)
					want.Queue = append(want.Queue, of.queue...)
				}
			}
			p.decide(key, now, want.Max, func(mine sets.Set[string]) slotsOf {
				g.Expect(mine).To(Equal(catchup.Slots(want)))
				granted += mine.Len()
				return after
			})
			all[key] = after
		}
		for key, of := range p.rollouts {
			g.Expect(of).To(Equal(all[key]))
			g.Expect(of.busy.Len()+len(of.queue)).NotTo(BeZero(), "one that takes no place costs the others nothing")
		}
	}
	g.Expect(granted).To(BeNumerically(">", 1000))
}

// BenchmarkPlaces measures requesting a slot when many other applications use the same strategy, of which one in a thousand has a cluster
// that catches up.
func BenchmarkPlaces(b *testing.B) {
	for _, n := range []int{1000, 50000} {
		p := newSlots()
		none := slotsOf{strategy: "night", busy: sets.Set[string]{}}
		for i := range n {
			of := none
			if i%1000 == 0 {
				of.busy = sets.New(fmt.Sprint(i))
			}
			p.settle(ofShop(fmt.Sprint(i)), of, of)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.decide(ofShop("1"), none, 100, func(sets.Set[string]) slotsOf { return none })
			}
		})
	}
}

// BenchmarkPlacesOfAStatus measures reading the slots of a rollout to many clusters, of which every other one waits.
func BenchmarkPlacesOfAStatus(b *testing.B) {
	for _, n := range []int{500, 5000} {
		s := &scope{}
		group := fairleadv1alpha1.ClusterGroup{State: fairleadv1alpha1.ClusterReturning, Reason: fairleadv1alpha1.ClusterReasonSlot}
		for i := range n {
			c := builder.MakeCluster(fmt.Sprintf("edge-%05d", i)).Obj()
			s.in.Clusters = append(s.in.Clusters, admit.Cluster{Cluster: c, HeardSince: noon})
			if i%2 == 0 {
				group.Names = append(group.Names, c.Name)
			}
		}
		status := &fairleadv1alpha1.StagedRolloutStatus{Strategy: "night", Clusters: []fairleadv1alpha1.ClusterGroup{group}}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if of := s.taken(status); len(of.queue) != n/2 {
					b.Fatal(len(of.queue))
				}
			}
		})
	}
}

// TestClustersQueueByWhenTheyReturned holds that since when a cluster that waits is heard from is what was read of that cluster, and
// of one that nothing was read of, now.
func TestClustersQueueByWhenTheyReturned(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &scope{in: admit.Input{Now: noon.Add(time.Hour)}}
	for i, name := range []string{"a", "b", "c", "e"} {
		s.in.Clusters = append(s.in.Clusters, admit.Cluster{Cluster: builder.MakeCluster(name).Obj(), HeardSince: noon.Add(time.Duration(-i) * time.Minute)})
	}
	of := s.taken(&fairleadv1alpha1.StagedRolloutStatus{Clusters: []fairleadv1alpha1.ClusterGroup{
		{State: fairleadv1alpha1.ClusterReturning, Reason: fairleadv1alpha1.ClusterReasonSlot, Names: []string{"d", "a", "c", "e"}},
	}})
	g.Expect(of.queue).To(Equal([]catchup.Waiting{
		{Cluster: "e", Since: noon.Add(-3 * time.Minute)}, {Cluster: "c", Since: noon.Add(-2 * time.Minute)}, {Cluster: "a", Since: noon}, {Cluster: "d", Since: s.in.Now},
	}))
}
