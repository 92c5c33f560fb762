package execution

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

// takeOver transfers the fields that another system's agent owns of an object that was just applied, and updates the
// object. It costs one request per object, once.
func (r *Reconciler) takeOver(ctx context.Context, m plan.Manifest, applied *unstructured.Unstructured) error {
	entries, err := plan.TakeOver(applied)
	if err != nil || entries == nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		// Whoever has changed the object since may own fields that are not listed here, hence the resourceVersion.
		"uid": applied.GetUID(), "resourceVersion": applied.GetResourceVersion(), "managedFields": entries,
	}})
	if err != nil {
		return fmt.Errorf("encoding the managed fields: %w", err)
	}
	if err := r.memberClient.Patch(ctx, applied, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerAgent)); err != nil {
		return fmt.Errorf("taking over the fields of another system's agent: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Took over the fields of an object that another system's agent owned", "manifest", m.Object.String())
	return nil
}
