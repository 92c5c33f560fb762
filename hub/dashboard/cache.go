package dashboard

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// NewCache returns a cache of what the index is made from, for who has none yet. It is
// limited to a namespace, unless that is empty; Clusters and what else has no namespace it
// holds all.
func NewCache(cfg *rest.Config, mapper meta.RESTMapper, namespace string) (cache.Cache, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	strip := cache.TransformStripManagedFields()
	o := cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultTransform: strip,
		ByObject: map[client.Object]cache.ByObject{
			&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{contract.ClusterNamespace: {Transform: strip}}},
		},
	}
	if namespace != "" {
		here := map[string]cache.Config{namespace: {Transform: strip}}
		o.ByObject[&workv1alpha2.ResourceBinding{}] = cache.ByObject{Namespaces: here}
		o.ByObject[&policyv1alpha1.PropagationPolicy{}] = cache.ByObject{Namespaces: here}
	}
	c, err := cache.New(cfg, o)
	if err != nil {
		return nil, fmt.Errorf("preparing to follow the hub: %w", err)
	}
	return c, nil
}

// MayFollow asks whether the user of a configuration may follow a kind, in a namespace
// unless that is empty: a cache of what they may not would wait for ever.
func MayFollow(cfg *rest.Config, mapper meta.RESTMapper, namespace string) (func(context.Context, client.Object) (bool, error), error) {
	d, err := newDoor(cfg, mapper)
	if err != nil {
		return nil, err
	}
	hub, err := client.New(cfg, client.Options{Scheme: d.scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub's API: %w", err)
	}
	return func(ctx context.Context, obj client.Object) (bool, error) {
		gvk, err := hub.GroupVersionKindFor(obj)
		if err != nil {
			return false, fmt.Errorf("asking about %T: %w", obj, err)
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return false, fmt.Errorf("asking about %s: %w", gvk.Kind, err)
		}
		where := ""
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			where = namespace
		}
		if gvk.Kind == "Lease" {
			where = contract.ClusterNamespace
		}
		for _, verb := range []string{"list", "watch"} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: gvk.Group, Resource: mapping.Resource.Resource, Namespace: where,
				},
			}}
			if err := hub.Create(ctx, review); err != nil {
				return false, fmt.Errorf("asking about %s: %w", gvk.Kind, err)
			}
			if !review.Status.Allowed {
				return false, nil
			}
		}
		return true, nil
	}, nil
}
