package execution

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
)

// need is a prerequisite that many Works may wait for: a kind, or a namespace.
type need struct {
	kind      schema.GroupVersionKind
	namespace string
}

// prerequisites tracks what the member was found to lack. However many Works wait for the same thing, only one of
// them at a time asks the member for it, with growing delays; once it exists, all of them are woken.
type prerequisites struct {
	mu      sync.Mutex
	missing map[need]*absence
}

// absence is a need that is not met.
type absence struct {
	tries int
	next  time.Time
	works map[types.NamespacedName]struct{}
	// unserved says that the member answered a request that it does not serve the kind.
	unserved bool
}

func newPrerequisites() *prerequisites { return &prerequisites{missing: map[need]*absence{}} }

// Ask returns whether a Work may ask the member for something: if it was not found missing, or a retry is due.
// Otherwise the Work is woken when it appears.
func (n *prerequisites) Ask(of need, work types.NamespacedName, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.missing[of]
	if !ok {
		return true
	}
	a.works[work] = struct{}{}
	if now.Before(a.next) {
		return false
	}
	a.next = now.Add(a.pause()) // the others wait for this answer
	return true
}

// Unserved records that the member answered a request that it does not serve a kind; IsUnserved returns true until it
// does. What discovery found about the kind before may be outdated.
func (n *prerequisites) Unserved(of need, work types.NamespacedName, now time.Time) {
	n.Missing(of, work, now)
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.missing[of]; ok {
		a.unserved = true
	}
}

// IsUnserved returns whether Unserved was called for a need that is still missing.
func (n *prerequisites) IsUnserved(of need) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, missing := n.missing[of]
	return missing && a.unserved
}

// Missing records that the member lacks what a Work needs.
func (n *prerequisites) Missing(of need, work types.NamespacedName, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.missing[of]
	if !ok {
		a = &absence{works: map[types.NamespacedName]struct{}{}}
		n.missing[of] = a
	}
	a.works[work] = struct{}{}
	a.tries++
	a.next = now.Add(a.pause())
}

// Met records that the member has something, and returns the Works that waited for it.
func (n *prerequisites) Met(of need) []types.NamespacedName {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, ok := n.missing[of]
	if !ok {
		return nil
	}
	delete(n.missing, of)
	out := make([]types.NamespacedName, 0, len(a.works))
	for work := range a.works {
		out = append(out, work)
	}
	return out
}

// Group makes the next request for any missing kind of a group due at once, since one may have appeared, and returns
// the Works that wait for them.
func (n *prerequisites) Group(group string) []types.NamespacedName {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []types.NamespacedName
	for of, a := range n.missing {
		if of.namespace != "" || of.kind.Group != group {
			continue
		}
		a.tries, a.next = 0, time.Time{}
		for work := range a.works {
			out = append(out, work)
		}
	}
	return out
}

// Forget records that a Work no longer waits for anything.
func (n *prerequisites) Forget(work types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for of, a := range n.missing {
		if delete(a.works, work); len(a.works) == 0 {
			delete(n.missing, of)
		}
	}
}

func (a *absence) pause() time.Duration {
	pause := firstRetry
	for i := 1; i < a.tries && pause < lastRetry; i++ {
		pause *= 2
	}
	return min(pause, lastRetry)
}

// arrived wakes the Works that wait for what an object provides: a namespace, or the definition of a kind.
func (r *Reconciler) arrived(live *unstructured.Unstructured) {
	switch name := plan.ObjectOf(live); {
	case name.Group == "" && name.Kind == "Namespace" && live.GetDeletionTimestamp() == nil:
		r.wake(r.prerequisites.Met(need{namespace: name.Name}))
	case name.Group == "apiextensions.k8s.io" && name.Kind == "CustomResourceDefinition":
		if _, group, ok := strings.Cut(name.Name, "."); ok { // its name is PLURAL.GROUP
			r.wake(r.prerequisites.Group(group))
		}
	}
}

// wake enqueues Works immediately.
func (r *Reconciler) wake(works []types.NamespacedName) {
	for _, work := range works {
		req := reconcile.Request{NamespacedName: work}
		r.backoff.Forget(req)
		if r.queue != nil {
			r.queue.Add(req)
		}
	}
}
