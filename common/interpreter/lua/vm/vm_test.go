package vm

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// timeLimit is the processor time of a script in these tests; short, since many are stopped by it.
const timeLimit = 50 * time.Millisecond

func shortLimiter() *Limiter {
	l := NewLimiter(0)
	l.time = timeLimit
	return l
}

// engine returns an Engine without modules.
func engine(tb testing.TB) *Engine {
	tb.Helper()
	e, err := New(Options{Limiter: shortLimiter()})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// run compiles a script that defines f, and returns the results of f for the arguments.
func run(tb testing.TB, source string, args ...any) (any, error) {
	tb.Helper()
	s, err := engine(tb).Compile(source, "f")
	if err != nil {
		return nil, err
	}
	return called(s, args...)
}

func called(s *Script, args ...any) (any, error) {
	var out any
	err := s.Call(context.Background(), args, func(r *Results) error {
		var err error
		out, err = newDecoder(&r.memory, maxResult).value(r.at(0))
		return err
	})
	return out, err
}

// processorTime measures the processor time of f: on a busy machine the wall-clock time may be anything.
func processorTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := cpuTime()
	f()
	return cpuTime() - before
}

func TestScriptsReturnWhatTheyCompute(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script string
		args   []any
		want   any
	}{
		"a sum":                            {script: `function f(a, b) return a + b end`, args: []any{int64(1), int64(2)}, want: int64(3)},
		"a fraction":                       {script: `function f() return 0.5 end`, want: 0.5},
		"texts that are joined":            {script: `function f(a) return a .. "-" .. 1 .. "-" .. a end`, args: []any{"x"}, want: "x-1-x"},
		"a join as the last argument":      {script: `local function g(...) return select("#", ...) end function f() return g("a".."b", "c".."d") end`, want: int64(2)},
		"a parameter that is joined":       {script: `function f(x) local a, b, c = 1, 2, 3 x = x .. "b" .. "c" return x .. a .. b .. c end`, args: []any{"x"}, want: "xbc123"},
		"a parameter among others":         {script: `function f(x) local a, b, c = 1, 2, 3 x, a = (tostring(x)), 7 return x .. a .. b .. c end`, args: []any{"x"}, want: "x723"},
		"a join in a loop":                 {script: `function f(x) local s = "" for y in (x .. "y"):gmatch(".") do s = s .. y .. "-" end return s end`, args: []any{"x"}, want: "x-y-"},
		"calls of calls in a loop":         {script: `function f(x) local s = "" for y in tostring(x):upper():gmatch(".") do s = s .. y .. "-" end return s end`, args: []any{"xy"}, want: "X-Y-"},
		"a function of a call in a loop":   {script: `function f(x) local function g() return pairs end for k, v in g()({x}) do return v end end`, args: []any{"x"}, want: "x"},
		"only the first value is joined":   {script: `local function g() return "a", "b" end function f() return "x" .. g() end`, want: "xa"},
		"methods of a text":                {script: `function f(a) return a:upper():sub(1, 2) end`, args: []any{"abc"}, want: "AB"},
		"a field with a computed name":     {script: `function f() local t = {} for i = 1, 3 do t["k"..i] = i end return t.k3 end`, want: int64(3)},
		"a list that grows":                {script: `function f() local t = {} for i = 1, 2000 do t[i] = i end return #t end`, want: int64(2000)},
		"goto past a local":                {script: "function f()\nlocal n = 0\nfor i = 1, 3 do\nif i == 2 then goto continue end\nlocal k = i\nn = n + k\n::continue::\nend\nreturn n end", want: int64(4)},
		"an error that is caught":          {script: `function f() local ok = pcall(function() error("no") end) return ok end`, want: false},
		"sorted":                           {script: `function f() local t = {3, 1, 2} table.sort(t, function(a, b) return a > b end) return t[1] end`, want: int64(3)},
		"the time":                         {script: `function f() return os.time() > 0 and os.date("%Y") ~= "" end`, want: true},
		"a global of the same call":        {script: `function f() x = 1 return _G.x end`, want: int64(1)},
		"a global that was set to nil":     {script: `function f(o) error = o.error return error == nil and tostring ~= nil end`, args: []any{map[string]any{"x": int64(1)}}, want: true},
		"a global that was set and unset":  {script: `function f() error = 1 error = nil return error == nil and _G.error == nil end`, want: true},
		"a global that was unset in _G":    {script: `_G.type = nil function f() return type == nil end`, want: true},
		"the libraries are modules":        {script: `function f() return require("string").upper("a") .. require("table").concat({"b"}) .. require("math").abs(-1) .. type(require("os").time()) end`, want: "Ab1number"},
		"a null at the head of a list":     {script: `function f(o) return o end`, args: []any{map[string]any{"a": []any{nil, "x", nil, "y"}}}, want: map[string]any{"a": []any{"x", "y"}}},
		"a null that is looked at":         {script: `function f(o) return {o.a[1], #o.a} end`, args: []any{map[string]any{"a": []any{nil, "x", nil, "y"}}}, want: []any{"x", int64(2)}},
		"variable arguments":               {script: `function f(...) local a, b = ... return b end`, args: []any{"a", "b"}, want: "b"},
		"pairs in the order of the keys":   {script: `function f(o) local s = "" for k in pairs(o) do s = s .. k end return s end`, args: []any{map[string]any{"c": "1", "a": "2", "b": "3"}}, want: "abc"},
		"an object as it was":              {script: `function f(o) return o end`, args: []any{map[string]any{"a": map[string]any{}, "b": []any{}, "c": []any{map[string]any{}}}}, want: map[string]any{"a": map[string]any{}, "b": []any{}, "c": []any{map[string]any{}}}},
		"an empty object that moves":       {script: `function f(o) return {x = o.a} end`, args: []any{map[string]any{"a": map[string]any{}}}, want: map[string]any{"x": map[string]any{}}},
		"an empty object that is replaced": {script: `function f(o) o.a[1].v = {} return o end`, args: []any{map[string]any{"a": []any{map[string]any{"v": map[string]any{}}}}}, want: map[string]any{"a": []any{map[string]any{"v": map[string]any{}}}}},
		"an empty table that is new":       {script: `function f() return {a = {}, b = 1} end`, want: map[string]any{"b": int64(1)}},
		"a large number":                   {script: `function f(o) return o end`, args: []any{map[string]any{"n": int64(math.MaxInt64)}}, want: map[string]any{"n": int64(math.MaxInt64)}},
		"two large numbers that Lua takes for one": {
			script: `function f(o) return o end`,
			args:   []any{[]any{int64(1<<60 + 1), int64(1<<60 + 2)}}, want: []any{int64(1<<60 + 1), int64(1<<60 + 2)},
		},
		"a large number that moves": {script: `function f(o) return {m = o.n} end`, args: []any{map[string]any{"n": int64(1<<53 + 1)}}, want: map[string]any{"m": int64(1<<53 + 1)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := run(t, c.script, c.args...)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(BeComparableTo(c.want))
		})
	}
}

