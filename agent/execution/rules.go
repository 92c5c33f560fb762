package execution

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/agent/execution/plan"
)

// Rules says whether it is known what kinds mean on the hub. Until then, what the interpreter says belongs to the member may be too little, and
// what is overwritten once is lost.
type Rules interface {
	// Awaits says why an object that the member has is not to be changed yet, for a Work of the journal or for one of the hub, and whether that
	// has lasted for so long that people are to be told; empty if it may be changed.
	Awaits(journaled bool) (why string, lasts bool)
	// Subscribe has f called whenever less may be awaited than before. f must not wait.
	Subscribe(f func())
}

// ruled knows which Works wait for rules.
type ruled struct {
	rules Rules // nil if none are awaited

	mu    sync.Mutex
	works map[types.NamespacedName]struct{}
}

func newRuled(rules Rules) *ruled {
	return &ruled{rules: rules, works: map[types.NamespacedName]struct{}{}}
}

// Awaits says for what a Work waits, and notes that it does.
func (r *ruled) Awaits(work types.NamespacedName, journaled bool) (why string, lasts bool) {
	if r.rules == nil {
		return "", false
	}
	if why, _ = r.rules.Awaits(journaled); why == "" {
		return "", false
	}
	r.mu.Lock()
	r.works[work] = struct{}{}
	r.mu.Unlock()
	return r.rules.Awaits(journaled) // they may have come before it was noted
}

// Take returns the Works that wait, and forgets them.
func (r *ruled) Take() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]types.NamespacedName, 0, len(r.works))
	for work := range r.works {
		out = append(out, work)
	}
	clear(r.works)
	return out
}

// awaitRules leaves an object that the member has as it is while it is not known what of it belongs to the member; nil if it is. What the member
// does not have can be made without that.
func (r *Reconciler) awaitRules(work types.NamespacedName, m plan.Manifest, live plan.Live) *step {
	why, lasts := r.rules.Awaits(work, m.Kept)
	if why == "" {
		return nil
	}
	out := step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object, Result: plan.Unanswered, Message: why}, live: live.Object}
	if lasts {
		out.outcome.Result = plan.Waiting
	}
	r.count(out.outcome.Result)
	return &out
}

// rulesSource has the Works looked at again that waited for rules.
func (r *Reconciler) rulesSource() source.Source {
	return source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if r.rules.rules == nil {
			return nil
		}
		r.rules.rules.Subscribe(func() { r.wake(r.rules.Take()) })
		return nil
	})
}
