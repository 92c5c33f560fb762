package dependencies

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// inUse returns what clusters may still need of a workload's former dependencies, by the names of the bindings; all says that it may be
// anything. With a rollout in waves, a cluster may have a revision that needs objects which the template does not name any more. They are
// detached when every cluster has a revision without them. The progress is read from rollouts; attached is what would be detached.
func (r *Reconciler) inUse(
	ctx context.Context, rollouts client.Reader, b kube.Binding, attached []kube.Binding,
) (needed map[types.NamespacedName]plan.Object, all bool, err error) {
	if !bindings.IsStaged(b) {
		return nil, false, nil
	}
	kind := kube.RolloutsIn(b.GetNamespace())
	rollout := kind.New()
	err = rollouts.Get(ctx, client.ObjectKeyFromObject(b), rollout)
	switch {
	case apierrors.IsNotFound(err):
		return nil, true, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading %s %q: %w", kind.Kind, b.GetName(), err)
	case !everywhere(rollout.RolloutStatus()):
		return nil, true, nil
	}
	status := rollout.RolloutStatus()
	kept, err := kube.ReadRevision(ctx, r.liveReader, rollout, revision.Of(status.Revisions, status.Stable))
	switch {
	case errors.Is(err, revision.ErrUnreadable):
		return nil, true, nil
	case err != nil:
		return nil, false, err
	}
	if !r.interpreter.Has(plan.KindOf(b), interpreter.InterpretDependency) {
		return nil, false, nil // the rule was removed on purpose; see answerers
	}
	refs, err := r.interpreter.Dependencies(ctx, kept.Main.Template())
	if err != nil {
		return nil, false, fmt.Errorf("reading what revision %d of %q needs: %w", status.Stable, b.GetName(), err)
	}
	permitted, err := r.permit(ctx, b, refs, attached)
	var found plan.Finding
	if err == nil {
		found, err = r.find(ctx, slices.Concat(permitted.Granted, permitted.Stays, permitted.Ending))
	}
	if _, later := errors.AsType[syncing](err); later {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	needed = map[types.NamespacedName]plan.Object{}
	for _, o := range found.Objects {
		needed[o.Binding()] = o
	}
	return needed, false, nil
}

// everywhere returns whether all clusters have the stable revision.
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

// rolloutSource requests the binding of a rollout that has reached every cluster.
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
