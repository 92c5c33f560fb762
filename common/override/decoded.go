package override

import (
	"fmt"
	"strings"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"

	kjson "k8s.io/apimachinery/pkg/util/json"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// decoded is the part of a rule that is the same for every cluster. It must not be modified.
type decoded struct {
	// values are the decoded values of plaintext; each cluster gets a copy.
	values []any
	// texts return the patches of fieldOverrider; each is decoded when its steps are first paid for.
	texts []func() (textPatch, error)
	// roots are the top-level fields of the object that contain the paths of the rule; empty for the whole object.
	roots []string
}

// textPatch are the operations on a text.
type textPatch struct {
	operations []operation
	patch      jsonpatch.Patch
}

func decodeRule(o *policyv1alpha1.Overriders) (*decoded, error) {
	if err := bounded(o); err != nil {
		return nil, err
	}
	out := &decoded{values: make([]any, len(o.Plaintext)), texts: make([]func() (textPatch, error), len(o.FieldOverrider))}
	for i := range o.Plaintext {
		p := &o.Plaintext[i]
		out.below(p.Path)
		if p.Operator != policyv1alpha1.OverrideAdd && p.Operator != policyv1alpha1.OverrideReplace {
			continue
		}
		if err := kjson.Unmarshal(p.Value.Raw, &out.values[i]); err != nil {
			return nil, fmt.Errorf("plaintext[%d], path %q: reading the value: %w", i, p.Path, err)
		}
	}
	for i := range o.FieldOverrider {
		out.below(o.FieldOverrider[i].FieldPath)
		out.texts[i] = sync.OnceValues(func() (textPatch, error) { return decodeText(&o.FieldOverrider[i]) })
	}
	for i := range o.ImageOverrider {
		if o.ImageOverrider[i].Predicate != nil {
			out.below(o.ImageOverrider[i].Predicate.Path)
		}
	}
	return out, nil
}

// below records the root of a path.
func (d *decoded) below(pointer string) {
	root, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
	d.roots = append(d.roots, unescape(root))
}

// mayChange returns whether the paths of the rule could lead to any of the fields. Overriders without a path, such as
// labels, never lead to fixed fields.
func (d *decoded) mayChange(fields []field) bool {
	for _, root := range d.roots {
		if root == "" {
			return true
		}
		for i := range fields {
			if fields[i].keys[0] == root {
				return true
			}
		}
	}
	return false
}

// decodeText decodes the operations on a text. An error names the operation.
func decodeText(o *policyv1alpha1.FieldOverrider) (textPatch, error) {
	var out textPatch
	kind := "yaml"
	for _, op := range o.YAML {
		out.operations = append(out.operations, newOperation(op.Operator, op.SubPath, op.Value.Raw))
	}
	if len(o.YAML) == 0 {
		kind = "json"
		for _, op := range o.JSON {
			out.operations = append(out.operations, newOperation(op.Operator, op.SubPath, op.Value.Raw))
		}
	}
	for i := range out.operations {
		one, err := decode(out.operations[i : i+1])
		if err != nil {
			return out, fmt.Errorf("%s[%d], subPath %q: %w", kind, i, out.operations[i].Path, err)
		}
		out.patch = append(out.patch, one...)
	}
	return out, nil
}
