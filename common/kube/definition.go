package kube

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

// kindDefinition is the kind of CustomResourceDefinitions.
const kindDefinition = "CustomResourceDefinition"

// DefinedIn returns the clusters to which the hub propagates the definition of a custom kind: they serve it, or will
// soon. There are none for a kind whose definition is not propagated, or that the hub does not serve.
func DefinedIn(ctx context.Context, hub client.Reader, mapper meta.RESTMapper, kind schema.GroupVersionKind) (bindings.Clusters, error) {
	if !strings.Contains(kind.Group, ".") {
		return bindings.Clusters{}, nil // the group of a CustomResourceDefinition contains a dot
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch {
	case meta.IsNoMatchError(err):
		return bindings.Clusters{}, nil
	case err != nil:
		return bindings.Clusters{}, fmt.Errorf("finding the resource of %s: %w", kind, err)
	}
	binding := &workv1alpha2.ClusterResourceBinding{}
	key := client.ObjectKey{Name: contract.BindingName(kindDefinition, mapping.Resource.GroupResource().String())}
	// Without a copy: a binding with thousands of clusters has a large status, which is not needed here.
	switch err := hub.Get(ctx, key, binding, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		return bindings.Clusters{}, nil
	case err != nil:
		return bindings.Clusters{}, fmt.Errorf("reading the binding %q of the definition of %s: %w", key.Name, kind, err)
	}
	return bindings.ClustersOf(binding.Spec.Clusters), nil
}

// KindsDefinedBy returns the kinds that a template defines if it is a CustomResourceDefinition, usually one. There
// are none if the hub does not serve them.
func KindsDefinedBy(mapper meta.RESTMapper, template *workv1alpha2.ObjectReference) (sets.Set[schema.GroupKind], error) {
	if template.Kind != kindDefinition {
		return nil, nil
	}
	defined := schema.ParseGroupResource(template.Name)
	kinds, err := mapper.KindsFor(defined.WithVersion(""))
	switch {
	case meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("finding the kind of %s: %w", defined, err)
	}
	out := sets.Set[schema.GroupKind]{}
	for _, kind := range kinds {
		if kind.Group == defined.Group {
			out.Insert(kind.GroupKind())
		}
	}
	return out, nil
}
