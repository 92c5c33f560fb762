package dependencies

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	toolscache "k8s.io/client-go/tools/cache"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// changed records the old and the new clusters of a binding, and requests its namespace if necessary.
func (n *namespaces) changed(ctx context.Context, was, is sets.Set[string], namespace string, q namespaceQueue) {
	n.targets.change(namespace, was, is)
	n.ask(ctx, was, is, namespace, q)
}

// ask requests the namespace of a binding whose clusters changed: at once if the namespace is missing in one of them, and after a delay,
// together with others, if the binding left one. It requests nothing for thousands of bindings in clusters that already have the namespace.
func (n *namespaces) ask(ctx context.Context, was, is sets.Set[string], namespace string, q namespaceQueue) {
	if !is.IsSuperset(was) {
		q.AddAfter(namespace, untilLeft)
	}
	if !n.follows(ctx, namespace, is) {
		q.Add(namespace)
	}
}

// follows returns whether the cache shows that a namespace is propagated to clusters. If another writer changes that, the event of its
// binding requests the namespace.
func (n *namespaces) follows(ctx context.Context, namespace string, to sets.Set[string]) bool {
	b := kube.ClusterResourceBindings().New()
	key := client.ObjectKey{Name: contract.BindingName(namespaceKind().Kind, namespace)}
	if to.Len() > 0 {
		if err := n.hubClient.Get(ctx, key, b, client.UnsafeDisableDeepCopy); err != nil || b.GetDeletionTimestamp() != nil {
			return false
		}
	}
	return targetsOf(b).IsSuperset(to)
}

// targetsOf returns all clusters of a binding, its own and those of workloads that need it; none if it is being deleted.
func targetsOf(b kube.Binding) sets.Set[string] {
	if b.GetDeletionTimestamp() != nil {
		return nil
	}
	targets := bindings.Targets(b.BindingSpec())
	out := make(sets.Set[string], len(targets))
	for i := range targets {
		out.Insert(targets[i].Name)
	}
	return out
}

// askForNamespace requests the namespace of a binding that another writer changed or deleted.
func askForNamespace(b *workv1alpha2.ClusterResourceBinding, q namespaceQueue) {
	if plan.KindOf(b) == namespaceKind() {
		q.Add(b.Spec.Resource.Name)
	}
}

// came requests the namespaces for a new cluster. At the start of the hub every namespace is reconciled anyway, once all clusters are
// cached. Searching for the namespaces of each cluster would take time in proportion to clusters times quotas, or namespaces.
func (n *namespaces) came(ctx context.Context, e event.TypedCreateEvent[*clusterv1alpha1.Cluster], q namespaceQueue) {
	switch {
	case e.IsInInitialList:
	case n.all:
		n.askForAll(ctx, q)
	default:
		n.askForQuotas(ctx, e.Object.Name, q)
	}
}

// askForQuotas requests the namespaces whose quotas have a part for a new cluster.
func (r *Reconciler) askForQuotas(ctx context.Context, cluster string, q namespaceQueue) {
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := r.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		// This is called only after the cache has started, so the list succeeds.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for FederatedResourceQuotas after a Cluster came")
		return
	}
	for i := range list.Items {
		if _, ok := assigned(&list.Items[i])[cluster]; ok {
			q.Add(list.Items[i].Namespace)
		}
	}
}

// askForAll requests every namespace for a new Cluster, if each must have all of them.
func (n *namespaces) askForAll(ctx context.Context, q namespaceQueue) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(namespaceKind())
	if err := n.reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		// This is called only after the cache has started, so the list succeeds.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for namespaces after a Cluster came")
		return
	}
	for i := range list.Items {
		q.Add(list.Items[i].Name)
	}
}

// askForFollowers requests the namespaces that were in a cluster which is gone.
func (r *Reconciler) askForFollowers(ctx context.Context, cluster string, q namespaceQueue) {
	found, err := kube.ClusterResourceBindings().Naming(ctx, r.hubClient, cluster)
	if err != nil {
		// This is called only after the cache has started, so the list succeeds.
		ctrl.LoggerFrom(ctx).Error(err, "Looking for the namespaces in a Cluster that is gone")
		return
	}
	for _, b := range found {
		if plan.KindOf(b) == namespaceKind() && bindings.IsTarget(b.BindingSpec(), cluster) {
			q.Add(b.BindingSpec().Resource.Name)
		}
	}
}

// watchNamespaces requests a namespace when its metadata changes, as long as the hub runs.
func watchNamespaces(ctx context.Context, informers *watchset.MetadataInformers, q namespaceQueue) error {
	informer, err := informers.Hold(ctx, namespaceKind())
	if err != nil {
		return err
	}
	ask := func(obj any) {
		if ns, ok := obj.(*metav1.PartialObjectMetadata); ok {
			q.Add(ns.Name)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: ask, UpdateFunc: func(_, now any) { ask(now) },
	})
	if err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	return nil
}
