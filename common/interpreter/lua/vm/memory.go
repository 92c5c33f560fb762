package vm

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// exact is below which a float64 holds every whole number, and no two are the same.
const exact = 1 << 53

// place is a field of a table.
type place struct {
	table *lua.LTable
	key   string
	index int
}

// memory remembers the objects that were given to a script, so that its results can be decoded. Most scripts look at a few fields of a
// large object: the tables of the rest are filled only when they are read, and otherwise decode to the original value. For filled tables it
// keeps facts that Lua loses: which empty tables are objects and which are lists, and whole numbers beyond 2^53. Each of its maps is made
// when it is first needed.
type memory struct {
	// args are the arguments of the call.
	args []any
	// waiting are the tables that are not filled yet, and with what.
	waiting map[*lua.LTable]map[string]any
	// empties are the empty tables that went in: true for an object.
	empties map[*lua.LTable]bool
	// paths are where empty tables were, list indices aside: true for an object.
	paths map[string]bool
	// large are the whole numbers by where they were.
	large map[place]int64
	// values are the whole numbers by what Lua takes them for, unless two are the same.
	values map[float64]int64
	// lazy is the metatable of tables that wait.
	lazy *lua.LTable
}

func (m *memory) wait(t *lua.LTable, with map[string]any) {
	if m.waiting == nil {
		m.waiting = map[*lua.LTable]map[string]any{}
	}
	m.waiting[t] = with
	t.Metatable = m.lazy
}

// fill fills a table that waits, or raises an error.
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

// emptyAt says whether there was an empty table at a path, and whether it was an object.
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
			if key := pathKey(path); !m.paths[key] { // an object that was there as well counts more
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
		n = 0 // which of the two is meant cannot be known
	}
	m.values[f] = n
}

// pathKey returns a path as one text, whatever its keys contain.
func pathKey(path []string) string {
	var b strings.Builder
	for _, key := range path {
		b.WriteString(strconv.Itoa(len(key)))
		b.WriteByte(':')
		b.WriteString(key)
	}
	return b.String()
}
