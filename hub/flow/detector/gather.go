package detector

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/plan"
)

// Kinds of policies.
const (
	propagationPolicy        = "PropagationPolicy"
	clusterPropagationPolicy = "ClusterPropagationPolicy"
)

func isPolicy(kind schema.GroupVersionKind) bool {
	return kind == policyKind(true) || kind == policyKind(false)
}

func policyKind(clusterWide bool) schema.GroupVersionKind {
	if clusterWide {
		return policyv1alpha1.GroupVersion.WithKind(clusterPropagationPolicy)
	}
	return policyv1alpha1.GroupVersion.WithKind(propagationPolicy)
}

// policyRequest names a policy.
func policyRequest(p metav1.Object) request {
	return requestFor(policyKind(p.GetNamespace() == ""), p)
}

// templateOf names the template of a binding.
func templateOf(b workv1alpha2.Binding) request {
	return requestOf(b.BindingSpec().Resource)
}

func targetOf(t *metav1.PartialObjectMetadata) selector.Target {
	return selector.Target{
		APIVersion: t.APIVersion, Kind: t.Kind,
		Namespace: t.Namespace, Name: t.Name, Labels: t.Labels,
	}
}

// gathered is what was read about one template: the input of the decision, and what the writes need besides.
type gathered struct {
	plan.Input

	request request
	// binding is the one of the input, which may be modified; nil if there is none.
	binding kube.Binding
	// whole is the whole template, if it was read live; otherwise nil.
	whole *unstructured.Unstructured
}

// gather reads what the decision about a template depends on. It returns nil if there is nothing to decide yet, and when to reconcile again
// if nothing else triggers that.
func (r *Reconciler) gather(ctx context.Context, req request) (*gathered, reconcile.Result, error) {
	t, listing, err := r.kinds.template(ctx, req)
	switch {
	case err != nil:
		return nil, reconcile.Result{}, err
	case listing == watchset.Unwatched:
		r.queue.now(request{Kind: req.Kind}) // the first list of the kind requests the template again
		again, err := r.reconcileUnwatched(ctx, req)
		return nil, again, err
	case listing == watchset.Syncing:
		return nil, reconcile.Result{RequeueAfter: r.kinds.LookAgain(req.Kind)}, nil
	}
	in := &gathered{request: req}
	in.Now = r.clock.Now()
	if t != nil {
		in.Template = t
		in.Excluded = t.Labels[contract.ClaimedByLabel] != "" || r.exclusions.Excludes(targetOf(t))
	}
	if err := r.gatherBinding(ctx, in); err != nil {
		return nil, reconcile.Result{}, err
	}
	if err := r.gatherHolder(ctx, in); err != nil || in.Template == nil {
		return in, reconcile.Result{}, err
	}
	if err := r.gatherPolicies(ctx, in); err != nil {
		if errors.Is(err, errGone) {
			return nil, reconcile.Result{}, nil // the watch reports that
		}
		return nil, reconcile.Result{}, err
	}
	if in.Excluded || in.Winner == nil || in.OtherVersion != "" || t.DeletionTimestamp != nil || in.Winner.PropagationSpec().ActivationPreference != policyv1alpha1.LazyActivation {
		return in, reconcile.Result{}, nil
	}
	if in.whole, err = r.whole(ctx, t); in.whole == nil || err != nil {
		return nil, reconcile.Result{}, err // if it is gone, the watch reports that
	}
	in.Edit, err = plan.Edit(in.whole)
	return in, reconcile.Result{}, err
}

// gatherBinding reads the binding with the template's binding name. If the template is gone, the binding must be the template's.
func (r *Reconciler) gatherBinding(ctx context.Context, in *gathered) error {
	req := in.request
	key := bindingOf(req)
	b := kube.BindingsIn(req.Namespace).New()
	err := r.hubClient.Get(ctx, key, b)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading binding %q: %w", key.Name, err)
	}
	b, ok := r.bindings.Latest(key, b, err == nil)
	if !ok || in.Template == nil && !sameObject(templateOf(b), req) {
		return nil
	}
	in.binding, in.Binding = b, b
	return nil
}

// gatherHolder reads the policy whose claim the template carries, or carried.
func (r *Reconciler) gatherHolder(ctx context.Context, in *gathered) (err error) {
	var ok bool
	if in.Template != nil {
		in.Claim, ok = claim.On(in.Template)
	}
	if !ok && in.Binding != nil && (in.Template == nil || in.Excluded) {
		in.Claim, ok = claim.On(in.Binding)
	}
	if ok {
		in.Holder, err = kube.PolicyNamed(ctx, r.hubClient, in.Claim.Namespace, in.Claim.Name)
	}
	return err
}

