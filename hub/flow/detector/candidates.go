package detector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/match"
)

// policyOf returns the policy that a template should have, and the policy that it is taken from. Others are the other apiVersions of its
// kind.
func (r *Reconciler) policyOf(
	ctx context.Context, t *metav1.PartialObjectMetadata, holder policyv1alpha1.Policy, others ...string,
) (winner, victim policyv1alpha1.Policy, err error) {
	target := targetOf(t)
	var candidates []policyv1alpha1.Policy
	for _, clusterWide := range []bool{false, true} {
		if t.DeletionTimestamp != nil || !clusterWide && t.Namespace == "" {
			continue // a template that is being deleted changes no policy, and a cluster-scoped one is in no policy's namespace
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

// keepFromOthers keeps a propagated template from another policy while its namespace is being deleted. Its own policy may be deleted first.
// The next policy might not preserve resources on deletion, and then objects that should stay would be removed from the clusters. The
// Namespace is read live, because the watch of policies may be ahead of that of Namespaces, and only if the template is about to change its
// policy.
func (r *Reconciler) keepFromOthers(ctx context.Context, in *gathered, others []string) error {
	if in.binding == nil || in.request.Namespace == "" || in.Claim.Key() == claim.By(in.Winner).Key() {
		return nil
	}
	ends, err := kube.NamespaceEnds(ctx, r.liveReader, in.request.Namespace)
	if ends {
		in.Winner, in.Victim = match.Policy(in.Holder, nil, targetOf(in.Template), others...)
	}
	return err
}

// listPolicies returns the policies of one kind. They must not be modified.
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

// candidates returns the policies of one kind that may select a template. They must not be modified.
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
