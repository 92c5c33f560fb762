package detector

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/plan"
)

// released returns whether a binding was made by the detector and has no policy any more. Such a binding is rendered as before.
func released(b kube.Binding) bool {
	return !claimed(b) && bindings.FingerprintOn(b) != "" && b.GetDeletionTimestamp() == nil && made(b, templateOf(b))
}

// askForReleased requests the templates of bindings that no policy has any more. Their kinds may not be watched, and no policy requests
// them.
func (r *Reconciler) askForReleased(ctx context.Context, opts ...client.ListOption) {
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := kind.List(ctx, r.hubClient, opts...)
		if err != nil {
			return // the cache is stopping
		}
		for _, b := range found {
			if released(b) {
				r.queue.last(templateOf(b))
			}
		}
	}
}

// reconcileUnwatched reconciles a template of a kind that is not watched, by its binding. If the kind should be watched, its first list
// requests the template again. Otherwise no policy has the template any more, or policies do not apply to the kind; then only the forced
// strategy matters, which does not depend on edits of the template.
func (r *Reconciler) reconcileUnwatched(ctx context.Context, req request) (reconcile.Result, error) {
	in := &gathered{request: req}
	err := r.gatherBinding(ctx, in)
	if err != nil || in.binding == nil || in.binding.GetDeletionTimestamp() != nil || templateOf(in.binding) != req {
		return reconcile.Result{}, err
	}
	needed, err := r.needed(ctx, req.Kind)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !needed {
		return reconcile.Result{}, r.leaveUnwatched(ctx, in)
	}
	_, err = r.kinds.ensure(ctx, req.Kind)
	switch {
	case err == nil:
		return reconcile.Result{RequeueAfter: r.kinds.LookAgain(req.Kind)}, nil // the template may be gone, which the first list does not show
	case kube.IsUnserved(err):
		r.plans(in, plan.Plan{}) // there is no template that could be edited
		r.sees(in, plan.Plan{})
	}
	return reconcile.Result{}, nil // the request for the kind reports the error
}

// leaveUnwatched sets the forced strategy on the binding of a template that will not be watched.
func (r *Reconciler) leaveUnwatched(ctx context.Context, in *gathered) (err error) {
	p := plan.Plan{}
	if released(in.binding) {
		if p, err = r.keep(ctx, in); err != nil {
			return err
		}
	}
	r.plans(in, p)
	if p.Strategy != nil {
		if err := r.confirmKept(ctx, in, p); err != nil {
			return err
		}
		if _, err := r.writeBinding(ctx, in.binding, func(b kube.Binding) { p.Restage(b) }); err != nil {
			return client.IgnoreNotFound(err)
		}
		ctrl.LoggerFrom(ctx).Info("Changed the strategy of a template that no policy has", "strategy", p.Strategy.Name, "binding", in.binding.GetName())
	}
	r.seen.SeeAny(in.binding)
	return nil
}

// keep decides about the strategy of a binding that no policy has any more. The template is read live only if the strategy that it names
// matters.
func (r *Reconciler) keep(ctx context.Context, in *gathered) (plan.Plan, error) {
	if err := r.gatherStrategies(ctx, in); err != nil {
		if errors.Is(err, errGone) {
			err = nil // everything in the namespace is being deleted
		}
		return plan.Plan{}, err
	}
	was, strategy := plan.StrategyOn(in.binding), plan.Kept(in.Input)
	if was == strategy {
		return plan.Plan{}, nil
	}
	if strategy.Name == "" {
		t := kube.MetadataOf(in.request.Kind)
		err := r.liveReader.Get(ctx, client.ObjectKey{Namespace: in.request.Namespace, Name: in.request.Name}, t)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err), err == nil && !plan.Owned(in.binding, t):
			return plan.Plan{}, nil // the garbage collector handles the binding
		case err != nil:
			return plan.Plan{}, fmt.Errorf("reading %s %q live: %w", in.request.Kind.Kind, in.request.Name, err)
		}
		in.Template = t
		strategy = plan.Kept(in.Input)
		in.Template = nil
	}
	return plan.Plan{Strategy: &strategy}, nil
}

// confirmKept reads live what a plan is based on that removes a strategy from a binding without a policy.
func (r *Reconciler) confirmKept(ctx context.Context, in *gathered, p plan.Plan) error {
	if !p.TakesAway(in.binding) {
		return nil
	}
	if err := r.sameStrategies(ctx, in); err != nil {
		return err
	}
	return r.sameNamespace(ctx, in)
}
