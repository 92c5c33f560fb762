package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errorsTooLarge are how the database behind an API, and the way to it, refuse an object. The API server passes them on as errors
// of no reason.
var errorsTooLarge = [...]string{"etcdserver: request is too large", "trying to send message larger than max"} //nolint:gochecknoglobals // It is constant.

// IsTooLarge says whether a write failed because the whole object would be larger than the API stores.
func IsTooLarge(err error) bool {
	if err == nil {
		return false
	}
	for _, text := range errorsTooLarge {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return apierrors.IsRequestEntityTooLargeError(err)
}

// WriteOrClearStatus writes an object whose status is that of an agent. If the object is too large to be written, its status is cleared and the write
// is made again: an agent that fills a status must not keep the hub from writing the rest. The second write may find that somebody else
// wrote the object meanwhile.
func WriteOrClearStatus(ctx context.Context, c client.Client, obj client.Object, fieldManager string, write func() error) error {
	err := write()
	if !IsTooLarge(err) {
		return err
	}
	patch, encodeErr := json.Marshal(map[string]any{"metadata": map[string]any{"uid": obj.GetUID()}, "status": nil})
	if encodeErr != nil {
		return fmt.Errorf("encoding that %q has no status: %w", obj.GetName(), encodeErr)
	}
	cleared, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copying %q: a copy of %T is no object", obj.GetName(), obj)
	}
	if clearErr := c.Status().Patch(ctx, cleared, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager)); clearErr != nil {
		return fmt.Errorf("clearing the status of %q, which leaves the object no room: %w", obj.GetName(), clearErr)
	}
	return write()
}
