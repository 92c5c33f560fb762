package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
)

// Works returns the Works of a hub, to be read and not to be changed: those of a cache are what everybody else reads as well.
func Works(ctx context.Context, r client.Reader) ([]*workv1alpha1.Work, error) {
	var list workv1alpha1.WorkList
	out, err := listShared(ctx, r, &list, &list.Items, func(one *workv1alpha1.Work) *workv1alpha1.Work { return one })
	if err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	return out, nil
}

// WorksOf returns the Works of a binding, in whatever namespace, to be read and not to be changed.
// The reader is a cache that has the indexes of Index. A binding without a permanent id has none.
func WorksOf(ctx context.Context, r client.Reader, b Binding) ([]*workv1alpha1.Work, error) {
	id := BindingID(b)
	if id == "" {
		return nil, nil
	}
	var list workv1alpha1.WorkList
	if err := r.List(ctx, &list, client.MatchingFields{WorksByBinding: id}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the works of %q: %w", b.GetName(), err)
	}
	out := make([]*workv1alpha1.Work, 0, len(list.Items))
	for i := range list.Items {
		if bindings.IsOwn(b, &list.Items[i]) {
			out = append(out, &list.Items[i])
		}
	}
	return out, nil
}
