package vm

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"fairlead.dev/common/prose"
)

// Results are the return values of a function. They are valid until the reader returns.
type Results struct {
	values []lua.LValue
	memory memory
}

// Nothing returns whether the result at an index, from 0, is absent or nil.
func (r *Results) Nothing(i int) bool { return r.at(i) == lua.LNil }

func (r *Results) at(i int) lua.LValue {
	if i >= len(r.values) {
		return lua.LNil
	}
	return r.values[i]
}

// Number returns the result at an index, which must be a number.
func (r *Results) Number(i int) (float64, error) {
	n, ok := r.at(i).(lua.LNumber)
	if !ok {
		return 0, r.wrong(i, "a number")
	}
	return float64(n), nil
}

// Bool returns the result at an index, which must be true or false.
func (r *Results) Bool(i int) (bool, error) {
	b, ok := r.at(i).(lua.LBool)
	if !ok {
		return false, r.wrong(i, "true or false")
	}
	return bool(b), nil
}

// Object returns the result at an index, which must be a table with string keys. An empty table is an empty object.
func (r *Results) Object(i int) (map[string]any, error) {
	v, err := r.table(i, "an object")
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		return v, nil
	case nil:
		return map[string]any{}, nil
	case []any:
		if len(v) == 0 {
			return map[string]any{}, nil
		}
	}
	return nil, fmt.Errorf("%s must be an object, but is a list", which(i))
}

// List returns the result at an index, which must be a list.
func (r *Results) List(i int) ([]any, error) {
	v, err := r.table(i, "a list")
	if err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case []any:
		return v, nil
	case nil:
		return []any{}, nil
	case map[string]any:
		if len(v) == 0 {
			return []any{}, nil
		}
	}
	return nil, fmt.Errorf("%s must be a list, but is an object", which(i))
}

func (r *Results) table(i int, wanted string) (any, error) {
	t, ok := r.at(i).(*lua.LTable)
	if !ok {
		return nil, r.wrong(i, wanted)
	}
	v, err := newDecoder(&r.memory, maxResult).value(t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", which(i), err)
	}
	return v, nil
}

func (r *Results) wrong(i int, wanted string) error {
	is := r.at(i).Type().String()
	if text, ok := r.at(i).(lua.LString); ok {
		is = Shown(string(text))
	}
	return fmt.Errorf("%s must be %s, but is %s", which(i), wanted, is)
}

// Shown formats a value of an object for an error.
func Shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return fmt.Sprintf("the text %q", prose.Cut(v, 100))
	case map[string]any, []any:
		return "a table"
	default:
		return fmt.Sprint(v)
	}
}

func which(i int) string {
	if i == 0 {
		return "what the function returns"
	}
	return "what the function returns second"
}
