package vm

import (
	lua "github.com/yuin/gopher-lua"

	"fairlead.dev/common/interpreter/lua/merge"
)

// maxReported bounds how much of the clusters' reports is read, in bytes.
const maxReported = 256 << 20

// clusters is the module that aggregates the reports of many clusters: a loop over thousands of them in Lua takes
// long.
func (s *sandbox) clusters() *lua.LTable {
	t := s.l.NewTable()
	s.function(t, "last", func(l *lua.LState) int {
		return s.pushKept(l, merge.Last(s.items(l), s.texts(l)))
	})
	s.function(t, "sum", func(l *lua.LState) int {
		return s.pushNew(l, merge.Sum(s.items(l), s.texts(l)))
	})
	s.function(t, "observed", func(l *lua.LState) int {
		l.Push(lua.LBool(merge.ObservedBy(s.items(l), float64(l.CheckNumber(2)))))
		return 1
	})
	for name, largest := range map[string]bool{"earliest": false, "latest": true} {
		s.function(t, name, func(l *lua.LState) int {
			return s.pushText(l)(merge.Extreme(s.items(l), l.CheckString(2), largest))
		})
	}
	s.function(t, "said", func(l *lua.LState) int {
		path := make([]string, 0, l.GetTop())
		for at := 2; at <= l.GetTop(); at++ {
			path = append(path, l.CheckString(at))
		}
		return s.pushText(l)(merge.Joined(s.items(l), path))
	})
	s.function(t, "reported", s.withStatus)
	s.function(t, "conditions", func(l *lua.LState) int {
		return s.pushNew(l, merge.Conditions(s.items(l)))
	})
	s.function(t, "conditionsByType", func(l *lua.LState) int {
		items := s.items(l)
		generation, _ := s.reported(l, 3).(int64)
		sources := make([]merge.Source, len(items))
		for i := range items {
			sources[i] = merge.Source{
				Cluster: items[i].Cluster, Conditions: items[i].Status["conditions"], Current: merge.Current(items[i], float64(generation)),
			}
		}
		return s.pushNew(l, merge.ByType(sources, s.texts(l), s.reported(l, 3)))
	})
	s.function(t, "mergeConditions", func(l *lua.LState) int {
		list, _ := s.reported(l, 1).([]any)
		sources := make([]merge.Source, len(list))
		for i, entry := range list {
			source, _ := entry.(map[string]any)
			cluster, _ := source["cluster"].(string)
			current, _ := source["current"].(bool)
			sources[i] = merge.Source{Cluster: cluster, Conditions: source["conditions"], Current: current}
		}
		return s.pushNew(l, merge.ByType(sources, s.texts(l), s.reported(l, 3)))
	})
	return t
}

// withStatus returns the items that have a status, unchanged.
func (s *sandbox) withStatus(l *lua.LState) int {
	out := l.NewTable()
	if list, ok := l.Get(1).(*lua.LTable); ok {
		s.budget.charge(l, list.Len()*valueCost)
		for i := 1; i <= list.Len(); i++ {
			item, ok := list.RawGetInt(i).(*lua.LTable)
			if !ok {
				continue
			}
			if from, waits := s.memory.waiting[item]; waits && from["status"] != nil || item.RawGetString("status") != lua.LNil {
				out.Append(item)
			}
		}
	}
	l.Push(out)
	return 1
}

// pushText returns a function that returns a text, or nil, to the script.
func (s *sandbox) pushText(l *lua.LState) func(text string, ok bool) int {
	return func(text string, ok bool) int {
		if !ok {
			l.Push(lua.LNil)
			return 1
		}
		return s.pushNew(l, text)
	}
}

// reported returns an argument as it was reported: values that the script has not accessed are not copied.
func (s *sandbox) reported(l *lua.LState, at int) any {
	s.budget.slow(l)
	most := max(0, min(maxReported, s.budget.bytes))
	d := newDecoder(&memory{waiting: s.memory.waiting}, most)
	d.share = true
	v, err := d.value(l.Get(at))
	if d.left < 0 {
		s.budget.charge(l, most-d.left) // exceeds the budget and raises the error
	}
	if err != nil {
		l.ArgError(at, err.Error())
	}
	s.budget.charge(l, most-d.left)
	return v
}

// items returns the clusters' items, the first argument.
func (s *sandbox) items(l *lua.LState) []merge.Item {
	list, _ := s.reported(l, 1).([]any)
	out := make([]merge.Item, len(list))
	for i, entry := range list {
		item, _ := entry.(map[string]any)
		out[i].Cluster, _ = item["clusterName"].(string)
		out[i].Status, _ = item["status"].(map[string]any)
	}
	return out
}

// texts returns a list of texts, the second argument; empty for nil.
func (s *sandbox) texts(l *lua.LState) []string {
	list, _ := s.reported(l, 2).([]any)
	out := make([]string, 0, len(list))
	for _, entry := range list {
		if text, ok := entry.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// pushNew returns a newly made value to the script.
func (s *sandbox) pushNew(l *lua.LState, v any) int { return s.pushValue(l, v, nil) }

// pushKept returns a table of reported values, which keep their original form.
func (s *sandbox) pushKept(l *lua.LState, v map[string]any) int {
	if len(v) == 0 {
		return s.pushNew(l, v) // a new table, not an object that existed before
	}
	return s.pushValue(l, v, s.memory)
}

func (s *sandbox) pushValue(l *lua.LState, v any, m *memory) int {
	e := newEncoder(l, m)
	value, err := e.value(v)
	if err != nil {
		l.RaiseError("%s", err.Error())
	}
	s.budget.charge(l, e.cost)
	l.Push(value)
	return 1
}
