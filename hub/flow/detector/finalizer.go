package detector

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/detector/claim"
)

// soonReleased is the first delay between two checks whether the templates of a policy that is being deleted are released.
const soonReleased = 100 * time.Millisecond

// untilReleased returns the next delay, which grows with the time that the policy has waited. Something may forbid forever that its claim
// is taken off a template.
func untilReleased(waited time.Duration) time.Duration {
	return max(soonReleased, watchset.LookAgain(waited))
}

// adopt gives a policy its permanent id and its finalizer, and returns whether it lacked one.
func (r *Reconciler) adopt(ctx context.Context, p policyv1alpha1.Policy) (bool, error) {
	return r.writePolicy(ctx, p, func(obj client.Object) {
		if claim.By(p).ID == "" {
			labels := maps.Clone(obj.GetLabels())
			if labels == nil {
				labels = map[string]string{}
			}
			labels[claim.IDLabel(p)] = string(uuid.NewUUID())
			obj.SetLabels(labels)
		}
		controllerutil.AddFinalizer(obj, finalizerOf(p))
	})
}

// retire removes the finalizer of a policy once it has no claims any more. Bindings, Works and the objects in the members stay.
func (r *Reconciler) retire(ctx context.Context, p policyv1alpha1.Policy) (reconcile.Result, error) {
	if !slices.Contains(p.GetFinalizers(), finalizerOf(p)) {
		return reconcile.Result{}, nil
	}
	left, err := r.askForClaimed(ctx, claim.By(p))
	if err != nil {
		return reconcile.Result{}, err
	}
	if left > 0 {
		return reconcile.Result{RequeueAfter: untilReleased(r.kinds.Clock.Since(p.GetDeletionTimestamp().Time))}, nil
	}
	_, err = r.writePolicy(ctx, p, func(obj client.Object) { controllerutil.RemoveFinalizer(obj, finalizerOf(p)) })
	if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ctrl.LoggerFrom(ctx).Info("Released all templates of policy")
	return reconcile.Result{}, nil
}

func finalizerOf(p policyv1alpha1.Policy) string {
	if p.GetNamespace() == "" {
		return contract.ClusterPropagationPolicyFinalizer
	}
	return contract.PropagationPolicyFinalizer
}
