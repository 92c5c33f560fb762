package detector

import (
	"context"
	"maps"
	"slices"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/plan"
)

type requests = workqueue.TypedRateLimitingInterface[request]

// sources returns everything that triggers reconciles, apart from templates.
func (r *Reconciler) sources(mgr manager.Manager) []source.TypedSource[request] {
	c := mgr.GetCache()
	return []source.TypedSource[request]{
		source.TypedFunc[request](func(ctx context.Context, q requests) error {
			r.queue.requests = q
			r.answerAsked()
			if err := addIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
				return err
			}
			go r.follow(ctx, mgr.Elected())
			return nil
		}),
		policySource(c, r, &policyv1alpha1.PropagationPolicy{}),
		policySource(c, r, &policyv1alpha1.ClusterPropagationPolicy{}),
		bindingSource(c, r, &workv1alpha2.ResourceBinding{}),
		bindingSource(c, r, &workv1alpha2.ClusterResourceBinding{}),
		overrideSource(c, r, &policyv1alpha1.OverridePolicy{}),
		overrideSource(c, r, &policyv1alpha1.ClusterOverridePolicy{}),
		strategySource(c, r),
		namespaceSource(c, r),
		kube.RulesChanged(r.interpreter, r.reread),
	}
}

// reread requests all templates of the kinds whose interpretation rules changed.
func (r *Reconciler) reread(_ context.Context, affects func(schema.GroupVersionKind) bool, _ requests) {
	for _, kind := range r.kinds.Kinds() {
		if !affects(kind) {
			continue
		}
		// An error would mean that the store lacks the index. Another reconcile reports that.
		_ = r.kinds.each(kind, "", func(t *metav1.PartialObjectMetadata) { r.queue.last(requestFor(kind, t)) })
	}
}

// initialPolicies are the policies that existed at the start of the stage and have not been reconciled yet. What they select or have need
// not be requested, because the start requests every template, and these policies are cached by then. It is safe for concurrent use.
type initialPolicies struct {
	mu  sync.Mutex
	set sets.Set[request]
}

func (p *initialPolicies) add(req request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.set == nil {
		p.set = sets.Set[request]{}
	}
	p.set.Insert(req)
}

// take removes a policy from the set, and returns whether it was in it.
func (p *initialPolicies) take(req request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.set.Has(req)
	p.set.Delete(req)
	return was
}

// policySource requests a policy when its spec, labels, finalizers or relevant annotations change.
func policySource[P client.Object](c cache.Cache, r *Reconciler, policy P) source.TypedSource[request] {
	return source.TypedKind(c, policy, handler.TypedFuncs[P, request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[P], q requests) {
			req := policyRequest(e.Object)
			if e.IsInInitialList {
				r.initial.add(req)
			}
			q.Add(req)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[P], q requests) {
			if e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
				e.ObjectOld.GetAnnotations()[contract.ReturnToPreferredAnnotation] != e.ObjectNew.GetAnnotations()[contract.ReturnToPreferredAnnotation] ||
				e.ObjectOld.GetAnnotations()[contract.RolloutStrategyAnnotation] != e.ObjectNew.GetAnnotations()[contract.RolloutStrategyAnnotation] ||
				!slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers()) {
				r.initial.take(policyRequest(e.ObjectNew))
				q.Add(policyRequest(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[P], q requests) {
			r.initial.take(policyRequest(e.Object))
			q.Add(policyRequest(e.Object))
		},
	})
}

// bindingSource requests the template of a binding that another writer changed or deleted, and the kind of the template when a claim was
// added or removed.
func bindingSource[B kube.Binding](c cache.Cache, r *Reconciler, binding B) source.TypedSource[request] {
	return source.TypedKind(c, binding, handler.TypedFuncs[B, request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[B], q requests) {
			r.bindings.Seen(client.ObjectKeyFromObject(e.Object), e.Object)
			switch {
			case claimed(e.Object):
				q.Add(request{Kind: templateOf(e.Object).Kind})
			case released(e.Object): // a strategy may have been forced on it meanwhile
				r.queue.last(templateOf(e.Object))
			}
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[B], q requests) {
			r.bindings.Seen(client.ObjectKeyFromObject(e.ObjectNew), e.ObjectNew)
			template := templateOf(e.ObjectNew)
			if before := templateOf(e.ObjectOld); claimed(e.ObjectOld) != claimed(e.ObjectNew) || before.Kind != template.Kind {
				q.Add(request{Kind: template.Kind})
				q.Add(request{Kind: before.Kind})
				r.warned.Resolved(before, reasonVersionNotServed)
			}
			if drifted(e.ObjectOld, e.ObjectNew) || released(e.ObjectNew) && bindings.OnlyFollows(e.ObjectOld) != bindings.OnlyFollows(e.ObjectNew) {
				q.Add(template)
			}
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[B], q requests) {
			r.bindings.Gone(client.ObjectKeyFromObject(e.Object), e.Object)
			r.seen.Forget(client.ObjectKeyFromObject(e.Object))
			template := templateOf(e.Object)
			q.Add(template)
			q.Add(request{Kind: template.Kind})
		},
	})
}

// drifted returns whether anything changed that the detector writes.
func drifted(before, after workv1alpha2.Binding) bool {
	claimBefore, _ := claim.On(before)
	claimAfter, _ := claim.On(after)
	const fingerprint = contract.TemplateFingerprintAnnotation
	return claimBefore != claimAfter ||
		before.GetAnnotations()[fingerprint] != after.GetAnnotations()[fingerprint] ||
		plan.StrategyOn(before) != plan.StrategyOn(after) ||
		!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
		!apiequality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) ||
		!apiequality.Semantic.DeepEqual(ours(before), ours(after))
}

// ours returns the part of a binding's spec that the detector writes.
func ours(b workv1alpha2.Binding) workv1alpha2.ResourceBindingSpec {
	spec := *b.BindingSpec()
	spec.Clusters = nil
	spec.GracefulEvictionTasks = nil
	spec.RequiredBy = nil
	spec.RescheduleTriggeredAt = nil
	return spec
}

// overrideSource requests the policies that wait for an override policy.
func overrideSource[O client.Object](c cache.Cache, r *Reconciler, override O) source.TypedSource[request] {
	return source.TypedKind(c, override, handler.TypedFuncs[O, request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[O], q requests) {
			namespace := e.Object.GetNamespace()
			policies, err := r.listPolicies(ctx, namespace == "", client.InNamespace(namespace))
			if err != nil {
				return // the cache is stopping
			}
			for _, p := range policies {
				if slices.Contains(p.PropagationSpec().DependentOverrides, e.Object.GetName()) {
					q.Add(policyRequest(p))
				}
			}
		},
	})
}
