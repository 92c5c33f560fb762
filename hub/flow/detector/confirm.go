package detector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/plan"
)

// confirm reads live what a plan was based on, if the plan takes something from a binding that cannot be restored. When a hub has just
// become active, each of its caches may be older than what the previous active hub wrote on the binding. In that case the error is
// kube.CacheBehind.
func (r *Reconciler) confirm(ctx context.Context, in *gathered, p plan.Plan) error {
	var decisive []func(context.Context, *gathered) error
	switch {
	case in.binding == nil:
	case p.TakesAway(in.binding):
		decisive = append(decisive, r.samePolicies, r.sameStrategies, r.sameNamespace, r.sameTemplate)
	case p.Resumes(in.binding): // of thousands of bindings at a time, perhaps
		decisive = append(decisive, r.samePolicies)
	}
	for _, same := range decisive {
		if err := same(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// samePolicies confirms the policy that the template should have, and the one that it had. Either may be missing.
func (r *Reconciler) samePolicies(ctx context.Context, in *gathered) error {
	confirm := func(of claim.Claim, saw policyv1alpha1.Policy) error {
		live, err := kube.PolicyNamed(ctx, r.liveReader, of.Namespace, of.Name)
		if err != nil {
			return err
		}
		if !samePolicy(saw, live) {
			return kube.CacheBehind(policyv1alpha1.GroupVersion.WithResource("propagationpolicies").GroupResource(), of.Name)
		}
		return nil
	}
	winner := claim.Claim{}
	if in.Winner != nil {
		winner = claim.By(in.Winner)
		if err := confirm(winner, in.Winner); err != nil {
			return err
		}
	}
	if in.Claim.Key() == winner.Key() || in.Claim == (claim.Claim{}) {
		return nil
	}
	return confirm(in.Claim, in.Holder)
}

// samePolicy returns whether a policy is the same live as in the cache.
func samePolicy(saw, live policyv1alpha1.Policy) bool {
	if saw == nil || live == nil {
		return saw == nil && live == nil
	}
	return saw.GetUID() == live.GetUID() && saw.GetDeletionTimestamp().Equal(live.GetDeletionTimestamp()) &&
		maps.Equal(saw.GetLabels(), live.GetLabels()) && maps.Equal(saw.GetAnnotations(), live.GetAnnotations()) &&
		apiequality.Semantic.DeepEqual(saw.PropagationSpec(), live.PropagationSpec())
}

// sameStrategies confirms all strategies, since any of them may be forced on the template.
func (r *Reconciler) sameStrategies(ctx context.Context, in *gathered) error {
	var list fairleadv1alpha1.RolloutStrategyList
	if err := r.liveReader.List(ctx, &list); err != nil {
		return fmt.Errorf("listing RolloutStrategies live: %w", err)
	}
	live := make([]*fairleadv1alpha1.RolloutStrategy, len(list.Items))
	for i := range list.Items {
		live[i] = &list.Items[i]
	}
	byName := func(a, b *fairleadv1alpha1.RolloutStrategy) int { return strings.Compare(a.Name, b.Name) }
	saw := slices.SortedFunc(slices.Values(in.Strategies), byName)
	slices.SortFunc(live, byName)
	same := func(a, b *fairleadv1alpha1.RolloutStrategy) bool {
		return a.UID == b.UID && apiequality.Semantic.DeepEqual(a.Spec, b.Spec)
	}
	if !slices.EqualFunc(saw, live, same) {
		return kube.CacheBehind(fairleadv1alpha1.GroupVersion.WithResource("rolloutstrategies").GroupResource(), in.request.Name)
	}
	return nil
}

// sameNamespace confirms the labels of the namespace, by which strategies select what is in it.
func (r *Reconciler) sameNamespace(ctx context.Context, in *gathered) error {
	if in.Namespace == nil {
		return nil // no strategy selects by namespace
	}
	live := &corev1.Namespace{}
	if err := r.liveReader.Get(ctx, client.ObjectKey{Name: in.Namespace.GetName()}, live); err != nil {
		return fmt.Errorf("reading Namespace %q live: %w", in.Namespace.GetName(), err)
	}
	if !maps.Equal(in.Namespace.GetLabels(), live.Labels) {
		return kube.CacheBehind(corev1.Resource("namespaces"), live.Name)
	}
	return nil
}

// sameTemplate confirms the metadata of the template, which may name a strategy.
func (r *Reconciler) sameTemplate(ctx context.Context, in *gathered) error {
	live := kube.MetadataOf(in.request.Kind)
	if err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(in.Template), live); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s %q live: %w", in.request.Kind.Kind, in.request.Name, err)
	}
	if bindings.Fingerprint(live) != bindings.Fingerprint(in.Template) {
		return kube.CacheBehind(schema.GroupResource{Group: in.request.Kind.Group, Resource: in.request.Kind.Kind}, in.request.Name)
	}
	return nil
}
