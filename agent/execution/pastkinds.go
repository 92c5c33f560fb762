package execution

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/agent/execution/plan"
)

// Objects of an ended Work reappear when the member is restored from a backup. Their kind may be one that no Work
// contains any more, so that no informer shows them. Therefore the journal keeps the kinds that were ever applied,
// and a starting agent (it also restarts within the process when it finds that the member was restored) watches those
// until it has seen that no objects are left. Having none is no reason to forget a kind: so it is whenever a Work has
// ended properly, and a restore may undo that.

const (
	// maxPastKinds bounds how many kinds are kept. Hardly any member has had as many.
	maxPastKinds = 256
	// lookAgain is the delay before past kinds are checked again that the member could not discover.
	lookAgain = 10 * time.Second
)

// pastKinds are the kinds that were, or are about to be, applied, by this agent or a previous one.
type pastKinds struct {
	mu sync.Mutex
	// all is sorted by first use, oldest first.
	all []schema.GroupVersionKind
	// keep is called with all kinds whenever one is added; it may be nil.
	keep func([]schema.GroupVersionKind)
	// unseen are those still to be checked since the agent started, not before next.
	unseen []schema.GroupVersionKind
	next   time.Time
}

func newPastKinds(all []schema.GroupVersionKind, keep func([]schema.GroupVersionKind)) *pastKinds {
	all = all[:min(len(all), maxPastKinds)]
	return &pastKinds{all: slices.Clone(all), keep: keep, unseen: slices.Clone(all)}
}

// Add records that a kind is about to be applied. used returns whether any Work contains a kind.
func (p *pastKinds) Add(kind schema.GroupVersionKind, used func(schema.GroupKind) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, isNew := withKind(p.all, kind, used)
	if !isNew {
		return
	}
	p.all = all
	if p.keep != nil {
		p.keep(slices.Clone(all))
	}
}

// withKind adds a kind, and returns whether it was new, in any version: the member serves an object in several. If
// there are too many, the oldest one that no Work contains is dropped.
func withKind(all []schema.GroupVersionKind, kind schema.GroupVersionKind, used func(schema.GroupKind) bool) ([]schema.GroupVersionKind, bool) {
	if slices.ContainsFunc(all, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind.GroupKind() }) {
		return all, false
	}
	all = append(slices.Clone(all), kind)
	if len(all) <= maxPastKinds {
		return all, true
	}
	first := max(0, slices.IndexFunc(all[:maxPastKinds], func(k schema.GroupVersionKind) bool { return !used(k.GroupKind()) }))
	return slices.Delete(all, first, first+1), true
}

// due returns the kinds to be checked now.
func (p *pastKinds) due(now time.Time) []schema.GroupVersionKind {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Before(p.next) {
		return nil
	}
	return p.unseen
}

// left records which kinds are still to be checked.
func (p *pastKinds) left(kinds []schema.GroupVersionKind, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unseen, p.next = kinds, now.Add(lookAgain)
}

// pastWork represents the ended Works among those for which a kind is watched. No Work has an empty name.
func pastWork() types.NamespacedName { return types.NamespacedName{} }

// lookAtPastKinds watches the kinds that were once applied and have not been checked since the agent started.
func (r *Reconciler) lookAtPastKinds(ctx context.Context) {
	due := r.kinds.past.due(r.clock.Now())
	if len(due) == 0 {
		return
	}
	var again []schema.GroupVersionKind
	for _, kind := range due {
		object, served, err := r.known(ctx, plan.Object{GroupVersionKind: kind})
		if err == nil && served && !r.isOutside(object) {
			err = r.kinds.Use(ctx, pastWork(), object.GroupVersionKind)
		}
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Could not look for objects that ended Works left behind", "kind", kind.String(), "reason", err.Error())
			again = append(again, kind)
		}
	}
	r.kinds.past.left(again, r.clock.Now())
	r.unclaimed.Look() // some may have been watched and synced before
}

// keepPastKinds keeps watching the kinds without Works that have unclaimed objects, and stops watching the other past
// kinds once they have synced. Kinds that the agent may not watch are checked again at its next start.
func (r *Reconciler) keepPastKinds(ctx context.Context, shown []schema.GroupVersionKind, unclaimed map[schema.GroupVersionKind]struct{}) error {
	still, has := map[schema.GroupVersionKind]struct{}{}, map[schema.GroupKind]struct{}{}
	for kind := range unclaimed {
		if err := r.kinds.Use(ctx, pastWork(), kind); err != nil {
			return err
		}
		has[kind.GroupKind()] = struct{}{}
	}
	for _, kind := range r.kinds.Of(pastWork()) {
		_, isLeft := has[kind.GroupKind()]
		if isLeft || !slices.Contains(shown, kind) && !r.kinds.IsRefused(kind) {
			still[kind] = struct{}{}
		}
	}
	return r.kinds.Keep(ctx, pastWork(), still)
}
