package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Edit is a change to one object. Begin remembers the object as it was read, the caller changes it in place, and Commit
// writes the difference.
type Edit struct {
	obj    client.Object
	before client.Object
	// untracked says that the patch clears managedFields.
	untracked bool
}

// Untracked makes the patch of the object, if there is one, clear its managedFields. It is for objects that only
// Fairlead writes: managedFields are half of such an object, and maintaining them is a third of the API server's cost
// of a status write. They stay empty unless somebody uses server-side apply. It is also for objects that an agent
// writes as well, since an agent may have filled managedFields to the limit.
func (e *Edit) Untracked() { e.untracked = true }

// Begin remembers obj, which must be unchanged since it was read, and a copy if it came from a cache.
func Begin(obj client.Object) (*Edit, error) {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("copying %q: a copy of %T is no object", obj.GetName(), obj)
	}
	return &Edit{obj: obj, before: before}, nil
}

// Commit writes the changes since Begin: at most one patch of the object and one of its status, and none if nothing changed. Both fail with
// a conflict if somebody else wrote the object in the meantime. Commit returns whether it wrote, which may be true beside an error: then
// the object was written and its status was not, and the caller should report the change now, since the next try finds nothing left to
// write. Afterwards the object is as the server returned it.
func (e *Edit) Commit(ctx context.Context, c client.Client, fieldManager string) (bool, error) {
	spec, status, err := e.diff()
	if err != nil {
		return false, err
	}
	if err := e.patch(ctx, c, spec, fieldManager); err != nil {
		return false, err
	}
	if err := e.patchStatus(ctx, c, status, fieldManager); err != nil {
		return spec != nil, err
	}
	return spec != nil || status != nil, nil
}

// CommitObject is Commit without the status.
func (e *Edit) CommitObject(ctx context.Context, c client.Client, fieldManager string) (bool, error) {
	spec, _, err := e.diff()
	if err != nil {
		return false, err
	}
	if err := e.patch(ctx, c, spec, fieldManager); err != nil {
		return false, err
	}
	return spec != nil, nil
}

// CommitStatusFirst is Commit with the status first. It is for a change of the object that triggers another stage's
// write immediately, with which a later write of the status would conflict. For a moment the status is ahead of the
// object.
func (e *Edit) CommitStatusFirst(ctx context.Context, c client.Client, fieldManager string) (bool, error) {
	spec, status, err := e.diff()
	if err != nil {
		return false, err
	}
	if err := e.patchStatus(ctx, c, status, fieldManager); err != nil {
		return false, err
	}
	if err := e.patch(ctx, c, spec, fieldManager); err != nil {
		return status != nil, err
	}
	return spec != nil || status != nil, nil
}

// patch writes the object without its status.
func (e *Edit) patch(ctx context.Context, c client.Client, spec map[string]json.RawMessage, fieldManager string) error {
	if spec == nil {
		return nil
	}
	patch, err := e.locked(spec, e.untracked)
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, e.obj, patch, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("patching %q: %w", e.obj.GetName(), overtaken(err))
	}
	return nil
}

func (e *Edit) patchStatus(ctx context.Context, c client.Client, status json.RawMessage, fieldManager string) error {
	if status == nil {
		return nil
	}
	patch, err := e.locked(map[string]json.RawMessage{"status": status}, false)
	if err != nil {
		return err
	}
	if err := c.Status().Patch(ctx, e.obj, patch, client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("patching the status of %q: %w", e.obj.GetName(), overtaken(err))
	}
	return nil
}

// goneError says that the object of a patch does not exist any more.
type goneError struct{ error }

// Unwrap returns the server's error.
func (e goneError) Unwrap() error { return e.error }

// overtaken marks the error of a patch whose object was deleted after it was read.
func overtaken(err error) error {
	if apierrors.IsNotFound(err) {
		return goneError{err}
	}
	return err
}

// diff returns the merge patch of the object without its status, and that of the status; nil where nothing changed.
func (e *Edit) diff() (spec map[string]json.RawMessage, status json.RawMessage, err error) {
	// Most edits change nothing, which this comparison detects without encoding. Values that differ here may still be
	// equal in JSON, such as an empty list and a missing one.
	if reflect.DeepEqual(e.before, e.obj) {
		return nil, nil, nil
	}
	before, err := json.Marshal(e.before)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding %q: %w", e.obj.GetName(), err)
	}
	after, err := json.Marshal(e.obj)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding %q: %w", e.obj.GetName(), err)
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, nil, fmt.Errorf("comparing %q: %w", e.obj.GetName(), err)
	}
	if err := json.Unmarshal(patch, &spec); err != nil {
		return nil, nil, fmt.Errorf("comparing %q: %w", e.obj.GetName(), err)
	}
	status = spec["status"]
	delete(spec, "status")
	if len(spec) == 0 {
		spec = nil
	}
	return spec, status, nil
}

// locked adds the object's present resourceVersion to a patch, and clears managedFields if the Edit is Untracked.
func (e *Edit) locked(patch map[string]json.RawMessage, untracked bool) (client.Patch, error) {
	metadata := map[string]any{}
	if raw, ok := patch["metadata"]; ok {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return nil, fmt.Errorf("comparing %q: %w", e.obj.GetName(), err)
		}
	}
	metadata["resourceVersion"] = e.obj.GetResourceVersion()
	if untracked {
		metadata["managedFields"] = []any{map[string]any{}} // one empty entry clears the list
	}
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: %w", e.obj.GetName(), err)
	}
	patch["metadata"] = raw
	data, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding %q: %w", e.obj.GetName(), err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}
