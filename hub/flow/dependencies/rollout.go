package dependencies

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
)

// inUse returns what clusters may still need of what a workload needed once, by the names of
// the bindings; all says that it may be anything. Where changes are rolled out in waves, a cluster
// may have a revision that needs what the template does not name any more: that goes when
// every cluster has one that does without it.
func (r *Reconciler) inUse(ctx context.Context, b kube.Binding) (needed map[types.NamespacedName]object, all bool, err error) {
	if !inWaves(b) {
		return nil, false, nil
	}
	kind := kube.RolloutsIn(b.GetNamespace())
	rollout := kind.New()
	err = r.hubClient.Get(ctx, client.ObjectKeyFromObject(b), rollout)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading %s %q: %w", kind.Kind, b.GetName(), err)
	case !everywhere(rollout.RolloutStatus()):
		return nil, true, nil
	}
	kept, err := r.stable(ctx, rollout)
	if kept == nil || err != nil {
		return nil, err == nil, err
	}
	refs, err := r.interpreter.Dependencies(ctx, kept.Main.Template())
	if err != nil {
		return nil, false, fmt.Errorf("reading what revision %d of %q needs: %w", rollout.RolloutStatus().Stable, b.GetName(), err)
	}
	found, err := r.find(ctx, refs)
	if err != nil || found.syncing {
		return nil, err == nil, err
	}
	needed = map[types.NamespacedName]object{}
	for _, o := range found.objects {
		needed[o.binding()] = o
	}
	return needed, false, nil
}

// inWaves says whether changes of a workload, and of what it needs, are rolled out in waves.
func inWaves(b kube.Binding) bool {
	name := b.GetAnnotations()[contract.RolloutStrategyAnnotation]
	return name != "" && name != contract.RolloutStrategyNone
}

// everywhere says whether all clusters have the revision that is stable.
func everywhere(status *fairleadv1alpha1.StagedRolloutStatus) bool {
	if status.Stable == 0 || status.Phase != fairleadv1alpha1.RolloutCompleted {
		return false
	}
	for _, group := range status.Clusters {
		if group.Revision != status.Stable {
			return false
		}
	}
	return true
}

// stable reads the revision that all clusters have; nil if that cannot be read.
func (r *Reconciler) stable(ctx context.Context, rollout kube.Rollout) (*revision.Kept, error) {
	status := rollout.RolloutStatus()
	for _, rev := range status.Revisions {
		if rev.Number != status.Stable {
			continue
		}
		secret := &corev1.Secret{}
		key := client.ObjectKey{Namespace: revision.SecretNamespace(rollout), Name: revision.SecretName(rollout, rev.Number)}
		if err := r.liveReader.Get(ctx, key, secret); err != nil {
			if apierrors.IsNotFound(err) {
				return nil, nil //nolint:nilnil // That it is gone is an answer.
			}
			return nil, fmt.Errorf("reading secret %q: %w", key, err)
		}
		kept, err := revision.Decode(secret.Data[revision.SecretKey], revision.ID{Number: rev.Number, Hash: rev.Hash})
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // It moves nothing.
		}
		return kept, nil
	}
	return nil, nil //nolint:nilnil // See above.
}

// rolloutSource asks for the binding of a rollout that has reached every cluster, or is gone.
func rolloutSource[R kube.Rollout](c cache.Cache, rollout R) source.TypedSource[request] {
	return source.TypedKind(c, rollout, handler.TypedFuncs[R, request]{
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[R], q requests) {
			before, now := e.ObjectOld.RolloutStatus(), e.ObjectNew.RolloutStatus()
			if everywhere(now) && (!everywhere(before) || before.Stable != now.Stable) {
				q.Add(client.ObjectKeyFromObject(e.ObjectNew))
			}
		},
	})
}
