package override

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// operation is one operation of a JSON patch.
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// errNoValue refuses an operation without a value: it would set null, which is a mistake of its author. The API drops
// nulls as well, so a null cannot be told from a missing value.
var errNoValue = errors.New("it has no value to set; give it one, or use remove to take the field away")

// needsValue returns an error if an operation lacks a value that its operator needs.
func needsValue(op policyv1alpha1.OverriderOperator, value []byte) error {
	missing := len(value) == 0 || string(bytes.TrimSpace(value)) == "null"
	if missing && (op == policyv1alpha1.OverrideAdd || op == policyv1alpha1.OverrideReplace) {
		return errNoValue
	}
	return nil
}

// newOperation returns an operation; remove has no value.
func newOperation(op policyv1alpha1.OverriderOperator, path string, value []byte) operation {
	if len(value) == 0 {
		value = []byte("null")
	}
	return operation{Op: string(op), Path: path, Value: value}
}

// applyPlaintext applies operations with decoded values.
func applyPlaintext(obj *unstructured.Unstructured, list []policyv1alpha1.PlaintextOverrider, values []any, steps *budget) error {
	if len(list) == 0 {
		return nil
	}
	kind, apiVersion := obj.GetKind(), obj.GetAPIVersion()
	var document any = obj.Object
	for i := range list {
		var err error
		if document, err = patchTree(document, list[i].Operator, list[i].Path, runtime.DeepCopyJSONValue(values[i]), steps); err != nil {
			return fmt.Errorf("plaintext[%d], path %q: %w", i, list[i].Path, explain(string(list[i].Operator), err))
		}
	}
	content, ok := document.(map[string]any)
	if !ok || content["kind"] != kind || content["apiVersion"] != apiVersion {
		return errors.New("plaintext: the result is no object of the same apiVersion and kind any more; override what is below metadata, spec or data")
	}
	if _, ok := content["metadata"].(map[string]any); !ok {
		return errors.New("plaintext: the result has no metadata any more; override single fields of it")
	}
	obj.Object = content
	return nil
}

// apply applies the operations to a document. If one fails it returns its index.
func (p textPatch) apply(document []byte) ([]byte, int, error) {
	all := p.patch
	out, err := all.Apply(document)
	if err == nil {
		return out, 0, nil
	}
	// The library does not say which operation failed: search for the shortest prefix that fails.
	at := sort.Search(len(all)-1, func(i int) bool {
		_, failed := all[:i+1].Apply(document)
		if failed != nil {
			err = failed
		}
		return failed != nil
	})
	return nil, at, explain(p.operations[at].Op, err)
}

func decode(operations []operation) (jsonpatch.Patch, error) {
	raw, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encoding the value: %w", err)
	}
	decoded, err := jsonpatch.DecodePatch(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the operation: %w", err)
	}
	return decoded, nil
}

// explain says what to do about a path that does not exist.
func explain(op string, err error) error {
	missing := errors.Is(err, errNothingThere) || errors.Is(err, errNoParent) ||
		errors.Is(err, jsonpatch.ErrMissing) || errors.Is(err, jsonpatch.ErrInvalidIndex)
	if !missing {
		return err
	}
	if policyv1alpha1.OverriderOperator(op) == policyv1alpha1.OverrideAdd {
		return fmt.Errorf("the parent of this path does not exist, add it first: %w", err)
	}
	return fmt.Errorf("there is nothing at this path to %s; correct the path or use add: %w", op, err)
}
