package vm

import (
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// unsupported are documented Lua functions that raise an error here: they load code, or bypass the isolation of
// calls.
func unsupported() []string {
	return []string{
		"collectgarbage", "dofile", "getfenv", "getmetatable", "load", "loadfile", "loadstring", "module", "newproxy",
		"rawequal", "rawget", "rawset", "setfenv", "setmetatable",
	}
}

// allowed are the functions of base that scripts may use as they are.
func allowed() []string {
	return []string{
		"_VERSION", "assert", "error", "ipairs", "pcall", "select", "tostring", "type", "xpcall",
	}
}

// sandbox builds the environment of every call, which scripts cannot change.
type sandbox struct {
	l       *lua.LState
	budget  *budget
	engine  *Engine
	raw     *lua.LTable // gopher-lua's own globals, which scripts never see
	globals *lua.LTable
	// fallback is the metatable of environments: names that a script does not define itself are found among the
	// globals. It is removed once a script assigns to one of these; see own.
	fallback *lua.LTable
	// modules has the modules that the script has already required, by name.
	modules map[string]lua.LValue
	// memory is the memory of the call, and lazy the metatable of its waiting tables.
	memory *memory
	lazy   *lua.LTable
	// patterns caches translated patterns.
	patterns map[string]*pattern
}

func newSandbox(l *lua.LState, b *budget, e *Engine) *sandbox {
	s := &sandbox{l: l, budget: b, engine: e, modules: map[string]lua.LValue{}, patterns: map[string]*pattern{}, memory: &memory{}}
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString,
		lua.MathLibName: lua.OpenMath, lua.OsLibName: lua.OpenOs,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	s.raw = l.G.Global
	s.globals = l.NewTable()
	s.fallback = l.NewTable()
	s.fallback.RawSetString("__index", s.globals)
	s.function(s.fallback, "__newindex", s.own)
	for _, name := range allowed() {
		s.globals.RawSetString(name, s.raw.RawGetString(name))
	}
	for _, name := range unsupported() {
		s.refuse(s.globals, name, name)
	}
	s.function(s.globals, "next", s.next())
	s.function(s.globals, "pairs", s.pairs())
	s.lazy = s.fillers()
	s.limited(s.globals, s.raw, "tonumber")
	s.function(s.globals, "unpack", s.unpack)
	s.function(s.globals, "print", s.printLine)
	s.function(s.globals, "require", s.require)
	text := s.text()
	s.globals.RawSetString("string", text)
	s.globals.RawSetString("table", s.readOnly(s.tables(), "table"))
	s.globals.RawSetString("math", s.readOnly(s.math(), "math"))
	s.globals.RawSetString("os", s.readOnly(s.clock(), "os"))
	// Methods of strings, as in ("x"):upper(), are those of the sandboxed library.
	methods := l.NewTable()
	methods.RawSetString("__index", text)
	l.SetMetatable(lua.LString(""), methods)
	return s
}

// environment returns the table for the globals of one call.
func (s *sandbox) environment() *lua.LTable {
	env := s.l.CreateTable(0, 4)
	env.Metatable = s.fallback
	env.RawSetString("_G", env)
	return env
}

// own is called when a script assigns to a name that its environment lacks. If that is the name of a global, the
// environment gets its own copy of all globals, so that one that is set to nil stays nil.
func (s *sandbox) own(l *lua.LState) int {
	env, name := l.CheckTable(1), l.Get(2)
	if s.globals.RawGet(name) != lua.LNil {
		env.Metatable = lua.LNil
		s.globals.ForEach(env.RawSet)
	}
	l.RawSet(env, name, l.Get(3))
	return 0
}

// fillers returns the metatable of waiting tables: reading or setting a field fills the table.
func (s *sandbox) fillers() *lua.LTable {
	t := s.l.NewTable()
	s.function(t, "__index", func(l *lua.LState) int {
		table := l.CheckTable(1)
		s.memory.fill(l, table)
		l.Push(l.RawGet(table, l.Get(2)))
		return 1
	})
	s.function(t, "__newindex", func(l *lua.LState) int {
		table := l.CheckTable(1)
		s.memory.fill(l, table)
		l.RawSet(table, l.Get(2), l.Get(3))
		return 0
	})
	return t
}

// next and pairs are those of base, which access a table without its metatable.
func (s *sandbox) next() lua.LGFunction {
	raw := s.rawFunction(s.raw, "next")
	return func(l *lua.LState) int {
		s.memory.fill(l, l.CheckTable(1))
		return raw.GFunction(l)
	}
}

func (s *sandbox) pairs() lua.LGFunction {
	raw := s.rawFunction(s.raw, "next")
	return func(l *lua.LState) int {
		t := l.CheckTable(1)
		s.memory.fill(l, t)
		l.Push(raw)
		l.Push(t)
		l.Push(lua.LNil)
		return 3
	}
}

// readOnly returns a read-only view of a table.
func (s *sandbox) readOnly(t *lua.LTable, name string) *lua.LTable {
	shown := s.l.CreateTable(0, 0)
	mt := s.l.NewTable()
	mt.RawSetString("__index", t)
	mt.RawSetString("__newindex", s.l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("%s cannot be changed", name)
		return 0
	}))
	shown.Metatable = mt
	return shown
}

