package detector

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/plan"
)

// Stages that send edits to the clusters wait until the detector has seen the edits (edits.Seen). The detector reports them whatever the
// outcome for the template is, or those stages would wait forever: even a binding whose content stays as it is has the right strategy.

// answerAsked requests the templates for which another stage waits. Mostly, their watch requests them as well.
func (r *Reconciler) answerAsked() {
	r.seen.OnAsk(func(ref workv1alpha2.ObjectReference) { r.queue.last(requestOf(ref)) })
}

// strategyOf returns the strategy that the binding of a template names once a plan is carried out. It returns false if there is nothing to
// report: there is no binding, it belongs to another object, or the template is also reconciled in another version.
func (r *Reconciler) strategyOf(in *gathered, p plan.Plan) (plan.Strategy, bool) {
	switch {
	case p.Outcome == plan.Elsewhere && slices.Contains(r.kinds.otherVersions(in.request.Kind), in.OtherVersion):
		return plan.Strategy{}, false
	case p.Binding != nil:
		return p.Binding.Strategy, true
	case in.binding == nil || !sameObject(templateOf(in.binding), in.request):
		return plan.Strategy{}, false
	case p.Strategy != nil:
		return *p.Strategy, true
	}
	return plan.StrategyOn(in.binding), true
}

// plans reports what is about to be written.
func (r *Reconciler) plans(in *gathered, p plan.Plan) {
	if strategy, ok := r.strategyOf(in, p); ok {
		r.seen.Plan(bindingOf(in.request), strategy.Name)
	}
}

// sees reports that a plan was carried out, for the template in its present state.
func (r *Reconciler) sees(in *gathered, p plan.Plan) {
	if _, ok := r.strategyOf(in, p); !ok || in.binding == nil {
		return
	}
	fingerprint := ""
	if in.Template != nil {
		fingerprint = bindings.Fingerprint(in.Template)
	}
	r.seen.See(in.binding, fingerprint)
}

// restage puts the policy and the strategy of a plan on an existing binding if the rest of the plan failed: the demand of the template
// cannot be read, the binding would be too large, or the API server rejects it. None of that affects how edits reach the clusters. After a
// conflict it does nothing, because the retry follows at once.
func (r *Reconciler) restage(ctx context.Context, in *gathered, p plan.Plan, why error) error {
	if in.Template == nil || apierrors.IsConflict(why) || errors.Is(why, errGone) || ctx.Err() != nil {
		return nil //nolint:nilerr // The caller has the reason.
	}
	strategy, ok := r.strategyOf(in, p)
	if !ok {
		return nil
	}
	in.binding, in.Binding = nil, nil // it may have been changed
	if err := r.gatherBinding(ctx, in); err != nil {
		return err
	}
	if in.binding == nil || in.binding.GetDeletionTimestamp() != nil || !plan.Owned(in.binding, in.Template) {
		return nil
	}
	if err := r.confirm(ctx, in, p); err != nil {
		return err
	}
	if _, err := r.writeBinding(ctx, in.binding, func(b kube.Binding) {
		if p.Binding != nil {
			claim.Set(b, p.Binding.Claim)
		}
		strategy.Set(b)
	}); err != nil {
		return err
	}
	r.sees(in, p)
	return nil
}

// bindingOf returns the name of a template's binding.
func bindingOf(req request) types.NamespacedName {
	return types.NamespacedName{Namespace: req.Namespace, Name: contract.BindingName(req.Kind.Kind, req.Name)}
}

// requestOf returns the request for the template of a reference.
func requestOf(ref workv1alpha2.ObjectReference) request {
	return request{Kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Namespace: ref.Namespace, Name: ref.Name}
}
