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

// Rules tells whether the hub's interpreter rules are known. Until then the interpreter may not know of all fields
// that belong to the member, and what is overwritten once is lost.
type Rules interface {
	// Awaits returns why an existing object of the member must not be changed yet, for a Work from the journal or
	// from the hub, and whether that has lasted long enough to report it; empty if it may be changed.
	Awaits(journaled bool) (why string, lasts bool)
	// Subscribe calls f whenever Works may have less to wait for. f must not block.
	Subscribe(f func())
}

// ruled tracks the Works that wait for rules.
type ruled struct {
	rules Rules // nil if there is nothing to wait for

	mu    sync.Mutex
	works map[types.NamespacedName]struct{}
}

func newRuled(rules Rules) *ruled {
	return &ruled{rules: rules, works: map[types.NamespacedName]struct{}{}}
}

// Awaits returns why a Work waits, and records that it does.
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
	return r.rules.Awaits(journaled) // asked after recording, since the rules may have arrived meanwhile
}

// Take returns the waiting Works and removes them.
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

// awaitRules leaves an existing object of the member alone while it is not known which of its fields belong to the
// member; nil if it is known. Objects that do not exist can be created without rules.
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

// rulesSource enqueues the Works that waited for rules.
func (r *Reconciler) rulesSource() source.Source {
	return source.Func(func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if r.rules.rules == nil {
			return nil
		}
		r.rules.rules.Subscribe(func() { r.wake(r.rules.Take()) })
		return nil
	})
}
