package execution

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"fairlead.dev/agent/execution/plan"
)

// workChanges lets pass what asks for something: a Work that is new, whose spec changed,
// that is being deleted or is gone. What we write ourselves, the status and the
// finalizers, asks for nothing.
func workChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
				(e.ObjectOld.GetDeletionTimestamp() == nil && e.ObjectNew.GetDeletionTimestamp() != nil)
		},
	}
}

// memberSource hands the queue of the controller to the handlers of the member's
// informers, which come and go while it runs.
func (r *Reconciler) memberSource() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.queue = queue
		return nil
	})
}

// memberHandler hears of managed objects of the member. It tells the reporter, and
// enqueues the Work of an object that is no longer as we left it.
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
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if live, ok := obj.(*unstructured.Unstructured); ok {
				r.gone(live)
			}
		},
	}
}

// seen is called for an object that appeared (old is nil) or changed.
func (r *Reconciler) seen(old, live *unstructured.Unstructured) {
	if owner, ok := r.ownWork(live); ok {
		r.reporter.Observe(owner, live)
	}
	record, tracked := r.memory.Record(plan.ObjectOf(live))
	switch {
	case !tracked: // the Work itself will be reconciled, and look
		return
	case record != nil && record.Describes(live): // our own write, or a change of status
		return
	case record != nil && record.UID == live.GetUID() && plan.Older(live.GetResourceVersion(), record.ResourceVersion):
		return // the watch is behind us
	case old != nil && plan.Content(old) == plan.Content(live) && plan.Marks(old) == plan.Marks(live):
		return // a change of status
	}
	r.enqueue(live)
	if old != nil { // somebody may have made it the object of another Work
		r.enqueue(old)
	}
}

// gone is called for an object that was deleted, or lost its managed label.
func (r *Reconciler) gone(last *unstructured.Unstructured) {
	if owner, ok := r.ownWork(last); ok {
		r.reporter.Gone(owner, last)
	}
	recorded, tracked := r.memory.Lose(plan.ObjectOf(last), last.GetUID(), last.GetResourceVersion())
	if recorded {
		r.metrics.drift.Inc()
	}
	if tracked {
		r.enqueue(last)
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