// gatherPolicies reads the policies and strategies that apply to a template. The error is errGone if the template's namespace does not
// exist any more.
func (r *Reconciler) gatherPolicies(ctx context.Context, in *gathered) error {
	if !in.Excluded {
		if err := r.gatherWinner(ctx, in); err != nil {
			return err
		}
	}
	if in.OtherVersion != "" || in.Winner == nil && in.binding == nil {
		return nil
	}
	return r.gatherStrategies(ctx, in) // a binding follows a strategy even if no policy is applied
}

// gatherWinner finds the policy that the template should have, and reads what that policy and the interpretation rules depend on, unless
// the policy has the template in another version.
func (r *Reconciler) gatherWinner(ctx context.Context, in *gathered) (err error) {
	in.Workload = r.interpreter.Has(in.request.Kind, interpreter.InterpretComponent) || r.interpreter.Has(in.request.Kind, interpreter.InterpretReplica)
	in.Rules = interpreter.Version(r.interpreter, in.request.Kind)
	others := r.kinds.otherVersions(in.request.Kind)
	if in.Winner, in.Victim, err = r.policyOf(ctx, in.Template, in.Holder, others...); in.Winner == nil || err != nil {
		return err
	}
	if err := r.keepFromOthers(ctx, in, others); in.Winner == nil || err != nil {
		return err
	}
	if err := r.gatherVersion(ctx, in); err != nil || in.OtherVersion != "" {
		return err
	}
	if in.Claim.Key() != claim.By(in.Winner).Key() {
		if in.Missing, err = kube.MissingOverrides(ctx, r.hubClient, in.Winner); err != nil {
			return err
		}
	}
	in.Priority, in.MissingClass, err = r.priority(ctx, in.Winner)
	return err
}

// gatherDemand reads what the template asks for. The error is errGone if the template does not exist any more.
func (r *Reconciler) gatherDemand(ctx context.Context, in *gathered) (err error) {
	if in.whole == nil {
		if in.whole, err = r.whole(ctx, in.Template); err != nil {
			return err
		}
	}
	switch {
	case in.whole == nil:
		return errGone
	case !sameSelection(in.whole, in.Template):
		// The live template is newer than the one that was decided on, and would get the strategy of the older one.
		newer := meta.AsPartialObjectMetadata(in.whole)
		newer.SetGroupVersionKind(in.request.Kind)
		newer.ManagedFields = nil
		r.kinds.written.Put(in.request, newer)
		return kube.CacheBehind(schema.GroupResource{Group: in.request.Kind.Group, Resource: in.request.Kind.Kind}, in.request.Name)
	}
	in.Demand, err = r.demand(ctx, in.whole)
	return err
}

// sameSelection returns whether everything that determines the policy and the strategy of a template is the same live as in the cache.
func sameSelection(live, saw metav1.Object) bool {
	const strategy = contract.RolloutStrategyAnnotation
	return maps.Equal(live.GetLabels(), saw.GetLabels()) && live.GetAnnotations()[strategy] == saw.GetAnnotations()[strategy] &&
		live.GetDeletionTimestamp().IsZero() == saw.GetDeletionTimestamp().IsZero()
}

// demand returns what a workload asks for: its components or, if there are no rules for components, its replicas.
func (r *Reconciler) demand(ctx context.Context, whole *unstructured.Unstructured) (*plan.Demand, error) {
	out, err := &plan.Demand{Meta: whole}, error(nil)
	if r.interpreter.Has(whole.GroupVersionKind(), interpreter.InterpretComponent) {
		if out.Components, err = r.interpreter.Components(ctx, whole); err != nil {
			return nil, fmt.Errorf("%w of %s %q: %w", errComponents, whole.GetKind(), whole.GetName(), err)
		}
		return out, nil
	}
	if out.Replicas, out.Requirements, err = r.interpreter.Replicas(ctx, whole); err != nil {
		return nil, fmt.Errorf("%w of %s %q: %w", errReplicas, whole.GetKind(), whole.GetName(), err)
	}
	return out, nil
}

// whole reads a template from the API server. It returns nil if the template does not exist any more, or is another one of the same name.
func (r *Reconciler) whole(ctx context.Context, t *metav1.PartialObjectMetadata) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(t.GroupVersionKind())
	err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(t), u)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", t.Kind, t.Name, err)
	case u.GetUID() != t.UID:
		return nil, nil
	}
	return u, nil
}
