package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// DeleteWork sets the reason on a Work, one of the values of contract.DeletionIntentAnnotation, and deletes the Work.
// Without the reason an agent deletes nothing in its member. If the process ends between the two writes, the Work
// stays, with an annotation that has no effect. A Work that somebody else has deleted gets the reason, too. A missing
// Work is no error; another Work of the same name is a conflict.
func DeleteWork(ctx context.Context, c client.Client, w *workv1alpha1.Work, intent, fieldManager string) error {
	if w.Annotations[contract.DeletionIntentAnnotation] != intent {
		if err := setIntent(ctx, c, w, intent, fieldManager); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if !w.DeletionTimestamp.IsZero() {
		return nil
	}
	uid := w.UID
	err := WriteOrMakeRoom(ctx, c, named(w), fieldManager, func() error {
		return c.Delete(ctx, named(w), client.Preconditions{UID: &uid})
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting work %q in %q: %w", w.Name, w.Namespace, err)
	}
	return nil
}

// WithdrawDeletion removes the reason from a Work that is being deleted: its agent then releases the Work and keeps
// the objects, unless it has deleted them already.
func WithdrawDeletion(ctx context.Context, c client.Client, w *workv1alpha1.Work, fieldManager string) error {
	return client.IgnoreNotFound(setIntent(ctx, c, w, nil, fieldManager))
}

// setIntent sets the annotation, or removes it if the intent is nil. It also clears managedFields, which an agent may
// have filled.
func setIntent(ctx context.Context, c client.Client, w *workv1alpha1.Work, intent any, fieldManager string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": w.UID, "annotations": map[string]any{contract.DeletionIntentAnnotation: intent},
		"managedFields": []any{map[string]any{}}, // one empty entry clears the list
	}})
	if err != nil {
		return fmt.Errorf("encoding the intent to delete work %q: %w", w.Name, err)
	}
	err = WriteOrMakeRoom(ctx, c, named(w), fieldManager, func() error {
		return c.Patch(ctx, named(w), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager))
	})
	if err != nil {
		return fmt.Errorf("writing on work %q in %q why it is deleted: %w", w.Name, w.Namespace, err)
	}
	return nil
}

// named returns a Work with only its identity set.
func named(w *workv1alpha1.Work) *workv1alpha1.Work {
	out := &workv1alpha1.Work{}
	out.Namespace, out.Name, out.UID = w.Namespace, w.Name, w.UID
	return out
}
