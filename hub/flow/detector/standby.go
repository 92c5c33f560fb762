package detector

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// followEvery is how often a standby hub checks which kinds policies name.
const followEvery = 2 * time.Second

// follow watches the kinds that policies name until this hub is elected. From then on the reconciles of policies do that. They find the
// templates in the cache, and the templates to reconcile are in the queue.
func (r *Reconciler) follow(ctx context.Context, elected <-chan struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		select {
		case <-elected:
			cancel()
			return
		default:
		}
		for kind := range r.named(ctx) {
			if _, err := r.kinds.ensure(ctx, kind); err != nil && ctx.Err() == nil {
				ctrl.LoggerFrom(ctx).V(1).Info("Not watching a kind before this hub works", "kind", kind.String(), "reason", err.Error())
			}
		}
	}, followEvery)
}

// named returns the kinds that the cached policies name.
func (r *Reconciler) named(ctx context.Context) map[schema.GroupVersionKind]struct{} {
	out := map[schema.GroupVersionKind]struct{}{}
	add := func(p policyv1alpha1.Policy) {
		for _, kind := range kindsOf(p) {
			if !r.exclusions.ExcludesKind(kind) {
				out[kind] = struct{}{}
			}
		}
	}
	// An error means that the cache is stopping.
	namespaced, global := &policyv1alpha1.PropagationPolicyList{}, &policyv1alpha1.ClusterPropagationPolicyList{}
	if err := r.hubClient.List(ctx, namespaced, client.UnsafeDisableDeepCopy); err == nil {
		for i := range namespaced.Items {
			add(&namespaced.Items[i])
		}
	}
	if err := r.hubClient.List(ctx, global, client.UnsafeDisableDeepCopy); err == nil {
		for i := range global.Items {
			add(&global.Items[i])
		}
	}
	return out
}
