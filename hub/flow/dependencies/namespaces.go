package dependencies

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// namespaces propagates each namespace to the clusters of the objects in it, which need their namespace there.
type namespaces struct {
	*Reconciler

	reader client.Reader
	// targets are, for each namespace, the clusters of the bindings in it.
	targets targetCounts
	// all sends every namespace to every cluster.
	all bool
}

// untilLeft is the delay before a namespace is reconciled when an object in it left a cluster, since many may leave at once.
const untilLeft = time.Second

func namespaceKind() schema.GroupVersionKind { return corev1.SchemeGroupVersion.WithKind("Namespace") }

func registerNamespaces(mgr manager.Manager, r *Reconciler, deps Deps) error {
	n := &namespaces{Reconciler: r, reader: mgr.GetCache(), all: deps.AllNamespaces}
	c, err := kube.NewTypedController(mgr, "namespaces", 1, n, func(name string) []any {
		return []any{"Namespace", name}
	})
	if err != nil {
		return err
	}
	for _, src := range []source.TypedSource[string]{
		source.TypedFunc[string](func(ctx context.Context, q namespaceQueue) error { return watchNamespaces(ctx, deps.Informers, q) }),
		source.TypedKind(mgr.GetCache(), &workv1alpha2.ResourceBinding{}, handler.TypedFuncs[*workv1alpha2.ResourceBinding, string]{
			CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*workv1alpha2.ResourceBinding], q namespaceQueue) {
				n.changed(ctx, nil, targetsOf(e.Object), e.Object.Namespace, q)
			},
			UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*workv1alpha2.ResourceBinding], q namespaceQueue) {
				if e.ObjectOld.Generation != e.ObjectNew.Generation || e.ObjectOld.UID != e.ObjectNew.UID {
					n.changed(ctx, targetsOf(e.ObjectOld), targetsOf(e.ObjectNew), e.ObjectNew.Namespace, q)
				}
			},
			DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*workv1alpha2.ResourceBinding], _ namespaceQueue) {
				n.targets.change(e.Object.Namespace, targetsOf(e.Object), nil)
			},
		}),
		source.TypedKind(mgr.GetCache(), &policyv1alpha1.FederatedResourceQuota{}, handler.TypedFuncs[*policyv1alpha1.FederatedResourceQuota, string]{
			CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*policyv1alpha1.FederatedResourceQuota], q namespaceQueue) {
				q.Add(e.Object.Namespace)
			},
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*policyv1alpha1.FederatedResourceQuota], q namespaceQueue) {
				if e.ObjectOld.Generation != e.ObjectNew.Generation {
					q.Add(e.ObjectNew.Namespace)
				}
			},
		}),
		source.TypedKind(mgr.GetCache(), &clusterv1alpha1.Cluster{}, handler.TypedFuncs[*clusterv1alpha1.Cluster, string]{
			CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*clusterv1alpha1.Cluster], q namespaceQueue) {
				n.came(ctx, e, q)
			},
			DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*clusterv1alpha1.Cluster], q namespaceQueue) {
				r.askForFollowers(ctx, e.Object.Name, q)
			},
		}),
		source.TypedKind(mgr.GetCache(), &workv1alpha2.ClusterResourceBinding{}, handler.TypedFuncs[*workv1alpha2.ClusterResourceBinding, string]{
			UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*workv1alpha2.ClusterResourceBinding], q namespaceQueue) {
				if drifted(e.ObjectOld, e.ObjectNew) {
					askForNamespace(e.ObjectNew, q)
				}
			},
			DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*workv1alpha2.ClusterResourceBinding], q namespaceQueue) {
				askForNamespace(e.Object, q)
			},
		}),
	} {
		if err := c.Watch(src); err != nil {
			return fmt.Errorf("registering the namespaces of the dependencies stage: %w", err)
		}
	}
	return nil
}

// Reconcile attaches one namespace to the objects in it.
func (n *namespaces) Reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	ns := kube.MetadataOf(namespaceKind())
	err := n.reader.Get(ctx, types.NamespacedName{Name: name}, ns)
	switch {
	case apierrors.IsNotFound(err):
		return reconcile.Result{}, nil // if the watch is only late, it will report the namespace
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("reading namespace %q: %w", name, err)
	case ns.DeletionTimestamp != nil, n.stays(ns):
		return reconcile.Result{}, nil
	}
	clusters, err := n.clusters(ctx, name)
	if err != nil {
		return reconcile.Result{}, err
	}
	key := plan.Object{Kind: namespaceKind(), Meta: ns}.Binding()
	b, err := n.bindingAt(ctx, key)
	if err != nil {
		return reconcile.Result{}, err
	}
	switch {
	case b == nil && len(clusters) == 0:
		return reconcile.Result{}, nil
	case b == nil:
		return reconcile.Result{}, n.create(ctx, ns, clusters)
	case b.GetDeletionTimestamp() != nil, ownerOf(b) != "" && ownerOf(b) != ns.UID:
		return reconcile.Result{}, nil // the end of its deletion triggers a reconcile
	}
	return reconcile.Result{}, n.update(ctx, b, ns, clusters)
}

