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

// DeleteWork deletes a Work and writes on it first why: one of the values of
// contract.DeletionIntentAnnotation, without which an agent takes nothing from its member.
// Whoever is stopped between the two writes finds a Work that is as it was, but for that
// annotation. A Work that somebody else deleted gets its intent, too. One that is gone is no
// error; if there is another of its name, that is a conflict.
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
	err := WriteOrClearStatus(ctx, c, named(w), fieldManager, func() error {
		return c.Delete(ctx, named(w), client.Preconditions{UID: &uid})
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting work %q in %q: %w", w.Name, w.Namespace, err)
	}
	return nil
}

// WithdrawDeletion takes back the intent to delete a Work that is being deleted: its agent
// lets go of it and keeps what it brought, unless that is gone already.
func WithdrawDeletion(ctx context.Context, c client.Client, w *workv1alpha1.Work, fieldManager string) error {
	return client.IgnoreNotFound(setIntent(ctx, c, w, nil, fieldManager))
}

// setIntent writes the annotation, or removes it if the intent is nil.
func setIntent(ctx context.Context, c client.Client, w *workv1alpha1.Work, intent any, fieldManager string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": w.UID, "annotations": map[string]any{contract.DeletionIntentAnnotation: intent},
	}})
	if err != nil {
		return fmt.Errorf("encoding the intent to delete work %q: %w", w.Name, err)
	}
	err = WriteOrClearStatus(ctx, c, named(w), fieldManager, func() error {
		return c.Patch(ctx, named(w), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager))
	})
	if err != nil {
		return fmt.Errorf("writing on work %q in %q why it is deleted: %w", w.Name, w.Namespace, err)
	}
	return nil
}

// named returns a Work of which only is known which it is.
func named(w *workv1alpha1.Work) *workv1alpha1.Work {
	out := &workv1alpha1.Work{}
	out.Namespace, out.Name, out.UID = w.Namespace, w.Name, w.UID
	return out
}
