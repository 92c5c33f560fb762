package vm

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// exact is the bound below which a float64 represents every integer exactly.
const exact = 1 << 53

// place is a field of a table.
type place struct {
	table *lua.LTable
	key   string
	index int
}

// memory remembers the objects that were passed to a script, so that its results can be decoded. Most scripts access
// a few fields of a large object: the other tables are filled only on access, and otherwise decode to the original
// value. For filled tables it keeps what Lua loses: which empty tables are objects and which are lists, and integers
// beyond 2^53. Its maps are created on first use.
type memory struct {
	// args are the arguments of the call.
	args []any
	// waiting are the tables that are not filled yet, and their content.
	waiting map[*lua.LTable]map[string]any
	// empties are the empty tables that were passed in: true for an object.
	empties map[*lua.LTable]bool
	// paths are the places of empty tables, without list indices: true for an object.
	paths map[string]bool
	// large are the large integers by their place.
	large map[place]int64
	// values are the large integers by their float64; 0 if that is ambiguous.
	values map[float64]int64
	// lazy is the metatable of tables that are not filled yet.
	lazy *lua.LTable
}

func (m *memory) wait(t *lua.LTable, with map[string]any) {
	if m.waiting == nil {
		m.waiting = map[*lua.LTable]map[string]any{}
	}
	m.waiting[t] = with
	t.Metatable = m.lazy
}

// fill fills a waiting table, or raises an error.
func (m *memory) fill(l *lua.LState, t *lua.LTable) {
	from, ok := m.waiting[t]
	if !ok {
		return
	}
	delete(m.waiting, t)
	t.Metatable = lua.LNil
	if err := newEncoder(l, m).fill(t, from); err != nil {
		l.RaiseError("%s", err.Error())
	}
}

func (m *memory) empty(t *lua.LTable, object bool) {
	if m.empties == nil {
		m.empties = map[*lua.LTable]bool{}
	}
	m.empties[t] = object
}

// emptyAt returns whether there was an empty table at a path, and whether it was an object.
func (m *memory) emptyAt(path []string) (object, known bool) {
	if m.paths == nil {
		m.paths = map[string]bool{}
		for _, arg := range m.args {
			m.walk(arg, nil)
		}
	}
	object, known = m.paths[pathKey(path)]
	return object, known
}

func (m *memory) walk(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			m.paths[pathKey(path)] = true
		}
		for key, value := range v {
			m.walk(value, append(path, key))
		}
	case []any:
		if len(v) == 0 {
			if key := pathKey(path); !m.paths[key] { // an object at the same path takes precedence
				m.paths[key] = false
			}
		}
		for _, value := range v {
			m.walk(value, path)
		}
	}
}

func (m *memory) number(at place, n int64) {
	if m.large == nil {
		m.large, m.values = map[place]int64{}, map[float64]int64{}
	}
	m.large[at] = n
	f := float64(n)
	if other, ok := m.values[f]; ok && other != n {
		n = 0 // ambiguous
	}
	m.values[f] = n
}

// pathKey joins a path unambiguously, whatever its keys contain.
func pathKey(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteString(strconv.Itoa(len(key)))
		b.WriteByte(':')
		b.WriteString(key)
	}
	return b.String()
}
