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

// need is something that many Works may wait for: a kind, or a namespace.
type need struct {
	kind      schema.GroupVersionKind
	namespace string
}

// prerequisites remembers what the member was found not to have. However many Works wait for the
// same, the member is asked for it by one of them at a time and ever more slowly; once
// it is there, all of them are told.
type prerequisites struct {
	mu      sync.Mutex
	missing map[need]*absence
}

// absence is one need that is not met.
type absence struct {
	tries int
	next  time.Time
	works map[types.NamespacedName]struct{}
	// unserved says that the member said so to a request.
	unserved bool
}

func newPrerequisites() *prerequisites { return &prerequisites{missing: map[need]*absence{}} }

// Ask says whether a Work may ask the member for something: it may if nobody found it
// missing, or if it is time to look again. Otherwise the Work is told when it is there.
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
	a.next = now.Add(a.pause()) // the others wait for the answer to this one
	return true
}

// Unserved notes that the member said to a request that it does not serve a kind, and IsUnserved says so until it does: what was found out of that
// kind before may hold no more.
func (n *prerequisites) Unserved(of need, work types.NamespacedName, now time.Time) {
	n.Missing(of, work, now)
	n.mu.Lock()
	defer n.mu.Unlock()
	if a, ok := n.missing[of]; ok {
		a.unserved = true
	}
}

// IsUnserved says whether that was noted.
func (n *prerequisites) IsUnserved(of need) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	a, missing := n.missing[of]
	return missing && a.unserved
}

// Missing notes that the member does not have what a Work needs.
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

// Met notes that the member has something, and returns the Works that waited for it.
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

// Group has it asked for the kinds of a group at once, one of which may have come, and
// returns the Works that wait for them.
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

// Forget notes that a Work waits for nothing any more.
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

// arrived tells the Works that wait for what an object brings: a namespace, or the
// definition of a kind.
func (r *Reconciler) arrived(live *unstructured.Unstructured) {
	switch name := plan.ObjectOf(live); {
	case name.Group == "" && name.Kind == "Namespace" && live.GetDeletionTimestamp() == nil:
		r.wake(r.prerequisites.Met(need{namespace: name.Name}))
	case name.Group == "apiextensions.k8s.io" && name.Kind == "CustomResourceDefinition":
		if _, group, ok := strings.Cut(name.Name, "."); ok { // it is called PLURAL.GROUP
			r.wake(r.prerequisites.Group(group))
		}
	}
}

// wake has Works looked at now.
func (r *Reconciler) wake(works []types.NamespacedName) {
	for _, work := range works {
		req := reconcile.Request{NamespacedName: work}
		r.backoff.Forget(req)
		if r.queue != nil {
			r.queue.Add(req)
		}
	}
}
