package vm

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// decoder converts tables to objects.
type decoder struct {
	memory *memory
	path   []step
	// left is how many more bytes the object may have.
	left int
	// share says that values that were not accessed need not be copied, since nobody modifies the object.
	share bool
}

// step is a key, or an index if it has no key.
type step struct {
	key   string
	index int
}

// newDecoder returns a decoder for an object of limited size.
func newDecoder(m *memory, most int) *decoder {
	if m == nil {
		m = &memory{}
	}
	return &decoder{memory: m, left: most}
}

// spend takes bytes from the object's limit.
func (d *decoder) spend(bytes int) error {
	if d.left -= bytes; d.left < 0 {
		return d.errorf("it is too large for an object")
	}
	return nil
}

// nothing stands for an empty table of unknown type.
type nothing struct{}

// value decodes any value. An empty table that is not from the input is nil.
func (d *decoder) value(v lua.LValue) (any, error) {
	out, err := d.decode(v, place{})
	if _, empty := out.(nothing); empty {
		return nil, err
	}
	return out, err
}

func (d *decoder) decode(v lua.LValue, at place) (any, error) {
	if err := d.spend(fieldCost); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LBool:
		return bool(v), nil
	case lua.LString:
		return string(v), d.spend(len(v))
	case lua.LNumber:
		return d.number(float64(v), at)
	case *lua.LTable:
		return d.table(v)
	default:
		return nil, d.errorf("a %s is nothing that an object is made of", v.Type())
	}
}

// number returns integers as such: Lua has only float64.
func (d *decoder) number(f float64, at place) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, d.errorf("%v is no number of an object", f)
	}
	if f >= exact || f <= -exact {
		if n, ok := d.memory.large[at]; ok && float64(n) == f {
			return n, nil
		}
		if n, ok := d.memory.values[f]; ok && n != 0 {
			return n, nil
		}
	}
	if f != math.Trunc(f) || f >= math.MaxInt64 || f < math.MinInt64 {
		return f, nil
	}
	return int64(f), nil
}

func (d *decoder) table(t *lua.LTable) (any, error) {
	if len(d.path) > deepest {
		return nil, d.errorf("it nests deeper than %d levels, or contains itself", deepest)
	}
	if from, waits := d.memory.waiting[t]; waits {
		return d.untouched(from)
	}
	switch first, _ := t.Next(lua.LNil); first.(type) {
	case *lua.LNilType:
		return d.empty(t), nil
	case lua.LString:
		return d.object(t)
	default:
		return d.list(t)
	}
}

// empty returns what an empty table represents: the same as when it was passed in, or as what was at its place then.
func (d *decoder) empty(t *lua.LTable) any {
	object, known := d.memory.empties[t]
	if !known && len(d.memory.args) > 0 {
		keys := make([]string, 0, len(d.path))
		for _, s := range d.path {
			if s.index == 0 {
				keys = append(keys, s.key)
			}
		}
		object, known = d.memory.emptyAt(keys)
	}
	switch {
	case !known:
		return nothing{}
	case object:
		return map[string]any{}
	default:
		return []any{}
	}
}

// untouched returns a copy of a value that the script has not accessed.
func (d *decoder) untouched(v any) (any, error) {
	if d.share {
		return v, nil
	}
	if err := d.spend(fieldCost); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			if value == nil {
				continue // as in a table
			}
			copied, err := d.untouched(value)
			if err != nil {
				return nil, err
			}
			out[key] = copied
			if err := d.spend(len(key)); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			if value == nil {
				continue // as in a table
			}
			copied, err := d.untouched(value)
			if err != nil {
				return nil, err
			}
			out = append(out, copied)
		}
		return out, nil
	case string:
		return v, d.spend(len(v))
	case float64:
		return d.number(v, place{})
	default:
		return v, nil
	}
}

func (d *decoder) object(t *lua.LTable) (any, error) {
	out := make(map[string]any)
	var failed error
	t.ForEach(func(k, v lua.LValue) {
		if failed != nil {
			return
		}
		key, ok := k.(lua.LString)
		if !ok {
			failed = d.errorf("its keys are texts, but %s is a %s", k, k.Type())
			return
		}
		if failed = d.spend(len(key)); failed != nil {
			return
		}
		d.path = append(d.path, step{key: string(key)})
		value, err := d.decode(v, place{table: t, key: string(key)})
		d.path = d.path[:len(d.path)-1]
		if err != nil {
			failed = err
			return
		}
		if _, empty := value.(nothing); !empty {
			out[string(key)] = value
		}
	})
	if failed != nil {
		return nil, failed
	}
	return out, nil
}

func (d *decoder) list(t *lua.LTable) (any, error) {
	length, found := t.Len(), 0
	if length*fieldCost > d.left {
		return nil, d.spend(length * fieldCost)
	}
	out := make([]any, 0, length)
	for i := 1; i <= length; i++ {
		v := t.RawGetInt(i)
		if v == lua.LNil {
			return nil, d.errorf("the list has nothing at %d, but goes on after it", i)
		}
		d.path = append(d.path, step{index: i})
		value, err := d.decode(v, place{table: t, index: i})
		d.path = d.path[:len(d.path)-1]
		if err != nil {
			return nil, err
		}
		if _, empty := value.(nothing); empty {
			value = map[string]any{} // lists contain objects, and keep their length
		}
		out = append(out, value)
	}
	t.ForEach(func(lua.LValue, lua.LValue) { found++ })
	if found != length {
		return nil, d.errorf("the table is neither a list nor an object: its keys are not 1, 2, 3, …, nor all texts")
	}
	return out, nil
}

// errorf returns an error that names the place.
func (d *decoder) errorf(format string, args ...any) error {
	var at strings.Builder
	for _, s := range d.path {
		if s.index > 0 {
			at.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		}
		if at.Len() > 0 {
			at.WriteByte('.')
		}
		at.WriteString(s.key)
		if at.Len() > 200 {
			at.WriteString("…")
			break
		}
	}
	if at.Len() == 0 {
		return fmt.Errorf(format, args...)
	}
	return fmt.Errorf(at.String()+": "+format, args...)
}
