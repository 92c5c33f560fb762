package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// Binding is a ResourceBinding or a ClusterResourceBinding, as a client.Object.
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

// ResourceBindings returns the kind of bindings for namespaced templates.
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

// ClusterResourceBindings returns the kind of bindings for cluster-scoped templates.
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

// BindingsIn returns the kind of bindings for templates in a namespace, or cluster-scoped ones.
func BindingsIn(namespace string) BindingKind {
	if namespace == "" {
		return ClusterResourceBindings()
	}
	return ResourceBindings()
}

// List returns the bindings of the kind. They must not be changed: a cache returns shared objects.
func (k BindingKind) List(ctx context.Context, r client.Reader, opts ...client.ListOption) ([]Binding, error) {
	out, err := k.list(ctx, r, opts...)
	if err != nil {
		return nil, fmt.Errorf("listing %ss: %w", k.Kind, err)
	}
	return out, nil
}
