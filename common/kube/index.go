package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// WorksByBinding is the name of the index of Works by the permanent id of their
// binding: client.MatchingFields{kube.WorksByBinding: id}.
const WorksByBinding = "binding-permanent-id"

// IndexWorks adds the index WorksByBinding to a cache. It is called once, before the
// cache starts.
func IndexWorks(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &workv1alpha1.Work{}, WorksByBinding, func(obj client.Object) []string {
		if id := BindingID(obj); id != "" {
			return []string{id}
		}
		return nil
	}); err != nil {
		return fmt.Errorf("indexing works by binding: %w", err)
	}
	return nil
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