func (s *sandbox) function(in *lua.LTable, name string, f lua.LGFunction) {
	in.RawSetString(name, s.l.NewFunction(f))
}

// refuse puts a function in place that says that it is not there.
func (s *sandbox) refuse(in *lua.LTable, name, call string) {
	s.function(in, name, func(l *lua.LState) int {
		l.RaiseError("call function %s is not supported: scripts may not use it", call)
		return 0
	})
}

// library returns a copy of some functions of a gopher-lua library.
func (s *sandbox) library(name string, functions ...string) *lua.LTable {
	from := s.rawLibrary(name)
	out := s.l.NewTable()
	for _, f := range functions {
		out.RawSetString(f, from.RawGetString(f))
	}
	return out
}

func (s *sandbox) printLine(l *lua.LState) int {
	if s.engine.print == nil {
		return 0
	}
	words := make([]string, l.GetTop())
	for i := range words {
		words[i] = l.ToStringMeta(l.Get(i + 1)).String()
	}
	s.engine.print(strings.Join(words, "\t"))
	return 0
}

// require returns a module, which is run when it is first required.
func (s *sandbox) require(l *lua.LState) int {
	name := l.CheckString(1)
	module, ok := s.modules[name]
	if !ok {
		switch proto := s.engine.modules[name]; {
		case name == "kube":
			module = s.readOnly(s.kube(), name)
		case name == "clusters":
			module = s.readOnly(s.clusters(), name)
		case slices.Contains([]string{lua.StringLibName, lua.TabLibName, lua.MathLibName, lua.OsLibName}, name):
			module = s.globals.RawGetString(name)
		case proto != nil:
			module = s.run(l, proto, name)
		default:
			l.RaiseError("there is no module %q to require", name)
		}
		s.modules[name] = module
	}
	l.Push(module)
	return 1
}

func (s *sandbox) run(l *lua.LState, proto *lua.FunctionProto, name string) lua.LValue {
	f := l.NewFunctionFromProto(proto)
	f.Env = s.environment()
	l.Push(f)
	meters := s.meters()
	for _, m := range meters {
		l.Push(m)
	}
	l.Call(len(meters), 1)
	t, ok := l.Get(-1).(*lua.LTable)
	l.Pop(1)
	if !ok {
		l.RaiseError("module %q returns no table", name)
	}
	return s.readOnly(t, name)
}

// meters are the functions passed to a metered chunk; see metered.
func (s *sandbox) meters() []lua.LValue {
	return []lua.LValue{
		s.l.NewFunction(s.budget.block), s.l.NewFunction(s.budget.concat), s.l.NewFunction(s.budget.key), s.l.NewFunction(s.budget.many),
	}
}

func (s *sandbox) math() *lua.LTable {
	return s.library(lua.MathLibName, "abs", "acos", "asin", "atan", "atan2", "ceil", "cos", "cosh", "deg", "exp", "floor", "fmod",
		"frexp", "huge", "ldexp", "log", "log10", "max", "min", "mod", "modf", "pi", "pow", "rad", "random", "sin", "sinh", "sqrt", "tan", "tanh")
}

// maxDateFormat bounds the length of a date format, since each character may stand for many.
const maxDateFormat = 200

func (s *sandbox) clock() *lua.LTable {
	t := s.library(lua.OsLibName, "time")
	date := s.rawFunction(s.rawLibrary(lua.OsLibName), "date")
	s.function(t, "date", func(l *lua.LState) int {
		if len(l.OptString(1, "")) > maxDateFormat {
			l.RaiseError("the format of a date may have %d characters", maxDateFormat)
		}
		s.budget.charge(l, emptyCost+10*maxDateFormat)
		return date.GFunction(l)
	})
	return t
}

func (s *sandbox) rawLibrary(name string) *lua.LTable {
	t, _ := s.raw.RawGetString(name).(*lua.LTable)
	return t
}

func (s *sandbox) rawFunction(from *lua.LTable, name string) *lua.LFunction {
	f, _ := from.RawGetString(name).(*lua.LFunction)
	return f
}
