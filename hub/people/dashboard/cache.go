package dashboard

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// NewCache returns a cache of what the index is made of, for programs that have none yet. It is limited to a namespace,
// unless that is empty; cluster-scoped objects are always included.
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
		o.ByObject[&fairleadv1alpha1.StagedRollout{}] = cache.ByObject{Namespaces: here}
		o.ByObject[&policyv1alpha1.PropagationPolicy{}] = cache.ByObject{Namespaces: here}
	}
	c, err := cache.New(kube.BoundDepth(cfg), o)
	if err != nil {
		return nil, fmt.Errorf("preparing to follow the hub: %w", err)
	}
	return c, nil
}
