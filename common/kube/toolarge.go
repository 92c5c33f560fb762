package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errorsTooLarge are the messages with which etcd, or the connection to it, refuses an object. The API server passes
// them on without a reason.
var errorsTooLarge = [...]string{"etcdserver: request is too large", "trying to send message larger than max"} //nolint:gochecknoglobals // It is constant.

// IsTooLarge returns whether a write failed because the whole object would be larger than the API can store.
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

// WriteOrMakeRoom writes an object whose status is that of an agent. If the object is too large to be written, all that an agent may have filled
// is cleared and the write is made again: an agent that fills it must not keep the hub from writing the rest. The second write may find that
// somebody else wrote the object meanwhile.
func WriteOrMakeRoom(ctx context.Context, c client.Client, obj client.Object, fieldManager string, write func() error) error {
	err := write()
	if !IsTooLarge(err) {
		return err
	}
	live, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copying %q: a copy of %T is no object", obj.GetName(), obj)
	}
	patched := func(what string, patch map[string]any, by func(client.Patch) error) error {
		data, err := json.Marshal(patch)
		if err != nil {
			return fmt.Errorf("encoding that %q has no %s: %w", obj.GetName(), what, err)
		}
		if err := by(client.RawPatch(types.MergePatchType, data)); err != nil {
			return fmt.Errorf("clearing %s of %q, for which the object has no room: %w", what, obj.GetName(), err)
		}
		return nil
	}
	noStatus := map[string]any{"metadata": map[string]any{"uid": obj.GetUID()}, "status": nil}
	if err := patched("the status", noStatus, func(patch client.Patch) error {
		return c.Status().Patch(ctx, live, patch, client.FieldOwner(fieldManager))
	}); err != nil {
		return err
	}
	if err := patched("the metadata", map[string]any{"metadata": roomyMetadata(live)}, func(patch client.Patch) error {
		return c.Patch(ctx, live, patch, client.FieldOwner(fieldManager))
	}); err != nil {
		return err
	}
	return write()
}

// roomyMetadata returns what is to be written into the metadata of a live object that an agent may have filled. The API leaves managedFields as
// they are when a status is written, and generateName, which means nothing once there is a name, and finalizers may be of any length there.
func roomyMetadata(live client.Object) map[string]any {
	out := map[string]any{"uid": live.GetUID(), "managedFields": []any{map[string]any{}}, "generateName": nil} // one empty entry means none
	if once := sets.New(live.GetFinalizers()...); len(once) < len(live.GetFinalizers()) {
		out["finalizers"], out["resourceVersion"] = sets.List(once), live.GetResourceVersion()
	}
	return out
}
