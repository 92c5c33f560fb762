package execution

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/prose"
)

// readAgain is the interval at which objects of a kind that cannot be watched are read, with up to a fifth of jitter.
const readAgain = time.Minute

// Watches tells which kinds of the member cannot be watched, so that their informers may be outdated.
type Watches interface {
	// Lost returns why a kind cannot be watched in a namespace, or in all if that is empty: a reason for a condition,
	// and a message that says what to do. Both are empty if it can.
	Lost(kind schema.GroupVersionKind, namespace string) (reason, message string)
	// Subscribe calls f whenever that has changed for a kind. f must not block.
	Subscribe(f func(kind schema.GroupVersionKind))
}

// allWatched reports that all kinds can be watched.
type allWatched struct{}

func (allWatched) Lost(schema.GroupVersionKind, string) (reason, message string) { return "", "" }
func (allWatched) Subscribe(func(schema.GroupVersionKind))                       {}

// Lost returns why the informer of an object cannot be trusted, or has ended; empty if it can, or if there is none.
func (k *kinds) Lost(name plan.Object) (reason, message string) {
	k.mu.Lock()
	one, ok := k.known[name.GroupVersionKind]
	k.mu.Unlock()
	switch {
	case !ok:
		return "", ""
	case one.closed:
		return workv1alpha1.ReasonKindNotServed, unknownKind(name)
	}
	if shown := one.of(name.Namespace); shown != nil {
		return shown.lost()
	}
	return "", ""
}

// IsRefused returns whether the agent may not watch a kind, or the member does not serve it, in at least one of the
// namespaces to which the agent is confined.
func (k *kinds) IsRefused(kind schema.GroupVersionKind) bool {
	k.mu.Lock()
	one, ok := k.known[kind]
	k.mu.Unlock()
	if !ok || one.closed {
		return ok
	}
	for _, shown := range one.informers {
		if reason, _ := shown.lost(); reason == workv1alpha1.ReasonWatchForbidden || reason == workv1alpha1.ReasonKindNotServed {
			return true
		}
	}
	return false
}

// isGone returns whether the member answered to the watch of a kind that it does not serve it, even if the watch has
// ended since.
func (k *kinds) isGone(name plan.Object) bool {
	reason, _ := k.Lost(name)
	return reason == workv1alpha1.ReasonKindNotServed
}

// Close ends the watch of a kind that the member does not serve, since it would be refused for ever.
func (k *kinds) Close(ctx context.Context, gvk schema.GroupVersionKind) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, ok := k.known[gvk]
	if !ok || one.closed {
		return nil
	}
	if err := k.remove(ctx, gvk); err != nil {
		return err
	}
	waitOver := make(chan struct{})
	close(waitOver)
	k.known[gvk] = &kind{closed: true, works: one.works, waitOver: waitOver}
	return nil
}

// remove stops the informers of a kind, in all caches: the kind may be gone, so its scope is not known.
func (k *kinds) remove(ctx context.Context, gvk schema.GroupVersionKind) error {
	for _, c := range slices.AppendSeq([]cache.Cache{k.cache}, maps.Values(k.confined)) {
		if err := c.RemoveInformer(ctx, prototype(gvk)); err != nil {
			return fmt.Errorf("ending the watch of %s in the member: %w", gvk.Kind, err)
		}
	}
	return nil
}

func (k *kinds) isLost(name plan.Object) bool {
	reason, _ := k.Lost(name)
	return reason != ""
}

// Works returns the Works that contain a kind.
func (k *kinds) Works(gvk schema.GroupVersionKind) []types.NamespacedName {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, ok := k.known[gvk]
	if !ok {
		return nil
	}
	out := make([]types.NamespacedName, 0, len(one.works))
	for work := range one.works {
		if work != pastWork() {
			out = append(out, work)
		}
	}
	return out
}

// watchesSource enqueues the Works of a kind whose watch was lost or regained.
func (r *Reconciler) watchesSource() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.kinds.watches.Subscribe(func(kind schema.GroupVersionKind) {
			for _, work := range r.kinds.Works(kind) {
				req := reconcile.Request{NamespacedName: work}
				r.backoff.Forget(req)
				kube.EnqueueLast(queue, req)
			}
		})
		return nil
	})
}

// notWatched returns the condition about the kinds of a Work that cannot be watched. It has no status if there are
// none.
func (r *Reconciler) notWatched(manifests []plan.Manifest) metav1.Condition {
	out := metav1.Condition{Type: workv1alpha1.WorkNotWatched}
	var messages []string
	for _, m := range manifests {
		reason, message := r.kinds.Lost(m.Object)
		if reason == "" || slices.Contains(messages, message) {
			continue
		}
		if out.Status == "" {
			out.Status, out.Reason = metav1.ConditionTrue, reason
		}
		messages = append(messages, message)
	}
	if out.Status != "" {
		out.Message = prose.Cut("Some objects of the member cannot be watched and are read about once a minute instead: "+
			strings.Join(messages, "; ")+". The agent tries again by itself", prose.OfCondition)
	}
	return out
}

// look returns an object of a suspended Work, nil if there is none, and whether that is reliable: from the informer,
// or from the member if the informer cannot be trusted. If the object may not be read, nothing else is known.
func (r *Reconciler) look(ctx context.Context, name plan.Object) (obj *unstructured.Unstructured, known bool) {
	if !r.kinds.isLost(name) {
		return r.kinds.Get(name)
	}
	obj, err := readBy(ctx, r.reader, name)
	if err == nil {
		return slimmed(obj), true
	}
	result, _ := classify(name, err)
	return nil, result != plan.Unanswered
}
