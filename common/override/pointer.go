package override

import (
	"fmt"
	"strconv"
	"strings"
)

// place is a string within an object, which can be replaced.
type place struct {
	value string
	set   func(string)
}

// stringAt finds the string at a JSON pointer.
func stringAt(root map[string]any, pointer string) (place, error) {
	if !strings.HasPrefix(pointer, "/") {
		return place{}, fmt.Errorf("path %q does not start with a slash", pointer)
	}
	var current any = root
	set := func(string) {}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = unescape(token)
		switch node := current.(type) {
		case map[string]any:
			next, ok := node[token]
			if !ok {
				return place{}, fmt.Errorf("path %q: there is no field %q; correct the path", pointer, token)
			}
			current, set = next, func(s string) { node[token] = s }
		case []any:
			index, err := strconv.Atoi(token)
			if err != nil || index < 0 || index >= len(node) {
				return place{}, fmt.Errorf("path %q: there is no element %q in a list of %d; correct the path", pointer, token, len(node))
			}
			current, set = node[index], func(s string) { node[index] = s }
		default:
			return place{}, fmt.Errorf("path %q: there is nothing below %T at %q; correct the path", pointer, current, token)
		}
	}
	value, ok := current.(string)
	if !ok {
		return place{}, fmt.Errorf("path %q: what is there is not a string; choose a path to a string", pointer)
	}
	return place{value: value, set: set}, nil
}

// unescape decodes a token of a JSON pointer.
func unescape(token string) string {
	if !strings.Contains(token, "~") {
		return token
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}
