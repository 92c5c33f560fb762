package rollout

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/rollout/catchup"
)

// slots are the places for clusters that catch up, over all rollouts of a strategy. They follow
// what is written, and one decision at a time takes some of them. It is safe for use by many
// goroutines.
type slots struct {
	mu     sync.Mutex
	loaded bool
	// rollouts are the rollouts that have places or wait for some: each decision looks at all of them, and most rollouts do neither.
	rollouts map[slotKey]slotsOf
	// wake has the rollouts of a kind looked at whose clusters wait for a place.
	wake map[string]func(types.NamespacedName)
}

type slotKey struct {
	kind string
	name types.NamespacedName
}

// slotsOf are those of one rollout.
type slotsOf struct {
	strategy string
	busy     sets.Set[string]
	queue    []catchup.Waiting
}

func newSlots() *slots {
	return &slots{rollouts: map[slotKey]slotsOf{}, wake: map[string]func(types.NamespacedName){}}
}

// load reads the places that are taken, once: those that the hub before this one gave.
func (p *slots) load(list func() (map[slotKey]slotsOf, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded {
		return nil
	}
	found, err := list()
	if err != nil {
		return err
	}
	for key, of := range found {
		p.put(key, of)
	}
	p.loaded = true
	return nil
}

// put takes over which places a rollout has and waits for.
func (p *slots) put(key slotKey, of slotsOf) {
	if of.busy.Len()+len(of.queue) == 0 {
		delete(p.rollouts, key)
		return
	}
	p.rollouts[key] = of
}

// decide has a decision made with the places that its rollout may have, and takes them: until
// settle is called they are as the decision wants them.
func (p *slots) decide(key slotKey, now slotsOf, most int, f func(sets.Set[string]) slotsOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(key, now)
	in := catchup.Input{Max: most, Busy: sets.Set[string]{}}
	for _, of := range p.rollouts {
		if of.strategy == now.strategy {
			maps.Copy(in.Busy, of.busy)
			in.Queue = append(in.Queue, of.queue...)
		}
	}
	p.put(key, f(catchup.Slots(in)))
}

// settle says what was written in the end. If places became free, or the queue is another one, those
// who wait are looked at again.
func (p *slots) settle(key slotKey, before, after slotsOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(key, after)
	if before.strategy == after.strategy && after.busy.IsSuperset(before.busy) && len(before.queue) <= len(after.queue) {
		return
	}
	p.wakeOthers(key, before.strategy)
}

// forget drops a rollout that is no more.
func (p *slots) forget(kind string, name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := slotKey{kind: kind, name: name}
	before, takes := p.rollouts[key]
	if !takes {
		return
	}
	delete(p.rollouts, key)
	p.wakeOthers(key, before.strategy)
}

func (p *slots) wakeOthers(but slotKey, strategy string) {
	for key, of := range p.rollouts {
		if key != but && of.strategy == strategy && len(of.queue) > 0 && p.wake[key.kind] != nil {
			p.wake[key.kind](key.name)
		}
	}
}

// freed is a source that asks for the rollouts of a kind when places for them became free.
func (p *slots) freed(kind kube.BindingKind) source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wake[rolloutsOf(kind).Kind] = func(name types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: name}) }
		return nil
	})
}

// rolloutsOf is the kind of the rollouts of a kind of binding.
func rolloutsOf(kind kube.BindingKind) kube.RolloutKind {
	if kind.Kind == kube.ResourceBindings().Kind {
		return kube.StagedRollouts()
	}
	return kube.ClusterStagedRollouts()
}

// takenBy reads from a status which places a rollout has and waits for.
func takenBy(status *fairleadv1alpha1.StagedRolloutStatus, since func(cluster string) catchup.Waiting) slotsOf {
	out := slotsOf{strategy: status.Strategy, busy: sets.Set[string]{}}
	for i := range status.Clusters {
		group := &status.Clusters[i]
		switch {
		case group.State == fairleadv1alpha1.ClusterCatchingUp && group.Reason == "":
			out.busy.Insert(group.Names...)
		case group.State == fairleadv1alpha1.ClusterReturning && group.Reason == fairleadv1alpha1.ClusterReasonSlot:
			for _, name := range group.Names {
				out.queue = append(out.queue, since(name))
			}
		}
	}
	slices.SortFunc(out.queue, func(a, b catchup.Waiting) int { return a.Since.Compare(b.Since) })
	return out
}
