package rollout

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/catchup"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// ofShop is the rollout of an application in a shop.
func ofShop(name string) slotKey {
	return slotKey{kind: fairleadv1alpha1.KindStagedRollout, name: types.NamespacedName{Namespace: "shop", Name: name}}
}

// waits are clusters that wait, the first for the longest.
func waits(names ...string) slotsOf {
	out := slotsOf{strategy: "night", busy: sets.Set[string]{}}
	for i, name := range names {
		out.queue = append(out.queue, catchup.Waiting{Cluster: name, Since: noon.Add(time.Duration(i) * time.Minute)})
	}
	return out
}

// ask has a rollout decide that takes every place that it may have; it returns these, and what it
// has then.
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

func TestWhatCouldNotBeWrittenTakesNoPlace(t *testing.T) {
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
