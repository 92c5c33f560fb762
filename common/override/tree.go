package override

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// Reasons why an operation cannot be applied.
var (
	errNothingThere = errors.New("the path does not exist")
	errNoParent     = errors.New("the parent of the path does not exist")
	errOperator     = errors.New("the operator is none of add, replace and remove")
)

// patchTree applies one operation of RFC 6902 to a decoded document and returns the document, which is a new one if
// the path is that of the root. It modifies the document in place: encoding it for a patch library and decoding the
// result would cost more than the rest of rendering. It supports the three operators of overriders; a negative index
// counts from the end, which people use. The document may contain value afterwards, so value must not be shared.
func patchTree(root any, op policyv1alpha1.OverriderOperator, pointer string, value any, steps *budget) (any, error) {
	if err := steps.spend(1); err != nil {
		return nil, err
	}
	switch op {
	case policyv1alpha1.OverrideAdd, policyv1alpha1.OverrideReplace, policyv1alpha1.OverrideRemove:
	default:
		return nil, fmt.Errorf("%w: %q", errOperator, op)
	}
	if pointer == "" {
		if op == policyv1alpha1.OverrideRemove {
			return nil, errNothingThere
		}
		return value, nil
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("%w: it does not start with a slash", errNothingThere)
	}
	return patchBelow(root, strings.Split(pointer[1:], "/"), op, value, steps)
}

// patchBelow applies an operation at tokens below a node, and returns the node: a list whose length changed is a new
// one.
func patchBelow(node any, tokens []string, op policyv1alpha1.OverriderOperator, value any, steps *budget) (any, error) {
	token := unescape(tokens[0])
	switch n := node.(type) {
	case map[string]any:
		if len(tokens) == 1 {
			return n, patchField(n, token, op, value)
		}
		next, ok := n[token]
		if !ok {
			return nil, errNoParent
		}
		changed, err := patchBelow(next, tokens[1:], op, value, steps)
		if err != nil {
			return nil, err
		}
		n[token] = changed
		return n, nil
	case []any:
		if len(tokens) == 1 {
			if err := steps.spend(len(n) / elementsInStep); err != nil {
				return nil, err
			}
			return patchElement(n, token, op, value)
		}
		index, err := indexIn(token, len(n))
		if err != nil {
			return nil, errNoParent
		}
		changed, err := patchBelow(n[index], tokens[1:], op, value, steps)
		if err != nil {
			return nil, err
		}
		n[index] = changed
		return n, nil
	default:
		return nil, errNoParent
	}
}

func patchField(fields map[string]any, name string, op policyv1alpha1.OverriderOperator, value any) error {
	if _, ok := fields[name]; !ok && op != policyv1alpha1.OverrideAdd {
		return errNothingThere
	}
	if op == policyv1alpha1.OverrideRemove {
		delete(fields, name)
	} else {
		fields[name] = value
	}
	return nil
}

func patchElement(list []any, token string, op policyv1alpha1.OverriderOperator, value any) (any, error) {
	if op == policyv1alpha1.OverrideAdd {
		if token == "-" {
			return append(list, value), nil
		}
		index, err := indexIn(token, len(list)+1)
		if err != nil {
			return nil, err
		}
		list = append(list, nil)
		copy(list[index+1:], list[index:])
		list[index] = value
		return list, nil
	}
	index, err := indexIn(token, len(list))
	if err != nil {
		return nil, err
	}
	if op == policyv1alpha1.OverrideRemove {
		return append(list[:index:index], list[index+1:]...), nil
	}
	list[index] = value
	return list, nil
}

// indexIn parses an index of a list of this length.
func indexIn(token string, length int) (int, error) {
	index, err := strconv.Atoi(token)
	if index < 0 {
		index += length
	}
	if err != nil || index < 0 || index >= length {
		return 0, fmt.Errorf("%w: there is no element %q", errNothingThere, token)
	}
	return index, nil
}
