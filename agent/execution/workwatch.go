package execution

import (
	"context"
	"fmt"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// hubSource feeds the controller with the Works of the hub. Other than the usual source
// it does not wait for the hub: an agent that starts without it goes by the journal.
// It hands the queue to the member's informers, too, which come and go.
func (r *Reconciler) hubSource(c cache.Cache) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.queue = queue
		informer, err := c.GetInformer(ctx, &workv1alpha1.Work{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching Works: %w", err)
		}
		registration, err := informer.AddEventHandler(r.workHandler())
		if err != nil {
			return fmt.Errorf("watching Works: %w", err)
		}
		go r.awaitHub(ctx, registration.HasSyncedChecker().Done())
		return nil
	})
}

// awaitHub has the Works looked at once the hub was heard, and those of the journal
// before, if that takes long. A hub that refuses this agent is not away.
func (r *Reconciler) awaitHub(ctx context.Context, heard <-chan struct{}) {
	for isHeard, isAway := false, false; !isHeard; {
		var timeout <-chan time.Time
		if !isAway {
			timeout = r.clock.After(r.hubTimeout)
		}
		select {
		case <-ctx.Done():
			return
		case <-heard:
			isHeard = true
		case <-timeout:
			if !r.rests(ctx, journal) {
				isAway = true
				r.goOn(ctx)
			}
		}
	}
	all, kept := r.works.arrive()
	for _, work := range all {
		name := client.ObjectKeyFromObject(work)
		req := reconcile.Request{NamespacedName: name}
		if old, ok := kept[name]; ok && sameGeneration(old, work) {
			kube.EnqueueLast(r.queue, req)
		} else { // somebody changed it since
			r.queue.Add(req)
		}
		delete(kept, name)
	}
	for name := range kept { // what the hub does not have
		kube.EnqueueLast(r.queue, reconcile.Request{NamespacedName: name})
	}
	r.tryRecount(ctx) // what was held before may have been withdrawn meanwhile
}

// goOn has the Works of the journal looked at, since the hub cannot be reached.
func (r *Reconciler) goOn(ctx context.Context) {
	kept := r.works.giveUp()
	if len(kept) == 0 {
		return
	}
	ctrl.LoggerFrom(ctx).Info("The hub cannot be reached; going on with the Works of the journal", "works", len(kept))
	for _, name := range kept {
		r.queue.Add(reconcile.Request{NamespacedName: name})
	}
}

// sameGeneration says whether a Work still asks for what it asked for.
func sameGeneration(old, work *workv1alpha1.Work) bool {
	return old.UID == work.UID && old.Generation == work.Generation && work.DeletionTimestamp.IsZero()
}

// workHandler hears of changes of Works. Those that are there at first are looked at when
// all of them were heard.
func (r *Reconciler) workHandler() toolscache.ResourceEventHandler {
	enqueue := func(work *workv1alpha1.Work) {
		// Before all were heard it would only be put off.
		if !r.works.Collect(work) {
			r.queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(work)})
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			if work, ok := obj.(*workv1alpha1.Work); ok {
				enqueue(work)
			}
		},
		UpdateFunc: func(before, obj any) {
			old, okOld := before.(*workv1alpha1.Work)
			work, ok := obj.(*workv1alpha1.Work)
			if ok && okOld && asks(old, work) {
				if old.UID != work.UID {
					r.works.Replace(old)
				}
				enqueue(work)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			work, ok := obj.(*workv1alpha1.Work)
			if !ok {
				return
			}
			if r.works.MarkAbsent(work) {
				r.journal.Remove(client.ObjectKeyFromObject(work))
			}
			enqueue(work)
		},
	}
}

// asks says whether a change of a Work asks for something: its spec changed, it is being
// deleted, or, on a hub that was restored, no longer, the hub says that it means that, or people
// say what may go with it, or it is another one. What we write ourselves, the status and the finalizers, asks for nothing.
func asks(old, work *workv1alpha1.Work) bool {
	return old.Generation != work.Generation || old.UID != work.UID ||
		old.DeletionTimestamp.IsZero() != work.DeletionTimestamp.IsZero() ||
		contract.DeletesObjects(old.Annotations) != contract.DeletesObjects(work.Annotations) ||
		old.Annotations[contract.DeleteContentsAnnotation] != work.Annotations[contract.DeleteContentsAnnotation]
}
