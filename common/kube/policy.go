package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// PolicyNamed returns the PropagationPolicy of a name in a namespace, or the ClusterPropagationPolicy if the namespace is empty; nil if
// there is none. It is a copy, to be changed at will.
func PolicyNamed(ctx context.Context, r client.Reader, namespace, name string) (policyv1alpha1.Policy, error) {
	var p interface {
		client.Object
		policyv1alpha1.Policy
	} = &policyv1alpha1.PropagationPolicy{}
	kind := policyv1alpha1.KindPropagationPolicy
	if namespace == "" {
		p, kind = &policyv1alpha1.ClusterPropagationPolicy{}, policyv1alpha1.KindClusterPropagationPolicy
	}
	err := r.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, p)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind, name, err)
	}
	return p, nil
}
