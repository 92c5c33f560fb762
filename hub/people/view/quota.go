package view

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/quota"
)

// quotas reads the quotas of a namespace, and what other bindings use than the one of a
// name.
func (r *Reader) quotas(ctx context.Context, namespace, binding string) ([]quota.Quota, error) {
	if namespace == "" {
		return nil, nil
	}
	var list policyv1alpha1.FederatedResourceQuotaList
	if err := r.hub.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing the quotas of namespace %q: %w", namespace, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	bindings, err := kube.ResourceBindings().List(ctx, r.hub, client.InNamespace(namespace))
	if err != nil {
		return nil, fmt.Errorf("listing the bindings that share the quotas of namespace %q: %w", namespace, err)
	}
	others := corev1.ResourceList{}
	for _, b := range bindings {
		if b.GetName() != binding {
			quota.Add(others, quota.InUse(b, b.BindingSpec().Clusters))
		}
	}
	return quota.For(list.Items, others), nil
}
