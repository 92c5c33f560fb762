package detector

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/plan"
)

// gatherStrategies reads all RolloutStrategies, and the namespace of the template if one of them selects by namespace. The error is errGone
// if the namespace does not exist any more, because everything in it is then being deleted.
func (r *Reconciler) gatherStrategies(ctx context.Context, in *gathered) (err error) {
	if in.Strategies, err = r.strategies(ctx); err != nil {
		return err
	}
	if in.request.Namespace == "" || !slices.ContainsFunc(in.Strategies, byNamespace) {
		return nil
	}
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.liveReader, in.request.Namespace)
	switch {
	case err != nil:
		return err
	case ns == nil:
		return errGone
	}
	in.Namespace = ns
	return nil
}

// strategies lists all RolloutStrategies. They must not be modified.
func (r *Reconciler) strategies(ctx context.Context) ([]*fairleadv1alpha1.RolloutStrategy, error) {
	var list fairleadv1alpha1.RolloutStrategyList
	if err := r.hubClient.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing RolloutStrategies: %w", err)
	}
	var out []*fairleadv1alpha1.RolloutStrategy
	for i := range list.Items {
		out = append(out, &list.Items[i])
	}
	return out, nil
}

func byNamespace(s *fairleadv1alpha1.RolloutStrategy) bool { return s.Spec.NamespaceSelector != nil }

// forces returns whether a strategy has any selector.
func forces(s *fairleadv1alpha1.RolloutStrategy) bool {
	return byNamespace(s) || s.Spec.PolicySelector != nil
}

// strategySource requests the policies that a RolloutStrategy selects, selected, or may affect by the namespaces of their templates, and
// the templates that no policy has any more.
func strategySource(c cache.Cache, r *Reconciler) source.TypedSource[request] {
	ask := func(ctx context.Context, q requests, strategies ...*fairleadv1alpha1.RolloutStrategy) {
		if slices.ContainsFunc(strategies, forces) {
			r.askForReleased(ctx)
		}
		for _, clusterWide := range []bool{false, true} {
			policies, err := r.listPolicies(ctx, clusterWide)
			if err != nil {
				return // the cache is stopping
			}
			for _, p := range policies {
				if slices.ContainsFunc(strategies, func(s *fairleadv1alpha1.RolloutStrategy) bool { return forces(s) && plan.SelectsPolicy(s, p) }) {
					q.Add(policyRequest(p))
				}
			}
		}
	}
	return source.TypedKind(c, &fairleadv1alpha1.RolloutStrategy{}, handler.TypedFuncs[*fairleadv1alpha1.RolloutStrategy, request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[*fairleadv1alpha1.RolloutStrategy], q requests) {
			if !e.IsInInitialList { // at the start all policies are reconciled
				ask(ctx, q, e.Object)
			}
		},
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*fairleadv1alpha1.RolloutStrategy], q requests) {
			before, after := e.ObjectOld.Spec, e.ObjectNew.Spec
			if !apiequality.Semantic.DeepEqual(before.PolicySelector, after.PolicySelector) ||
				!apiequality.Semantic.DeepEqual(before.NamespaceSelector, after.NamespaceSelector) {
				ask(ctx, q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[*fairleadv1alpha1.RolloutStrategy], q requests) {
			ask(ctx, q, e.Object)
		},
	})
}

// namespaceSource requests the templates of a namespace when a change of its labels changes which strategies select it. It requests
// templates rather than bindings, because a template that is being bound has no binding yet.
func namespaceSource(c cache.Cache, r *Reconciler) source.TypedSource[request] {
	return source.TypedKind(c, &corev1.Namespace{}, handler.TypedFuncs[*corev1.Namespace, request]{
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[*corev1.Namespace], q requests) {
			if maps.Equal(e.ObjectOld.Labels, e.ObjectNew.Labels) {
				return
			}
			strategies, err := r.strategies(ctx)
			if err != nil {
				return // the cache is stopping
			}
			concerns := func(s *fairleadv1alpha1.RolloutStrategy) bool {
				return plan.SelectsNamespace(s, e.ObjectOld) != plan.SelectsNamespace(s, e.ObjectNew)
			}
			if !slices.ContainsFunc(strategies, concerns) {
				return
			}
			r.askForReleased(ctx, client.InNamespace(e.ObjectNew.Name))
			for _, kind := range r.kinds.Kinds() {
				// An error would mean that the store lacks the index. A reconcile reports that.
				_ = r.kinds.each(kind, e.ObjectNew.Name, func(t *metav1.PartialObjectMetadata) { q.Add(requestFor(kind, t)) })
			}
		},
	})
}
