package vm

import (
	"sort"

	lua "github.com/yuin/gopher-lua"
)

// tables is the table library, with the work and allocations of its functions charged.
func (s *sandbox) tables() *lua.LTable {
	t := s.library(lua.TabLibName, "getn", "maxn")
	from := s.rawLibrary(lua.TabLibName)
	insert, remove := s.rawFunction(from, "insert"), s.rawFunction(from, "remove")
	s.function(t, "concat", s.concat)
	s.function(t, "sort", s.sort)
	s.function(t, "insert", func(l *lua.LState) int {
		list := s.changeable(l)
		s.budget.charge(l, fieldCost)
		if l.GetTop() > 2 {
			s.budget.gap(l, float64(l.CheckNumber(2)), list.Len())
		}
		return insert.GFunction(l)
	})
	s.function(t, "remove", func(l *lua.LState) int {
		s.changeable(l)
		s.budget.charge(l, 0)
		return remove.GFunction(l)
	})
	return t
}

// changeable returns the table at index 1. The functions of this library bypass the table's metatable, so they could
// change the libraries, and the next call would see the change.
func (s *sandbox) changeable(l *lua.LState) *lua.LTable {
	t := l.CheckTable(1)
	s.memory.fill(l, t)
	if t.Metatable != lua.LNil {
		l.ArgError(1, "this table cannot be changed")
	}
	return t
}

// concat is table.concat.
func (s *sandbox) concat(l *lua.LState) int {
	list, between := l.CheckTable(1), l.OptString(2, "")
	first, last := max(l.OptInt(3, 1), 1), min(l.OptInt(4, list.Len()), list.Len())
	var joined []byte
	for i := first; i <= last; i++ {
		v := list.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			l.RaiseError("invalid value (%s) at index %d in table for concat", v.Type(), i)
		}
		if i > first {
			joined = append(joined, between...)
		}
		text := lua.LVAsString(v)
		if len(joined)+len(text) > maxText {
			s.budget.text(l, len(joined)+len(text)) // raises the error
		}
		s.budget.charge(l, len(text)+len(between))
		joined = append(joined, text...)
	}
	s.budget.text(l, len(joined))
	l.Push(lua.LString(joined))
	return 1
}

// unpack is Lua's basic function unpack.
func (s *sandbox) unpack(l *lua.LState) int {
	list := l.CheckTable(1)
	first, last := l.OptInt(2, 1), l.OptInt(3, list.Len())
	if last < first {
		return 0
	}
	n := uint(last) - uint(first) + 1 // unsigned, for numbers that are far apart
	if n > maxStack {
		l.RaiseError("too many values to unpack")
	}
	s.budget.charge(l, int(n)*valueCost)
	for i := first; i <= last; i++ {
		l.Push(list.RawGetInt(i))
	}
	return int(n)
}

// sort is table.sort. Each comparison is charged: there may be many, of long texts.
func (s *sandbox) sort(l *lua.LState) int {
	list := s.changeable(l)
	o := &order{l: l, budget: s.budget}
	if l.GetTop() > 1 {
		o.less = l.CheckFunction(2)
	}
	n := list.Len()
	s.budget.charge(l, n*valueCost)
	o.values = make([]lua.LValue, n)
	for i := range o.values {
		o.values[i] = list.RawGetInt(i + 1)
	}
	sort.Sort(o)
	for i, v := range o.values {
		list.RawSetInt(i+1, v)
	}
	return 0
}

// order is a list that is being sorted.
type order struct {
	l      *lua.LState
	budget *budget
	values []lua.LValue
	less   *lua.LFunction // nil for <
}

// Len implements sort.Interface.
func (o *order) Len() int { return len(o.values) }

// Swap implements sort.Interface.
func (o *order) Swap(i, j int) { o.values[i], o.values[j] = o.values[j], o.values[i] }

// Less implements sort.Interface.
func (o *order) Less(i, j int) bool {
	o.budget.charge(o.l, 0)
	a, b := o.values[i], o.values[j]
	if o.less != nil {
		o.l.Push(o.less)
		o.l.Push(a)
		o.l.Push(b)
		o.l.Call(2, 1)
		before := lua.LVAsBool(o.l.Get(-1))
		o.l.Pop(1)
		return before
	}
	if x, ok := a.(lua.LString); ok {
		if y, ok := b.(lua.LString); ok {
			return x < y // much faster than gopher-lua
		}
	}
	return o.l.LessThan(a, b)
}
