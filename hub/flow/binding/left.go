package binding

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/lru"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

const (
	// maxGone is how many of the last deleted bindings are remembered. Their Works are noticed within seconds. Works of forgotten ones
	// stay.
	maxGone = 16 << 10
	// logLeftAfter is when the remaining Works are logged. By then the cache shows the bindings of new Works.
	logLeftAfter = time.Minute
	// maxLeftNamed is how many of them are named.
	maxLeftNamed = 3
)

// gone are the bindings that this process saw deleted, by their permanent ids. There is no other evidence that the binding of a Work was
// deleted: a missing binding may be lost, or not be restored yet. The zero value is ready; it is safe for concurrent use.
type gone struct {
	mu   sync.Mutex
	last *lru.Cache
}

// departed is what is known of a deleted binding.
type departed struct {
	// resource is its template, requirers are the bindings of workloads that needed it, and byMany says that there were others.
	resource  workv1alpha2.ObjectReference
	requirers []types.NamespacedName
	byMany    bool
	// preserves says in which clusters its object stays, unless its policy, given by name and permanent id, preserves it everywhere by now.
	preserves func(cluster string) bool
	policy    types.NamespacedName
	policyID  string
}

func (g *gone) add(b kube.Binding) {
	id, spec, requirers := bindings.IDOf(b), b.BindingSpec(), bindings.Requirers(b)
	if id == "" {
		return
	}
	policy, policyID := bindings.PolicyOn(b)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		g.last = lru.New(maxGone)
	}
	g.last.Add(id, &departed{
		resource: spec.Resource, requirers: requirers, byMany: len(requirers) < len(spec.RequiredBy),
		preserves: bindings.Preserving(spec), policy: policy, policyID: policyID,
	})
}

// find returns what is known of the deleted binding with a permanent id; nil if none was seen to be deleted.
func (g *gone) find(id string) *departed {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.last == nil {
		return nil
	}
	found, _ := g.last.Get(id)
	was, _ := found.(*departed)
	return was
}

// left are the Works without a binding that stay as they are, until they are logged. The zero value is ready; it is safe for concurrent
// use.
type left struct {
	mu    sync.Mutex
	works sets.Set[types.NamespacedName]
	// logged says that some were logged, after which no more are added.
	logged bool
}

// add adds a Work, and returns whether it is the first one. Then the caller must see to the logging.
func (l *left) add(work types.NamespacedName) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.logged {
		return false
	}
	first := l.works == nil
	if first {
		l.works = sets.Set[types.NamespacedName]{}
	}
	l.works.Insert(work)
	return first
}

// take removes all Works, and returns those for which isLeft returns true.
func (l *left) take(isLeft func(types.NamespacedName) bool) []types.NamespacedName {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []types.NamespacedName
	for work := range l.works {
		if isLeft(work) {
			out = append(out, work)
		}
	}
	l.works, l.logged = nil, len(out) > 0
	return out
}

// logLeft logs the remaining Works, and how to delete them.
func (r *reconciler) logLeft(ctx context.Context) {
	works := r.strays.left.take(func(name types.NamespacedName) bool {
		w := &workv1alpha1.Work{}
		return r.hubClient.Get(ctx, name, w, client.UnsafeDisableDeepCopy) == nil && w.DeletionTimestamp.IsZero() && !r.hasBinding(ctx, w)
	})
	if len(works) == 0 || ctx.Err() != nil {
		return
	}
	first := works[0]
	ctrl.LoggerFrom(ctx).Info("Kept Works that have no binding: this hub did not see the deletion of the binding, so it deletes nothing",
		"kind", r.kind.Kind, "count", len(works), "someOfThem", works[:min(len(works), maxLeftNamed)],
		"toDeleteOneWithItsObject", fmt.Sprintf("kubectl annotate work -n %s %s %s=%s && kubectl delete work -n %[1]s %[2]s",
			first.Namespace, first.Name, contract.DeletionIntentAnnotation, contract.DeletionRemoved),
		"toDeleteOneAndKeepItsObject", fmt.Sprintf("kubectl delete work -n %s %s", first.Namespace, first.Name))
}