func TestScriptsThatFailOrGoTooFarAreStopped(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script string
		args   []any
		line   int
		want   string
	}{
		"a syntax error":                {script: "function f()\nreturn return\nend", line: 2, want: "syntax error"},
		"an end that is missing":        {script: "function f()\n", want: "ends in the middle"},
		"no such function":              {script: "function g() end", want: "no function f"},
		"an error at the top":           {script: "\nlocal x = nil + 1\nfunction f() end", line: 2, want: "cannot perform"},
		"nil has no fields":             {script: "function f()\n\nlocal a = nil\nreturn a.b end", line: 4, want: "attempt to index"},
		"an error of the script":        {script: "function f()\nerror('too bad')\nend", line: 2, want: "too bad"},
		"an error that is a table":      {script: "function f()\nerror({})\nend", want: "an error that is a table"},
		"a table is shown":              {script: "function f()\nerror({code = 7, why = {'a', 'b'}})\nend", want: `{"code":7,"why":["a","b"]}`},
		"a part of the object is shown": {script: "function f(o)\nerror(o.status)\nend", args: []any{map[string]any{"status": map[string]any{"phase": "Lost"}}}, want: `{"phase":"Lost"}`},
		"a number is shown":             {script: "function f()\nerror(42)\nend", want: "42"},
		"nil joined":                    {script: "function f()\nlocal x\nlocal y = 'a' .. x\nend", line: 3, want: "concatenate a nil"},
		"io":                            {script: "function f()\nreturn io.open('/etc/passwd') end", line: 2, want: "index"},
		"debug":                         {script: "function f() return debug.getinfo(1) end", line: 1, want: "index"},
		"coroutine":                     {script: "function f() return coroutine.create(f) end", line: 1, want: "index"},
		"os.exit":                       {script: "function f() os.exit(1) end", line: 1, want: "call"},
		"os.getenv":                     {script: "function f() return os.getenv('HOME') end", line: 1, want: "call"},
		"loadstring":                    {script: "function f() return loadstring('return 1')() end", line: 1, want: "call function loadstring is not supported"},
		"setmetatable":                  {script: "function f() return setmetatable({}, {}) end", line: 1, want: "not supported"},
		"rawset":                        {script: "function f() rawset(_G, 'x', 1) end", line: 1, want: "not supported"},
		"string.rep":                    {script: "function f() return ('x'):rep(1e9) end", line: 1, want: "string.rep is not supported"},
		"string.gsub":                   {script: "function f() return string.gsub('x', 'x', 'y') end", line: 1, want: "string.gsub is not supported"},
		"a library is changed":          {script: "function f() string.upper = nil end", line: 1, want: "string cannot be changed"},
		"a module that is not there":    {script: "local x = require('socket')\nfunction f() end", line: 1, want: `no module "socket"`},
		"a loop without end":            {script: "function f()\nwhile true do\nend\nend", want: "too"},
		"a loop that catches":           {script: "function f()\nwhile true do\npcall(function() while true do end end)\nend\nend", want: "too"},
		"a loop by goto":                {script: "function f()\n::a::\ngoto a\nend", want: "too"},
		"repeat":                        {script: "function f()\nrepeat until false\nend", want: "too"},
		"a loop at the top":             {script: "while true do end\nfunction f() end", want: "too"},
		"a text that doubles":           {script: "function f()\nlocal s = 'xxxxxxxx'\nwhile true do\ns = s .. s\nend\nend", line: 4, want: "too"},
		"a table that grows":            {script: "function f()\nlocal t = {}\nwhile true do\nt[#t+1] = {}\nend\nend", want: "too"},
		"tables in a condition":         {script: "function f()\nlocal t = {}\nwhile (function() t = {t} return true end)() do end end", want: "too"},
		"a list with a far index":       {script: "function f()\nlocal t = {}\nt[60000000] = 1\nend", line: 3, want: "too"},
		"a far index by table.insert":   {script: "function f()\nlocal t = {}\ntable.insert(t, 60000000, 1)\nend", line: 3, want: "too"},
		"many far indices":              {script: "function f()\nlocal all = {}\nfor i = 1, 1e9 do\nlocal t = {}\nt[60000] = 1\nall[i] = t\nend\nend", want: "too"},
		"a text by table.concat":        {script: "function f()\nlocal t, s = {}, ('x')\nfor i = 1, 15 do s = s .. s end\nfor i = 1, 100 do t[i] = s end\nreturn table.concat(t) end", line: 5, want: "too"},
		"a wide format":                 {script: "function f() return string.format('%999999d', 1) end", line: 1, want: "two digits"},
		"endless recursion":             {script: "function f()\nreturn 1 + f()\nend", want: "too deeply"},
		"an endless tail call":          {script: "function f()\nreturn f()\nend", want: "too"},
		"unpack of much":                {script: "function f()\nreturn #{unpack({}, 1, 1e8)}\nend", want: ""},
		"a pattern that takes ages":     {script: "function f()\nlocal s = 'a'\nfor i = 1, 15 do s = s .. s end\nreturn string.find(s, '.-.-.-.-.-.-.-.-b')\nend", want: ""},
		"an infinite number":            {script: "function f() return {a = {1/0}} end", want: "a[1]: +Inf is no number"},
		"not a number":                  {script: "function f() return 0/0 end", want: "NaN is no number"},
		"a table that contains itself": {
			script: "function f() local t = {} t.t = t return t end", want: "contains itself",
		},
		"a function in an object": {script: "function f() return {a = {b = print}} end", want: "a.b: a function is nothing"},
		"texts and numbers":       {script: "function f() return {1, a = 2} end", want: "neither a list nor an object"},
		"a list with a hole":      {script: "function f() return {1, nil, 3} end", want: "nothing at 2"},
		"a list that begins at 0": {script: "function f() return {[0] = 1, [1] = 2} end", want: "neither"},
		"a huge script":           {script: strings.Repeat("-- nothing to see here\n", 20000), want: "at most"},
		"syntax that nests":       {script: "x = " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000), want: ""},
		"operators that nest":     {script: "x = " + strings.Repeat("- ", 100000) + "1", line: 1, want: "nests too deeply"},
		"blocks that nest":        {script: strings.Repeat("do ", 5000) + strings.Repeat("end ", 5000), line: 1, want: "nests too deeply"},
		"the meter is replaced":   {script: "_G['\\0block'] = print\nfunction f() while true do end end", want: "too"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var got any
			var err error
			took := processorTime(func() { got, err = run(t, c.script, c.args...) })
			if c.want == "" { // It may do it, in time.
				t.Log(got, err)
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.want)))
			}
			g.Expect(took).To(BeNumerically("<", busyTime))
			var of *Error
			if errors.As(err, &of) && c.line > 0 {
				g.Expect(of.Line).To(Equal(c.line), of.Error())
			}
		})
	}
}

func TestCallsKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, err := engine(t).Compile(`
		local calls = 0
		function f()
			calls = calls + 1
			seen = (seen or 0) + 1
			local ok = pcall(function() table.insert = nil end)
			local kube = require("kube")
			local changed = pcall(function() kube.mine = 1 end)
			return {calls, seen, ok, changed}
		end`, "f")
	g.Expect(err).NotTo(HaveOccurred())
	for range 3 {
		g.Expect(called(s)).To(Equal([]any{int64(1), int64(1), false, false}))
	}
}

func TestACallAfterAnErrorWorks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, err := engine(t).Compile(`function f(bad) if bad then while true do end end return 1 end`, "f")
	g.Expect(err).NotTo(HaveOccurred())
	for range 2 {
		_, err = called(s, true)
		g.Expect(err).To(MatchError(ContainSubstring("too long")))
		g.Expect(called(s, false)).To(Equal(int64(1)))
	}
}

func TestTheContextShortensTheTime(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, err := engine(t).Compile(`function f() while true do end end`, "f")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g.Expect(s.Call(ctx, nil, func(*Results) error { return nil })).To(MatchError(ContainSubstring("context canceled")))
}

func TestAScriptServesManyAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, err := engine(t).Compile(`function f(n) x = n for i = 1, 100 do x = x + 1 end return x end`, "f")
	g.Expect(err).NotTo(HaveOccurred())
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for range 50 {
				got, err := called(s, int64(i))
				if err != nil || got != int64(i+100) {
					t.Errorf("f(%d) = %v, %v", i, got, err)
				}
			}
		})
	}
	all.Wait()
}

func TestModules(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var said []string
	e, err := New(Options{
		Modules: map[string]string{"rules": `local m = {} function m.double(n) return 2 * n end return m`},
		Print:   func(line string) { said = append(said, line) },
	})
	g.Expect(err).NotTo(HaveOccurred())
	s, err := e.Compile(`local rules = require("rules") function f(n) print("n is", n) return rules.double(n) end`, "f")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(called(s, int64(21))).To(Equal(int64(42)))
	g.Expect(said).To(Equal([]string{"n is\t21"}))

	_, err = New(Options{Modules: map[string]string{"bad": "return return"}})
	g.Expect(err).To(MatchError(ContainSubstring(`module "bad"`)))
}
