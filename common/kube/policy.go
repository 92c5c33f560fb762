package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bindings"
)

// PolicyNamed returns a PropagationPolicy or, if the namespace is empty, a ClusterPropagationPolicy; nil if it does
// not exist. It is a copy that may be changed.
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

// MissingOverrides returns the override policies that a policy depends on and that do not exist.
func MissingOverrides(ctx context.Context, r client.Reader, p policyv1alpha1.Policy) ([]string, error) {
	var missing []string
	for _, name := range p.PropagationSpec().DependentOverrides {
		var override client.Object = &policyv1alpha1.OverridePolicy{}
		if p.GetNamespace() == "" {
			override = &policyv1alpha1.ClusterOverridePolicy{}
		}
		err := r.Get(ctx, types.NamespacedName{Namespace: p.GetNamespace(), Name: name}, override)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("reading override policy %q: %w", name, err)
		}
	}
	return missing, nil
}

// PolicyPreserves reads whether the policy of a binding has what the binding brought stay in the members by now. The detector brings an edit
// of a policy to one template after the other, and never to one that is gone: a commit that has objects stay and takes one of the templates
// away would lose what belongs to that one. It is for bindings that are being deleted or let go of what they need, and for a reader that asks the
// API server itself.
func PolicyPreserves(ctx context.Context, live client.Reader, b Binding) (bool, error) {
	named, id := bindings.PolicyOn(b)
	return PolicyWithIDPreserves(ctx, live, named, id)
}

// PolicyWithIDPreserves is PolicyPreserves for a binding that is gone, of which bindings.PolicyOn is known.
func PolicyWithIDPreserves(ctx context.Context, live client.Reader, named types.NamespacedName, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	policy, err := PolicyNamed(ctx, live, named.Namespace, named.Name)
	if err != nil || policy == nil || policy.GetLabels()[bindings.PolicyIDLabel(named.Namespace)] != id { // another policy of the same name
		return false, err
	}
	return ptr.Deref(policy.PropagationSpec().PreserveResourcesOnDeletion, false), nil
}
