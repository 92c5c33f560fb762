package auth

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
)

// MayFollow returns a function that says whether the user of a configuration may list and watch a kind, in a namespace
// or, if that is empty, in all. A cache of a kind that the user may not watch would never sync.
func MayFollow(cfg *rest.Config, mapper meta.RESTMapper, namespace string) (func(context.Context, client.Object) (bool, error), error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	hub, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: mapper})
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
