package vm

import (
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"
)

// deepest bounds how deep objects may nest, in both directions. Anything deeper is a table that contains itself, or
// no Kubernetes object.
const deepest = 200

// encoder converts objects to tables.
type encoder struct {
	l *lua.LState
	// memory remembers the objects for decoding; nil if that is not needed. With it, tables of objects are filled
	// only when the script accesses them.
	memory *memory
	depth  int
	// cost is the memory of the tables, in the meter's units.
	cost int
}

func newEncoder(l *lua.LState, m *memory) *encoder { return &encoder{l: l, memory: m} }

// value encodes any value of an unstructured object.
func (e *encoder) value(v any) (lua.LValue, error) {
	switch v := v.(type) {
	case nil:
		return lua.LNil, nil
	case string:
		return lua.LString(v), nil
	case bool:
		return lua.LBool(v), nil
	case int64:
		return lua.LNumber(v), nil
	case int32:
		return lua.LNumber(v), nil
	case int:
		return lua.LNumber(v), nil
	case float64:
		return lua.LNumber(v), nil
	case map[string]any:
		return e.object(v)
	case []any:
		return e.list(v)
	default:
		return nil, fmt.Errorf("a %T cannot be given to a script", v)
	}
}

func (e *encoder) object(from map[string]any) (*lua.LTable, error) {
	t := e.l.CreateTable(0, len(from))
	e.cost += tableCost + fieldCost*len(from)
	switch {
	case e.memory == nil:
		return t, e.fill(t, from)
	case len(from) == 0:
		e.memory.empty(t, true)
	default:
		e.memory.wait(t, from)
	}
	return t, nil
}

// fill sets the fields of an object in a table.
func (e *encoder) fill(t *lua.LTable, from map[string]any) error {
	if err := e.enter(); err != nil {
		return err
	}
	// Sorted, since the order that pairs returns must not differ between calls.
	var room [16]string
	keys := room[:0]
	for key := range from {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		value := from[key]
		encoded, err := e.value(value)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		t.RawSetString(key, encoded)
		e.remember(place{table: t, key: key}, value)
	}
	e.depth--
	return nil
}

// list converts a list. Nulls are left out, since Lua's lists have no holes.
func (e *encoder) list(from []any) (*lua.LTable, error) {
	t := e.l.CreateTable(len(from), 0)
	e.cost += tableCost + valueCost*len(from)
	if len(from) == 0 {
		if e.memory != nil {
			e.memory.empty(t, false)
		}
		return t, nil
	}
	if err := e.enter(); err != nil {
		return nil, err
	}
	length := 0
	for i, value := range from {
		if value == nil {
			continue
		}
		encoded, err := e.value(value)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i+1, err)
		}
		length++
		t.RawSetInt(length, encoded)
		e.remember(place{table: t, index: length}, value)
	}
	e.depth--
	return t, nil
}

func (e *encoder) enter() error {
	if e.depth++; e.depth > deepest {
		return fmt.Errorf("the object nests deeper than %d levels", deepest)
	}
	return nil
}

func (e *encoder) remember(at place, v any) {
	if e.memory == nil {
		return
	}
	if n, ok := v.(int64); ok && (n >= exact || n <= -exact) {
		e.memory.number(at, n)
	}
}
