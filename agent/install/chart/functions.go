package chart

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// RefusedError reports values that the chart refuses, in the chart's words.
type RefusedError struct{ message string }

// Error implements error.
func (e *RefusedError) Error() string { return e.message }

// function is a template function with a fixed number of arguments; 0 accepts any number.
type function struct {
	arguments int
	of        func(args []any) (any, error)
}

func (f function) call(name string, args []any) (any, error) {
	if f.arguments > 0 && len(args) != f.arguments {
		return nil, fmt.Errorf("%s takes %d arguments, not %d", name, f.arguments, len(args))
	}
	return f.of(args)
}

// functions returns the functions that templates may call, besides include, as Helm defines them.
func functions() map[string]function {
	pure := func(arguments int, of func(a []any) any) function {
		return function{arguments: arguments, of: func(a []any) (any, error) { return of(a), nil }}
	}
	return map[string]function{
		"and":       pure(0, func(a []any) any { return a[len(a)-1] }), // all others were true
		"or":        pure(0, func(a []any) any { return a[len(a)-1] }), // all others were false
		"not":       pure(1, func(a []any) any { return !isTrue(a[0]) }),
		"eq":        pure(2, func(a []any) any { return reflect.DeepEqual(a[0], a[1]) }),
		"ne":        pure(2, func(a []any) any { return !reflect.DeepEqual(a[0], a[1]) }),
		"b64enc":    pure(1, func(a []any) any { return base64.StdEncoding.EncodeToString([]byte(text(a[0]))) }),
		"hasSuffix": pure(2, func(a []any) any { return strings.HasSuffix(text(a[1]), text(a[0])) }),
		"quote":     pure(1, func(a []any) any { return strconv.Quote(text(a[0])) }),
		"default": pure(2, func(a []any) any {
			if isTrue(a[1]) {
				return a[1]
			}
			return a[0]
		}),
		"fail":    {arguments: 1, of: func(a []any) (any, error) { return nil, &RefusedError{text(a[0])} }},
		"has":     {arguments: 2, of: has},
		"join":    {arguments: 2, of: join},
		"nindent": {arguments: 2, of: nindent},
		"splitn":  {arguments: 3, of: splitn},
		"toYaml":  {arguments: 1, of: toYAML},
	}
}

func has(a []any) (any, error) {
	list, isList := a[1].([]any)
	if !isList && a[1] != nil {
		return nil, fmt.Errorf("has looks through a list, not %T", a[1])
	}
	return slices.Contains(list, a[0]), nil
}

func join(a []any) (any, error) {
	list, isList := a[1].([]any)
	if !isList && a[1] != nil {
		return nil, fmt.Errorf("join takes a list, not %T", a[1])
	}
	texts := make([]string, 0, len(list))
	for _, element := range list {
		texts = append(texts, text(element))
	}
	return strings.Join(texts, text(a[0])), nil
}

func nindent(a []any) (any, error) {
	count, isInt := a[0].(int)
	if !isInt || count < 0 {
		return nil, fmt.Errorf("nindent takes a number of spaces, not %v", a[0])
	}
	before := strings.Repeat(" ", count)
	return "\n" + before + strings.ReplaceAll(text(a[1]), "\n", "\n"+before), nil
}

// splitn splits a text into the parts _0, _1 and so on.
func splitn(a []any) (any, error) {
	count, isInt := a[1].(int)
	if !isInt {
		return nil, fmt.Errorf("splitn takes a number of parts, not %v", a[1])
	}
	out := map[string]any{}
	for i, part := range strings.SplitN(text(a[2]), text(a[0]), count) {
		out["_"+strconv.Itoa(i)] = part
	}
	return out, nil
}

func toYAML(a []any) (any, error) {
	out, err := yaml.Marshal(a[0])
	if err != nil {
		return nil, fmt.Errorf("encoding a value: %w", err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// text formats a value for the rendered output.
func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		return fmt.Sprint(v)
	}
}

// isTrue returns whether a value counts as true in a condition.
func isTrue(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int:
		return v != 0
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}
