package detector

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/plan"
)

// released says whether a binding is one of ours that no policy has any more. It is rendered as before.
func released(b kube.Binding) bool {
	return !claimed(b) && bindings.FingerprintOn(b) != "" && b.GetDeletionTimestamp() == nil
}

// askForReleased asks for the templates of bindings that no policy has any more: nobody may watch their kinds, and no policy asks for them.
func (r *Reconciler) askForReleased(ctx context.Context, q requests, opts ...client.ListOption) {
	found, err := kube.ResourceBindings().List(ctx, r.hubClient, opts...)
	if err != nil {
		return // the cache is stopping
	}
	for _, b := range found {
		if template := templateOf(b); released(b) && made(b, template) {
			q.Add(template)
		}
	}
}

// enforce has the binding of a template that no policy has any more, and of a kind that nobody watches, say the strategy that is forced on
// its namespace.
func (r *Reconciler) enforce(ctx context.Context, req request) error {
	in := &gathered{request: req}
	if err := r.gatherBinding(ctx, in); err != nil || in.binding == nil || !released(in.binding) {
		return err
	}
	if err := r.gatherStrategies(ctx, in); err != nil {
		if errors.Is(err, errGone) {
			return nil
		}
		return err
	}
	strategy := plan.Enforced(in.Input)
	if strategy == nil {
		return nil
	}
	_, err := r.writeBinding(ctx, in.binding, func(b kube.Binding) { strategy.Set(b) })
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Forced a strategy on a template that no policy has", "strategy", strategy.Name)
	}
	return client.IgnoreNotFound(err)
}
