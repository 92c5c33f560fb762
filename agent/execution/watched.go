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

// readAgain is how often the objects of a Work are read whose kind cannot be watched, at most a fifth more.
const readAgain = time.Minute

// Watches says which kinds of the member cannot be watched: what their informers show was so once, and may be of any age.
type Watches interface {
	// Lost returns why a kind cannot be watched in a namespace, or in all where that is empty: a reason for a condition, and a sentence that says
	// what to do. Both are empty if it can.
	Lost(kind schema.GroupVersionKind, namespace string) (reason, message string)
	// Subscribe has f called whenever that has changed for a kind. f must not wait.
	Subscribe(f func(kind schema.GroupVersionKind))
}

// allWatched says that all kinds can be watched.
type allWatched struct{}

func (allWatched) Lost(schema.GroupVersionKind, string) (reason, message string) { return "", "" }
func (allWatched) Subscribe(func(schema.GroupVersionKind))                       {}

// Lost says why the informer that shows an object cannot be trusted, or has ended; empty if it can, or if there is none.
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

// isGone says whether the member said of a kind that it does not serve it, to whom watched it, also if its watch has ended for that.
func (k *kinds) isGone(name plan.Object) bool {
	reason, _ := k.Lost(name)
	return reason == workv1alpha1.ReasonKindNotServed
}

// Close ends the watch of a kind that the member does not serve, which would be refused for ever.
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

// remove ends the informers of a kind. It may be gone, so nobody says where it was.
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
		out = append(out, work)
	}
	return out
}

// watchesSource has Works looked at whose objects are not watched any more, or are watched again.
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

// notWatched says of which kinds of a Work the member lets the agent watch no objects. It has no status if there is none.
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
		out.Message = prose.Cut("Not seen as they change, but read about once a minute, are objects of which the member refuses a watch: "+
			strings.Join(messages, "; ")+". This is tried again by itself", prose.OfCondition)
	}
	return out
}

// look returns an object of a Work that rests, nil if there is none, and whether that is so now: by the informer, or by the member where the
// informer cannot be trusted. Of an object that may not be read that is all that can be known.
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
