package binding

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// identify gives a binding that no stage created, and that therefore has no permanent id, its own uid as one, and the finalizer by which
// its Works are deleted with it.
func (r *reconciler) identify(ctx context.Context, binding kube.Binding) error {
	edit, err := kube.Begin(binding)
	if err != nil {
		return err
	}
	bindings.Identify(binding, string(binding.GetUID()))
	bindings.AddFinalizer(binding)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerBinding); err != nil {
		return fmt.Errorf("giving %q a permanent id: %w", binding.GetName(), err)
	}
	ctrl.LoggerFrom(ctx).Info("Gave a binding that somebody made its permanent id")
	return nil
}
