package kube

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
)

// Works returns the Works of a hub. They must not be changed: a cache returns shared objects.
func Works(ctx context.Context, r client.Reader) ([]*workv1alpha1.Work, error) {
	var list workv1alpha1.WorkList
	out, err := listShared(ctx, r, &list, &list.Items, func(one *workv1alpha1.Work) *workv1alpha1.Work { return one })
	if err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	return out, nil
}

// WorksIn returns the Works in a namespace. They must not be changed: see Works.
func WorksIn(ctx context.Context, r client.Reader, namespace string) ([]*workv1alpha1.Work, error) {
	var list workv1alpha1.WorkList
	out, err := listShared(ctx, r, &list, &list.Items, func(one *workv1alpha1.Work) *workv1alpha1.Work { return one }, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("listing works in %q: %w", namespace, err)
	}
	return out, nil
}

// WorksOf returns the Works of a binding, in any namespace. They must not be changed. From a cache, which must have
// the indexes of Index, this takes time in proportion to the result; any other reader reads all Works. A binding
// without a permanent ID has none.
func WorksOf(ctx context.Context, r client.Reader, b Binding) ([]*workv1alpha1.Work, error) {
	id := bindings.IDOf(b)
	if id == "" {
		return nil, nil
	}
	var out []*workv1alpha1.Work
	found, ok := underIndex(ctx, r, &workv1alpha1.Work{}, worksByBinding, shardOf(id))
	for _, item := range found {
		if work, ok := item.(*workv1alpha1.Work); ok {
			out = append(out, work)
		}
	}
	if !ok {
		var err error
		if out, err = Works(ctx, r); err != nil {
			return nil, fmt.Errorf("looking for those of %q: %w", b.GetName(), err)
		}
	}
	return slices.DeleteFunc(out, func(work *workv1alpha1.Work) bool { return bindings.IDOf(work) != id || !bindings.IsOwn(b, work) }), nil
}