// create creates the binding of a namespace.
func (n *namespaces) create(ctx context.Context, ns *metav1.PartialObjectMetadata, clusters sets.Set[string]) error {
	b := kube.ClusterResourceBindings().New()
	attach.ToContents(b, namespaceKind(), ns, clusters, func(string) bool { return false }, newID()) // it was in no cluster before
	if err := n.hubClient.Create(ctx, b, client.FieldOwner(contract.FieldManagerDependencies)); err != nil {
		if apierrors.IsAlreadyExists(err) { // the cache is stale
			err = apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("clusterresourcebindings").GroupResource(), b.GetName(), err)
		}
		return fmt.Errorf("creating binding %q: %w", b.GetName(), err)
	}
	n.remember(b)
	ctrl.LoggerFrom(ctx).Info("Set the clusters of a namespace to those of its objects", "clusters", len(clusters))
	return nil
}

// update updates the binding of a namespace.
func (n *namespaces) update(ctx context.Context, b kube.Binding, ns *metav1.PartialObjectMetadata, clusters sets.Set[string]) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	before := attach.Places(b, types.NamespacedName{Namespace: ns.Name})
	look := kube.ClusterLookup(ctx, n.hubClient)
	attach.ToContents(b, namespaceKind(), ns, clusters, func(name string) bool {
		cluster, failed := look(name)
		err = cmp.Or(err, failed)
		return cluster != nil
	}, newID())
	if err != nil {
		return err
	}
	if err := n.confirmGone(ctx, before.Difference(attach.Places(b, types.NamespacedName{Namespace: ns.Name}))); err != nil {
		return err
	}
	wrote, err := edit.Commit(ctx, n.hubClient, contract.FieldManagerDependencies)
	if err != nil {
		return err
	}
	if wrote {
		n.remember(b)
		ctrl.LoggerFrom(ctx).Info("Set the clusters of a namespace to those of its objects", "clusters", len(clusters))
	}
	return nil
}

// stays returns whether a namespace is never propagated by itself: the default namespace, which every cluster has, those of the hub, and
// those with the label.
func (n *namespaces) stays(ns *metav1.PartialObjectMetadata) bool {
	return ns.Name == metav1.NamespaceDefault || strings.EqualFold(ns.Labels[contract.SkipAutoPropagationLabel], contract.LabelTrue) ||
		n.exclusions.Excludes(targetOf(plan.Object{Kind: namespaceKind(), Meta: ns}))
}

// clusters returns the clusters for a namespace: those of the bindings in it, and those with a part of its quota, which the quotas stage
// propagates without a binding; or all clusters.
func (n *namespaces) clusters(ctx context.Context, namespace string) (sets.Set[string], error) {
	if n.all {
		return n.everywhere(ctx)
	}
	out := n.targets.clusters(namespace)
	return out, n.addQuotas(ctx, namespace, out)
}

// everywhere returns all clusters that are not being removed.
func (n *namespaces) everywhere(ctx context.Context) (sets.Set[string], error) {
	clusters, err := kube.Clusters(ctx, n.hubClient)
	if err != nil {
		return nil, err
	}
	out := make(sets.Set[string], len(clusters))
	for _, c := range clusters {
		if c.DeletionTimestamp == nil {
			out.Insert(c.Name)
		}
	}
	return out, nil
}

// addQuotas adds the clusters that have a part of the quota of a namespace. Clusters that do not exist are left out, or the binding would
// wait for them forever.
func (n *namespaces) addQuotas(ctx context.Context, namespace string, to sets.Set[string]) error {
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := n.hubClient.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the quotas of %q: %w", namespace, err)
	}
	for i := range list.Items {
		for name := range assigned(&list.Items[i]) {
			err := n.hubClient.Get(ctx, client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{}, client.UnsafeDisableDeepCopy)
			switch {
			case err == nil:
				to.Insert(name)
			case !apierrors.IsNotFound(err):
				return fmt.Errorf("reading cluster %q: %w", name, err)
			}
		}
	}
	return nil
}

// assigned returns the clusters that a quota names.
func assigned(quota *policyv1alpha1.FederatedResourceQuota) map[string]struct{} {
	out := make(map[string]struct{}, len(quota.Spec.StaticAssignments))
	for i := range quota.Spec.StaticAssignments {
		out[quota.Spec.StaticAssignments[i].ClusterName] = struct{}{}
	}
	return out
}
