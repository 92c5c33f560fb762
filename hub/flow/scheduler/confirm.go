package scheduler

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/hub/flow/scheduler/hints"
)

// Removing an application from a member cannot be undone without loss. The cache of a hub that has just become the leader may be older
// than the last writes of the leader before it: it may lack a cluster that joined, or have former labels of a cluster or a namespace.
// So before a decision drops clusters, what it saw of them is compared with a live read. Only such decisions pay for that.

const (
	// readSingly is the greatest number of Clusters that are read one by one. More are listed.
	readSingly = 20
	// perPage is the page size of that list, which returns metadata only.
	perPage = 1000
)

// basis is what a decision was based on, from a cache that may be outdated.
type basis struct {
	// clusters are sorted by name.
	clusters []*clusterv1alpha1.Cluster
	// namespace is the binding's; nil if it has none.
	namespace *corev1.Namespace
	// byAPI says that clusters which do not serve the kind were rejected, except those in pending, to which this hub propagates its
	// definition.
	byAPI   bool
	pending bindings.Clusters
}

// saw returns a cluster as the decision saw it; nil if it saw none of that name.
func (s *basis) saw(name string) *clusterv1alpha1.Cluster {
	if i, found := searchCluster(s.clusters, name); found {
		return s.clusters[i]
	}
	return nil
}

// dropped returns the clusters that an application leaves by a decision, at once or gracefully.
func dropped(spec *workv1alpha2.ResourceBindingSpec, d decide.Decision) sets.Set[string] {
	out := sets.New[string]()
	if !moves(spec, d) {
		return out
	}
	for i := range spec.Clusters {
		out.Insert(spec.Clusters[i].Name)
	}
	for i := range d.Targets {
		out.Delete(d.Targets[i].Name)
	}
	for i := range d.Leave {
		out.Insert(d.Leave[i].Cluster)
	}
	return out
}

// behind returns the error for a cache that is behind the API server, upon which the binding is reconciled again.
func behind(cluster string) error {
	return kube.CacheBehind(clusterv1alpha1.GroupVersion.WithResource("clusters").GroupResource(), cluster)
}

// confirm compares what a decision was based on with a live read, before the binding is changed to leave clusters. It returns an error if
// the cache is behind.
func (r *reconciler) confirm(ctx context.Context, b kube.Binding, leaves sets.Set[string], by *basis) error {
	if len(leaves) == 0 {
		return nil
	}
	names := leaves.Clone()
	if by.namespace != nil {
		if allowance := selector.AllowanceOf(by.namespace); allowance != nil {
			if err := r.confirmNamespace(ctx, by.namespace); err != nil {
				return err
			}
			// Check one allowed cluster, too: nothing is left because of an annotation that selects no cluster at all.
			if i := slices.IndexFunc(by.clusters, allowance.Allows); i >= 0 {
				names.Insert(by.clusters[i].Name)
			}
		}
	}
	live, err := r.liveClusters(ctx, names)
	if err != nil {
		return err
	}
	for name := range names {
		if !same(by.saw(name), live[name]) {
			return behind(name)
		}
	}
	return r.confirmAPI(ctx, b, leaves, by)
}

// same returns whether a cluster still has the metadata that a decision saw. The generation covers the spec, such as taints.
func same(saw *clusterv1alpha1.Cluster, is *metav1.PartialObjectMetadata) bool {
	if saw == nil || is == nil {
		return saw == nil && is == nil
	}
	return saw.UID == is.UID && saw.Generation == is.Generation && equality.Semantic.DeepEqual(saw.Labels, is.Labels) &&
		saw.DeletionTimestamp.IsZero() == is.DeletionTimestamp.IsZero()
}

// confirmNamespace compares the clusters that a namespace allows with a live read.
func (r *reconciler) confirmNamespace(ctx context.Context, saw *corev1.Namespace) error {
	is := kube.MetadataOf(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.hubReader.Get(ctx, client.ObjectKeyFromObject(saw), is)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading Namespace %q before an application leaves a cluster: %w", saw.Name, err)
	}
	if err != nil || is.UID != saw.UID || kube.AllowanceChanged(saw, is) {
		return kube.CacheBehind(corev1.Resource("namespaces"), saw.Name)
	}
	return nil
}

// confirmAPI reads live the Clusters that a binding may leave because they do not serve its kind, and whether this hub propagates the
// definition of the kind to them.
func (r *reconciler) confirmAPI(ctx context.Context, b kube.Binding, leaves sets.Set[string], by *basis) error {
	resource, lost := &b.BindingSpec().Resource, lostAPI(b.BindingSpec(), leaves, by)
	if len(lost) == 0 {
		return nil
	}
	pending, err := kube.DefinedIn(ctx, r.hubReader, r.hubClient.RESTMapper(), schema.FromAPIVersionAndKind(resource.APIVersion, resource.Kind))
	if err != nil {
		return err
	}
	for _, saw := range lost {
		is := &clusterv1alpha1.Cluster{}
		err := r.hubReader.Get(ctx, client.ObjectKey{Name: saw.Name}, is)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the APIs of cluster %q before an application leaves it: %w", saw.Name, err)
		}
		if err != nil || pending.Has(saw.Name) || is.UID != saw.UID || hints.Of(saw, is).Event > hints.Capacity {
			return behind(saw.Name)
		}
	}
	return nil
}

// lostAPI returns those of some clusters that a decision may have rejected because, as far as it saw, they do not serve the binding's kind.
func lostAPI(spec *workv1alpha2.ResourceBindingSpec, names sets.Set[string], by *basis) []*clusterv1alpha1.Cluster {
	if !by.byAPI {
		return nil
	}
	var out []*clusterv1alpha1.Cluster
	query := fit.NewQuery(spec, selector.ClusterMatcher{})
	query.APIPending = by.pending
	for _, filter := range fit.Filters() {
		if filter.Name != fit.APIEnablement {
			continue
		}
		for name := range names {
			if saw := by.saw(name); saw != nil && filter.Refuse(query, saw) != "" {
				out = append(out, saw)
			}
		}
	}
	return out
}

// liveClusters reads the metadata of some Clusters live. The result lacks those that do not exist.
func (r *reconciler) liveClusters(ctx context.Context, names sets.Set[string]) (map[string]*metav1.PartialObjectMetadata, error) {
	kind, out := clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster), make(map[string]*metav1.PartialObjectMetadata, len(names))
	if len(names) <= readSingly {
		for name := range names {
			is := kube.MetadataOf(kind)
			err := r.hubReader.Get(ctx, client.ObjectKey{Name: name}, is)
			if client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("reading cluster %q before an application leaves it: %w", name, err)
			}
			if err == nil {
				out[name] = is
			}
		}
		return out, nil
	}
	for next, more := "", true; more; more = next != "" {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster + "List"))
		if err := r.hubReader.List(ctx, list, client.Limit(perPage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing clusters before an application leaves %d of them: %w", len(names), err)
		}
		for i := range list.Items {
			if names.Has(list.Items[i].Name) {
				out[list.Items[i].Name] = &list.Items[i]
			}
		}
		next = list.Continue
	}
	return out, nil
}
