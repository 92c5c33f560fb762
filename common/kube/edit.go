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

// Edit is a change of one object in the making. Begin remembers the object as it was
// read; the caller changes it in place; Commit writes the difference.
type Edit struct {
	obj    client.Object
	before client.Object
	// untracked has Commit end the record of who set which field.
	untracked bool
}

// Untracked has the patch of the object, if there is one, end the record of who set which field.
// It is for objects that nobody but us writes, soon after they were made: the record is half of
// such an object, and to keep it is a third of what a write of its status costs the API server.
// It begins again only if somebody applies the object from the server's side.
func (e *Edit) Untracked() { e.untracked = true }

// Begin remembers obj, which must be as it was read (and a copy, if it came from a
// cache).
func Begin(obj client.Object) (*Edit, error) {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok {
		return nil, fmt.Errorf("copying %q: a copy of %T is no object", obj.GetName(), obj)
	}
	return &Edit{obj: obj, before: before}, nil
}

// Commit writes what changed since Begin: at most one patch of the object and one of
// its status, and none at all when nothing changed. Both fail with a conflict if
// somebody else wrote the object in the meantime. It reports whether it wrote, which may be
// so even if it fails: the object was written, and its status was not. The next try finds
// nothing to write there, so who tells people of the change tells them now. Afterwards the
// object is as the server returned it.
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

// CommitObject does what Commit does, without the status.
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

// CommitStatusFirst does what Commit does, the other way round: for who knows that another
// stage waits for the change of the object, and would write at the same time as the status
// is written. The status says for a moment what is not done yet.
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

// patch writes all but the status.
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

// goneError is the error of a patch whose object is not there any more.
type goneError struct{ error }

// Unwrap lets others see what the server said.
func (e goneError) Unwrap() error { return e.error }

// overtaken marks the error of a patch whose object was deleted since it was read.
func overtaken(err error) error {
	if apierrors.IsNotFound(err) {
		return goneError{err}
	}
	return err
}

// diff returns the merge patch of all but the status, and that of the status; nil
// where nothing changed.
func (e *Edit) diff() (spec map[string]json.RawMessage, status json.RawMessage, err error) {
	// Most edits change nothing, and to see that takes no encoding. What looks different here may be
	// the same as JSON, such as an empty list and none.
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

// locked adds the resourceVersion that the object has now to a patch, and that it is not to
// be tracked any more.
func (e *Edit) locked(patch map[string]json.RawMessage, untracked bool) (client.Patch, error) {
	metadata := map[string]any{}
	if raw, ok := patch["metadata"]; ok {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return nil, fmt.Errorf("comparing %q: %w", e.obj.GetName(), err)
		}
	}
	metadata["resourceVersion"] = e.obj.GetResourceVersion()
	if untracked {
		metadata["managedFields"] = []any{map[string]any{}} // one empty entry means none
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
