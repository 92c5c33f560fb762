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

// slots allots the slots for clusters that catch up, which all rollouts of a strategy share. They follow the written statuses, and one
// decision at a time takes some. It is safe for concurrent use.
type slots struct {
	mu     sync.Mutex
	loaded bool
	// rollouts are only the rollouts that have slots or wait for some, since each decision iterates over all of them.
	rollouts map[slotKey]slotsOf
	// wake enqueues a rollout whose clusters wait for a slot, by kind.
	wake map[string]func(types.NamespacedName)
}

type slotKey struct {
	kind string
	name types.NamespacedName
}

// slotsOf are the slots of one rollout, and its clusters that wait for one.
type slotsOf struct {
	strategy string
	busy     sets.Set[string]
	queue    []catchup.Waiting
}

func newSlots() *slots {
	return &slots{rollouts: map[slotKey]slotsOf{}, wake: map[string]func(types.NamespacedName){}}
}

// load reads once which slots are taken, as allotted by an earlier hub.
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
	for key, taken := range found {
		p.put(key, taken)
	}
	p.loaded = true
	return nil
}

// put takes over which places a rollout has and waits for.
func (p *slots) put(key slotKey, taken slotsOf) {
	if taken.busy.Len()+len(taken.queue) == 0 {
		delete(p.rollouts, key)
		return
	}
	p.rollouts[key] = taken
}

// decide calls f with the slots that a rollout may use, and takes those that f returns. They are provisional until settle is called.
func (p *slots) decide(key slotKey, now slotsOf, most int, f func(sets.Set[string]) slotsOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(key, now)
	in := catchup.Input{Max: most, Busy: sets.Set[string]{}}
	for _, taken := range p.rollouts {
		if taken.strategy == now.strategy {
			maps.Copy(in.Busy, taken.busy)
			in.Queue = append(in.Queue, taken.queue...)
		}
	}
	p.put(key, f(catchup.Slots(in)))
}

// settle sets the slots of a rollout as they were written. If slots became free, the queue shrank or the strategy changed, it enqueues the
// rollouts that wait.
func (p *slots) settle(key slotKey, before, after slotsOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.put(key, after)
	if before.strategy == after.strategy && after.busy.IsSuperset(before.busy) && len(before.queue) <= len(after.queue) {
		return
	}
	p.wakeOthers(key, before.strategy)
}

// forget drops a deleted rollout.
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
	for key, taken := range p.rollouts {
		if key != but && taken.strategy == strategy && len(taken.queue) > 0 && p.wake[key.kind] != nil {
			p.wake[key.kind](key.name)
		}
	}
}

// freed returns a source that enqueues waiting rollouts of a kind when slots became free.
func (p *slots) freed(kind kube.BindingKind) source.Source {
	return source.Func(func(_ context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wake[rolloutsOf(kind).Kind] = func(name types.NamespacedName) { q.Add(reconcile.Request{NamespacedName: name}) }
		return nil
	})
}

// rolloutsOf returns the kind of rollouts for a kind of bindings.
func rolloutsOf(kind kube.BindingKind) kube.RolloutKind {
	if kind.Kind == kube.ResourceBindings().Kind {
		return kube.StagedRollouts()
	}
	return kube.ClusterStagedRollouts()
}

// takenBy reads from a status which slots a rollout has and waits for.
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
