package status

import (
	"context"
	"slices"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/status/aggregate"
)

// Delays between a cause and a reconcile.
const (
	// batchDelay batches the reports of several clusters into one write. It counts from the first report; later ones do not extend it.
	batchDelay = 15 * time.Millisecond
	// batchMore is added to batchDelay for each cluster of a binding, up to batchMost: the size of a write grows with the number of
	// clusters, so the number of writes must not.
	batchMore = 500 * time.Microsecond
	batchMost = 2 * time.Second
	// silenceMore and silenceMost are the same for clusters that fall silent or are heard from again. When a region is lost, hundreds
	// fall silent within a minute, and each write lists all of them. This may wait longer, because silence is detected late anyway.
	silenceMore = 4 * time.Millisecond
	silenceMost = 5 * time.Second
	// settleDown lets the clusters report on a change of the binding, so that one write covers both the new generation and its reports.
	settleDown = 500 * time.Millisecond
	// forOthers is how long the first report of a cluster waits for those of the others; under load they are that far apart.
	forOthers = time.Second
)

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// watch sets up the stage's watches.
func (r *Reconciler) watch(b *builder.Builder) *builder.Builder {
	return b.
		Watches(&workv1alpha1.Work{}, r.workHandler()).
		Watches(&clusterv1alpha1.Cluster{}, r.clusterHandler()).
		Watches(&workv1alpha2.ResourceBinding{}, r.bindingHandler()).
		Watches(&workv1alpha2.ClusterResourceBinding{}, r.bindingHandler()).
		WatchesRawSource(kube.RulesChanged(r.interpreter, r.rulesChanged))
}

// rulesChanged enqueues the bindings of the kinds whose aggregation rules changed.
func (r *Reconciler) rulesChanged(ctx context.Context, affects func(schema.GroupVersionKind) bool, q requests) {
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := kind.List(ctx, r.hubClient)
		if err != nil {
			return // the cache is stopping
		}
		for _, b := range found {
			if affects(kindOf(b.BindingSpec().Resource)) {
				r.pending.markPending(client.ObjectKeyFromObject(b))
				kube.EnqueueLast(q, requestFor(b))
			}
		}
	}
}

// clusterHandler enqueues the bindings that name a cluster when it falls silent or is heard from again, behind the changes of people and
// members, and with a delay that batches several clusters. It does not check whether a binding shows an item of the cluster: for a binding
// in thousands of clusters that would take time linear in their number for each cluster, while the batch is reconciled once.
func (r *Reconciler) clusterHandler() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
		before, ok := e.ObjectOld.(*clusterv1alpha1.Cluster)
		after, ok2 := e.ObjectNew.(*clusterv1alpha1.Cluster)
		if !ok || !ok2 || disruption.SilentSince(before).Equal(disruption.SilentSince(after)) {
			return
		}
		for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
			found, err := kind.Naming(ctx, r.hubClient, after.Name)
			if err != nil {
				return // the cache is stopping
			}
			for _, b := range found {
				kube.EnqueueLastAfter(q, gatheringSilence(width(b)), requestFor(b))
			}
		}
	}}
}

// workHandler enqueues the binding of a Work when the cluster reports something or the Work is deleted. A new Work has no report yet.
func (r *Reconciler) workHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q requests) {
			if work, ok := e.Object.(*workv1alpha1.Work); ok && len(work.Status.Conditions) > 0 {
				r.ask(ctx, q, work) // reported before this hub began to watch, so since when it waits is unknown
			}
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(*workv1alpha1.Work)
			if !ok {
				return
			}
			after, ok := e.ObjectNew.(*workv1alpha1.Work)
			if !ok {
				return
			}
			if key, ok := bindings.KeyOf(after); ok && before.Generation != after.Generation {
				r.renders.work(key, r.clock.Now())
			}
			if !apiequality.Semantic.DeepEqual(before.Status, after.Status) ||
				(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) {
				r.begin(after)
				r.ask(ctx, q, after)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q requests) { r.ask(ctx, q, e.Object) },
	}
}

// begin records the arrival of a report for the metric.
func (r *Reconciler) begin(work *workv1alpha1.Work) {
	if key, ok := bindings.KeyOf(work); ok {
		r.awaited.begin(key, r.clock.Now())
	}
}

// ask enqueues the binding of a Work.
func (r *Reconciler) ask(ctx context.Context, q requests, work client.Object) {
	key, ok := bindings.KeyOf(work)
	if !ok {
		return
	}
	b, clusters := kube.BindingsIn(key.Namespace).New(), 0
	if err := r.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy); err == nil {
		clusters = width(b)
	}
	q.AddAfter(reconcile.Request{NamespacedName: key}, gathering(clusters))
}

// gathering returns for how long reports on a binding are batched, given its number of clusters. Reports of thousands of clusters arrive
// over seconds, and each write covers all of them.
func gathering(clusters int) time.Duration {
	return min(batchDelay+time.Duration(clusters)*batchMore, batchMost)
}

// gatheringSilence returns for how long changes between silent and heard from are batched, given the binding's number of clusters.
func gatheringSilence(clusters int) time.Duration {
	return min(batchDelay+time.Duration(clusters)*silenceMore, silenceMost)
}

// width returns roughly how many clusters the status of a binding covers.
func width(b kube.Binding) int {
	return max(len(b.BindingSpec().Clusters), len(b.BindingStatus().AggregatedStatus))
}

// bindingHandler enqueues a binding when its targets change, and with a longer delay when anything else in its spec does. A new binding
// has no targets yet; it is enqueued after ReportGrace, because its status must say so if it never gets any.
func (r *Reconciler) bindingHandler() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) {
			b, ok := e.Object.(kube.Binding)
			switch {
			case !ok:
			case len(bindings.Places(b.BindingSpec())) > 0:
				q.AddAfter(requestFor(b), batchDelay)
			default:
				q.AddAfter(requestFor(b), aggregate.ReportGrace) // by then it has targets or needs a status
			}
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) {
			before, ok := e.ObjectOld.(kube.Binding)
			if !ok {
				return
			}
			after, ok := e.ObjectNew.(kube.Binding)
			if !ok {
				return
			}
			r.bindings.Seen(client.ObjectKeyFromObject(after), after)
			switch {
			case !slices.Equal(bindings.Places(before.BindingSpec()), bindings.Places(after.BindingSpec())):
				q.AddAfter(requestFor(after), batchDelay)
			case before.GetGeneration() != after.GetGeneration():
				r.renders.begin(client.ObjectKeyFromObject(after), r.clock.Now())
				q.AddAfter(requestFor(after), settleDown)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requests) {
			r.bindings.Gone(client.ObjectKeyFromObject(e.Object), e.Object)
			q.Add(requestFor(e.Object))
		},
	}
}

func requestFor(b client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(b)}
}
