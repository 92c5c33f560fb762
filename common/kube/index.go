package kube

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// Names of the indexes of a hub's cache.
const (
	// WorksByBinding has Works by the permanent id of their binding:
	// client.MatchingFields{kube.WorksByBinding: id}.
	WorksByBinding = "binding-permanent-id"
	// bindingsByCluster has bindings by every cluster that they name: see BindingKind.Naming.
	bindingsByCluster = "clusters"
	// bindingsByRequirer has bindings by every binding whose workload needs their object: see BindingKind.NeededBy.
	bindingsByRequirer = "required-by"
	// bindingsByWait has bindings by the reason why they are not placed: see BindingKind.Waiting.
	bindingsByWait = "waits"
	// anyReason stands there for whatever reason.
	anyReason = "*"
)

// Index adds to a cache the indexes by which the stages of a hub find what a change concerns,
// without looking at everything there is. It is called once, before the cache starts.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, &workv1alpha1.Work{}, WorksByBinding, func(obj client.Object) []string {
		if id := BindingID(obj); id != "" {
			return []string{id}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing works by binding: %w", err)
	}
	for _, kind := range []BindingKind{ResourceBindings(), ClusterResourceBindings()} {
		if err := indexer.IndexField(ctx, kind.New(), bindingsByCluster, clustersNamed); err != nil {
			return fmt.Errorf("indexing %ss by cluster: %w", kind.Kind, err)
		}
		if err := indexer.IndexField(ctx, kind.New(), bindingsByRequirer, requirers); err != nil {
			return fmt.Errorf("indexing %ss by what needs them: %w", kind.Kind, err)
		}
		if err := indexer.IndexField(ctx, kind.New(), bindingsByWait, waitsFor); err != nil {
			return fmt.Errorf("indexing %ss by what they wait for: %w", kind.Kind, err)
		}
	}
	return nil
}

// clustersNamed returns every cluster that a binding names: where it is to be or was required, what
// it leaves, and what it shows a status of.
func clustersNamed(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	names := sets.Set[string]{}
	spec := b.BindingSpec()
	for i := range spec.Clusters {
		names.Insert(spec.Clusters[i].Name)
	}
	for i := range spec.RequiredBy {
		for j := range spec.RequiredBy[i].Clusters {
			names.Insert(spec.RequiredBy[i].Clusters[j].Name)
		}
	}
	for i := range spec.GracefulEvictionTasks {
		names.Insert(spec.GracefulEvictionTasks[i].FromCluster)
	}
	for i := range b.BindingStatus().AggregatedStatus {
		names.Insert(b.BindingStatus().AggregatedStatus[i].ClusterName)
	}
	return names.UnsortedList()
}

// requirers names the bindings whose workloads need the object of a binding.
func requirers(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	var out []string
	for _, by := range bindings.Requirers(b) {
		out = append(out, by.String())
	}
	return out
}

// waitsFor returns why the scheduler has not placed a binding, as its condition says.
func waitsFor(obj client.Object) []string {
	b, ok := obj.(Binding)
	if !ok {
		return nil
	}
	c := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingScheduled)
	if c == nil || c.Status == metav1.ConditionTrue {
		return nil
	}
	return []string{c.Reason, anyReason}
}

// Naming returns the bindings of the kind that name a cluster in their spec or status, to be read
// and not to be changed. From a cache, which must have the indexes of Index, that takes as long as
// there are such bindings; any other reader reads all of them.
func (k BindingKind) Naming(ctx context.Context, r client.Reader, cluster string) ([]Binding, error) {
	out, err := k.List(ctx, r, client.MatchingFields{bindingsByCluster: cluster})
	if !apierrors.IsBadRequest(err) {
		return out, err
	}
	all, err := k.List(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		for _, name := range clustersNamed(b) {
			if name == cluster {
				out = append(out, b)
			}
		}
	}
	return out, nil
}

// NeededBy returns the bindings of the kind, in any namespace, whose objects the workload of a binding needs, as a cache
// shows it, which must have the indexes of Index. They are to be read and not to be changed.
func (k BindingKind) NeededBy(ctx context.Context, r client.Reader, by types.NamespacedName) ([]Binding, error) {
	return k.List(ctx, r, client.MatchingFields{bindingsByRequirer: by.String()})
}

// Waiting returns the bindings of the kind that a cache, which must have the indexes of Index, shows
// as not placed for a reason; for any, if it is empty. They are to be read and not to be changed.
func (k BindingKind) Waiting(ctx context.Context, r client.Reader, reason string) ([]Binding, error) {
	return k.List(ctx, r, client.MatchingFields{bindingsByWait: cmp.Or(reason, anyReason)})
}

// BindingID returns the permanent id of the binding that an object carries as a label:
// a Work, what it carries, or the binding itself. It is empty if there is none.
func BindingID(obj client.Object) string {
	labels := obj.GetLabels()
	if id := labels[contract.ResourceBindingPermanentIDLabel]; id != "" {
		return id
	}
	return labels[contract.ClusterResourceBindingPermanentIDLabel]
}
