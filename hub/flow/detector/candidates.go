package detector

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/match"
)

// policyOf returns the policy that a template is to have, and the one that it is taken from. Others are the other apiVersions
// of its kind.
func (r *Reconciler) policyOf(
	ctx context.Context, t *metav1.PartialObjectMetadata, holder policyv1alpha1.Policy, others ...string,
) (winner, victim policyv1alpha1.Policy, err error) {
	target := targetOf(t)
	var candidates []policyv1alpha1.Policy
	for _, clusterWide := range []bool{false, true} {
		if t.DeletionTimestamp != nil || !clusterWide && t.Namespace == "" {
			continue // no other policy gets what is about to go, and none is in a namespace of its
		}
		for _, apiVersion := range append([]string{target.APIVersion}, others...) {
			as := target
			as.APIVersion = apiVersion
			found, err := r.candidates(ctx, as, clusterWide)
			if err != nil {
				return nil, nil, err
			}
			candidates = append(candidates, found...)
		}
	}
	winner, victim = match.Policy(holder, candidates, target, others...)
	return winner, victim, nil
}

// listPolicies returns the policies of one kind, not to be changed.
func (r *Reconciler) listPolicies(ctx context.Context, clusterWide bool, opts ...client.ListOption) ([]policyv1alpha1.Policy, error) {
	opts = append(opts, client.UnsafeDisableDeepCopy)
	var out []policyv1alpha1.Policy
	if clusterWide {
		var list policyv1alpha1.ClusterPropagationPolicyList
		if err := r.hubClient.List(ctx, &list, opts...); err != nil {
			return nil, fmt.Errorf("listing ClusterPropagationPolicies: %w", err)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
		return out, nil
	}
	var list policyv1alpha1.PropagationPolicyList
	if err := r.hubClient.List(ctx, &list, opts...); err != nil {
		return nil, fmt.Errorf("listing PropagationPolicies: %w", err)
	}
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

// candidates returns the policies of one kind that may select a template, not to be
// changed.
func (r *Reconciler) candidates(ctx context.Context, target selector.Target, clusterWide bool) ([]policyv1alpha1.Policy, error) {
	namespace := target.Namespace
	if clusterWide {
		namespace = ""
	}
	var candidates []policyv1alpha1.Policy
	for _, key := range selectedBy(target) {
		found, err := r.listPolicies(ctx, clusterWide,
			client.InNamespace(namespace), client.MatchingFields{selectsIndex: key})
		if err != nil {
			return nil, err
		}
		candidates = append(candidates, found...)
	}
	return candidates, nil
}

// missingOverrides returns the override policies that a policy depends on and that do not
// exist.
func (r *Reconciler) missingOverrides(ctx context.Context, p policyv1alpha1.Policy) ([]string, error) {
	var missing []string
	for _, name := range p.PropagationSpec().DependentOverrides {
		var override client.Object = &policyv1alpha1.OverridePolicy{}
		if p.GetNamespace() == "" {
			override = &policyv1alpha1.ClusterOverridePolicy{}
		}
		err := r.hubClient.Get(ctx, types.NamespacedName{Namespace: p.GetNamespace(), Name: name}, override)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, name)
		case err != nil:
			return nil, fmt.Errorf("reading override policy %q: %w", name, err)
		}
	}
	return missing, nil
}
