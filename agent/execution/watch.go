package execution

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
)

// Slim is the transform of the cache of managed objects: it drops what is not used.
func Slim(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		plan.Slim(u)
	}
	return obj, nil
}

// memberHandler handles events of the member's managed objects. It informs the reporter, and enqueues the Work of an
// object that is no longer as we left it.
func (r *Reconciler) memberHandler() toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if live, ok := obj.(*unstructured.Unstructured); ok {
				r.seen(nil, live)
			}
		},
		UpdateFunc: func(before, obj any) {
			live, ok := obj.(*unstructured.Unstructured)
			old, okOld := before.(*unstructured.Unstructured)
			if ok && okOld && old.GetResourceVersion() != live.GetResourceVersion() {
				r.seen(old, live)
			}
		},
		DeleteFunc: func(obj any) {
			unknown, unseen := obj.(toolscache.DeletedFinalStateUnknown)
			if unseen {
				obj = unknown.Obj
			}
			if live, ok := obj.(*unstructured.Unstructured); ok {
				if unseen { // later versions than this one may have been applied, before or after it disappeared
					r.memory.MarkStale(plan.ObjectOf(live))
				}
				r.gone(live)
			}
		},
	}
}

// rulesChanged makes objects be applied once more whose fields that belong to the member have changed.
func (r *Reconciler) rulesChanged(
	_ context.Context, affects func(schema.GroupVersionKind) bool, queue workqueue.TypedRateLimitingInterface[reconcile.Request],
) {
	retains := func(kind schema.GroupVersionKind) bool { return r.interpreter.Has(kind, interpreter.Retain) }
	for _, work := range r.memory.Invalidate(affects, retains) {
		kube.EnqueueLast(queue, reconcile.Request{NamespacedName: work})
	}
}

// seen handles an object that appeared (old is nil) or changed.
func (r *Reconciler) seen(old, live *unstructured.Unstructured) {
	r.arrived(live)
	if owner, ok := r.ownWork(live); ok {
		r.reporter.Observe(owner, live)
	}
	record, tracked := r.memory.Record(plan.ObjectOf(live))
	switch {
	case !tracked: // if a Work contains it, the Work's own reconcile checks it
		r.unclaimed.Look()
		return
	case record != nil && record.Describes(live): // our own write, or changes that do not concern us
		return
	case record != nil && record.UID == live.GetUID() && contract.Older(live.GetResourceVersion(), record.ResourceVersion):
		return // the watch lags behind our write
	case old != nil && plan.Content(old) == plan.Content(live) && plan.Marks(old) == plan.Marks(live) &&
		(old.GetDeletionTimestamp() == nil) == (live.GetDeletionTimestamp() == nil):
		return // a change of status
	}
	r.enqueue(live)
	if old != nil { // somebody may have assigned it to another Work
		r.enqueue(old)
	}
}

// gone handles an object that was deleted, or lost its managed label.
func (r *Reconciler) gone(last *unstructured.Unstructured) {
	r.pendingDeletions.Gone(last.GetUID())
	if owner, ok := r.ownWork(last); ok {
		r.reporter.Gone(owner, last)
	}
	if r.memory.RecordDeletion(plan.ObjectOf(last), last.GetUID(), last.GetResourceVersion()) {
		r.enqueue(last)
	} else {
		r.unclaimed.Look()
	}
}

func (r *Reconciler) enqueue(obj *unstructured.Unstructured) {
	if owner, ok := r.ownWork(obj); ok && r.queue != nil {
		r.queue.Add(reconcile.Request{NamespacedName: owner})
	}
}

// ownWork returns the Work that an object names, if it is one of this member's.
func (r *Reconciler) ownWork(obj *unstructured.Unstructured) (types.NamespacedName, bool) {
	owner, ok := plan.WorkOf(obj)
	return owner, ok && owner.Namespace == r.namespace
}
