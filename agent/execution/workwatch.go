package execution

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// hubSource enqueues the Works of the hub. Unlike the usual source it does not wait for the hub: an agent that starts
// without it uses the journal. It also provides the queue to the member's informers, which come and go.
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

// awaitHub enqueues the Works once the hub was read and, if that takes long, those of the journal before. A hub that
// refuses this agent does not count as unreachable.
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
		} else { // it changed since
			r.queue.Add(req)
		}
		delete(kept, name)
	}
	for name := range kept { // those that the hub does not have
		kube.EnqueueLast(r.queue, reconcile.Request{NamespacedName: name})
	}
	r.tryRecount(ctx) // a hold may have been withdrawn meanwhile
}

// goOn enqueues the Works of the journal, since the hub is unreachable.
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

// sameGeneration returns whether a Work has the same spec as before.
func sameGeneration(old, work *workv1alpha1.Work) bool {
	return old.UID == work.UID && old.Generation == work.Generation && work.DeletionTimestamp.IsZero()
}

// workHandler handles events of Works. Those of the first list are enqueued when it is complete.
func (r *Reconciler) workHandler() toolscache.ResourceEventHandler {
	enqueue := func(work *workv1alpha1.Work) {
		// Before that they would only be postponed.
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

// asks returns whether a change of a Work calls for a reconcile: its spec changed (even without a new generation, on
// a restored hub that assigns one a second time), its deletion began or, on a restored hub, was undone, the
// deletion's intent or the permission to delete contents changed, or it is another Work. The agent's own writes,
// status and finalizers, do not count.
func asks(old, work *workv1alpha1.Work) bool {
	return old.Generation != work.Generation || old.UID != work.UID || !sameSpec(&old.Spec, &work.Spec) ||
		old.DeletionTimestamp.IsZero() != work.DeletionTimestamp.IsZero() ||
		contract.DeletesObjects(old.Annotations) != contract.DeletesObjects(work.Annotations) ||
		old.Annotations[contract.DeleteContentsAnnotation] != work.Annotations[contract.DeleteContentsAnnotation]
}

// sameSpec compares the specs of two Works. Most share their manifests.
func sameSpec(a, b *workv1alpha1.WorkSpec) bool {
	return ptr.Equal(a.SuspendDispatching, b.SuspendDispatching) && ptr.Equal(a.PreserveResourcesOnDeletion, b.PreserveResourcesOnDeletion) &&
		slices.EqualFunc(a.Workload.Manifests, b.Workload.Manifests, func(a, b workv1alpha1.Manifest) bool { return bytes.Equal(a.Raw, b.Raw) })
}
