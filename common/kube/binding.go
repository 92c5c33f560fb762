package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Binding is a ResourceBinding or a ClusterResourceBinding, as an object that clients
// read and write.
type Binding interface {
	client.Object
	workv1alpha2.Binding
}

// BindingKind abstracts over the two kinds of bindings, so that a stage has one implementation for both.
type BindingKind struct {
	// Kind is the name of the kind.
	Kind string
	// New returns an empty binding.
	New func() Binding

	list func(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Binding, error)
}

// ResourceBindings is the kind of the bindings of namespaced templates.
func ResourceBindings() BindingKind {
	return BindingKind{
		Kind: "ResourceBinding",
		New:  func() Binding { return &workv1alpha2.ResourceBinding{} },
		list: func(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Binding, error) {
			var list workv1alpha2.ResourceBindingList
			return listShared(ctx, r, &list, &list.Items, func(one *workv1alpha2.ResourceBinding) Binding { return one }, opts...)
		},
	}
}

// ClusterResourceBindings is the kind of the bindings of cluster-scoped templates.
func ClusterResourceBindings() BindingKind {
	return BindingKind{
		Kind: "ClusterResourceBinding",
		New:  func() Binding { return &workv1alpha2.ClusterResourceBinding{} },
		list: func(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Binding, error) {
			var list workv1alpha2.ClusterResourceBindingList
			return listShared(ctx, r, &list, &list.Items, func(one *workv1alpha2.ClusterResourceBinding) Binding { return one }, opts...)
		},
	}
}

// BindingsIn is the kind of the bindings of templates in a namespace, or in none.
func BindingsIn(namespace string) BindingKind {
	if namespace == "" {
		return ClusterResourceBindings()
	}
	return ResourceBindings()
}

// List returns the bindings of the kind. They must not be changed: a cache returns the objects that everybody else reads as well.
func (k BindingKind) List(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Binding, error) {
	out, err := k.list(ctx, r, opts...)
	if err != nil {
		return nil, fmt.Errorf("listing %ss: %w", k.Kind, err)
	}
	return out, nil
}
