package vm

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// half makes the variable s a string of half the allowed length.
const half = "local s = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' for i = 1, 13 do s = s .. s end\n"

// attacks returns functions that would take far more time or memory than allowed. Each of them succeeded once.
func attacks() map[string]string {
	return map[string]string{
		"a format that repeats its argument":     half + "return string.format('" + strings.Repeat("%[1]s", 2000) + "', s)",
		"a format that shows what Go has":        half + "local t = {} for i = 1, 1000 do t[i] = s end return string.format('%#v', t)",
		"dates in a long format":                 "local s = '%c' for i = 1, 18 do s = s .. s end local a = {} for i = 1, 120 do a[i] = os.date(s) end",
		"a far index in a table written out":     "local a = {} for i = 1, 3 do a[i] = {[60000000] = 1} end",
		"a table that contains one many times":   "local t = {x = 1} for i = 1, 40 do t = {a = t, b = t} end return t",
		"a list of one text":                     half + "local t = {} for i = 1, 1000 do t[i] = s end return t",
		"a pod that contains one many times":     "local t = {x = 1} for i = 1, 40 do t = {a = t, b = t} end return require('kube').accuratePodRequirements({spec = t})",
		"many pods":                              "local v, a = {}, {} for i = 1, 5000 do v[i] = {name = 'n' .. i, secret = {secretName = 'n' .. i}} end for i = 1, 1e9 do a[i] = require('kube').getPodDependencies({spec = {volumes = v}}, 'x') end",
		"a status that contains one many times":  "local t = {x = 1} for i = 1, 40 do t = {a = t, b = t} end return require('clusters').last({{status = t}}, {'a'})",
		"many clusters":                          "local t = {} for i = 1, 20000 do t[i] = {clusterName = 'c', status = {conditions = {{type = 'x' .. i, message = 'm'}}}} end for i = 1, 1e9 do require('clusters').conditions(t) end",
		"many clusters by type":                  "local t = {} for i = 1, 20000 do t[i] = {clusterName = 'c', status = {conditions = {{type = 'x' .. i, message = 'm'}}}} end for i = 1, 1e9 do require('clusters').conditionsByType(t, {}, 1) end",
		"a quantity of many digits":              "return require('kube').resourceAdd('1e999999999', '1')",
		"a quantity of many digits after 0":      "return require('kube').resourceAdd('1e-999999999', '1')",
		"a long quantity":                        "local s = '1' for i = 1, 19 do s = s .. s end return require('kube').getResourceQuantity(s)",
		"values of unknown number in a table":    "local t, a = {}, {} for i = 1, 50000 do t[i] = i end for i = 1, 1e9 do a[i] = {unpack(t)} end",
		"arguments of unknown number":            "local t, a = {}, {} for i = 1, 50000 do t[i] = i end local function g(...) return arg end for i = 1, 1e9 do a[i] = g(unpack(t)) end",
		"texts that grow in upper case":          "local s = '\\255' for i = 1, 19 do s = s .. s end local a = {} for i = 1, 500 do a[i] = string.upper(s) end",
		"sorting equal texts":                    half + "local t, u, v = {}, s .. 'y', s .. 'y' for i = 1, 100000 do if i % 2 == 0 then t[i] = u else t[i] = v end end table.sort(t)",
		"sorting by a function that is not ours": "local t = {} for i = 1, 500000 do t[i] = i end for i = 1, 64 do table.sort(t, math.max) end",
		"comparing texts in a row":               half + "local u, v, x = s .. 'y', s .. 'y'\n" + strings.Repeat("x = u < v ", 20000),
		"comparing texts in one expression":      half + "local u, v = s .. 'y', s .. 'y' return " + strings.Repeat("u < v or ", 400) + "1",
		"comparing texts in a table":             half + "local u, v = s .. 'y', s .. 'y' return {" + strings.Repeat("u < v, ", 20000) + "}",
		"lengths of a list that lost its end":    "local t, n = {} for i = 1, 500000 do t[i] = i end for i = 500000, 1, -1 do t[i] = nil end\n" + strings.Repeat("n = #t ", 20000),
		"unpacking nothing":                      "for i = 1, 1e9 do pcall(unpack, {}, 1, 1e8) pcall(unpack, {}, -2^63, 2^63) end",
		"numbers of a million digits":            "local s = '1' for i = 1, 19 do s = s .. s end for i = 1, 1e9 do tonumber(s) tonumber(s, 36) end",
		"a handler that fails":                   "local function h(e) error(e) end for i = 1, 1e9 do xpcall(function() while true do end end, h) end",
		"catching what cannot be caught":         "while true do pcall(function() while true do pcall(error, {}) end end) end",
		"an endless walk":                        "local t = {} for i = 1, 100 do t['k' .. i] = 1 end for k in pairs(t) do t[k] = nil t[k .. 'x'] = 1 end",
		"many patterns":                          "local n = 0 while true do n = n + 1 string.find('x', '" + strings.Repeat("%W", 480) + "' .. n) end",
		"a pattern with many matches":            "local s = 'a' for i = 1, 19 do s = s .. s end for x in string.gmatch(s, '" + strings.Repeat("a?", 20) + "') do end",
		"recursion that catches":                 "local function g() return pcall(g) end return g()",
		"recursion in a comparison":              "local function g(a, b) local t = {3, 2, 1} table.sort(t, g) return a < b end table.sort({3, 2, 1}, g)",
		"recursion in a handler":                 "local function h(e) return xpcall(error, h, e) end return xpcall(error, h)",
		"a loop without a step":                  "for i = 1, 2, 0 do end",
	}
}

// TestAttacks is not parallel, since it measures the allocations of the process.
func TestAttacks(t *testing.T) { //nolint:paralleltest // See above.
	for name, body := range attacks() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			var got any
			var err error
			took := processorTime(func() { got, err = run(t, "function f() "+body+" end") })
			runtime.ReadMemStats(&after)
			t.Log(got, err)
			g.Expect(took).To(BeNumerically("<", busyTime))
			g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 6*maxMemory), "garbage included")
			if err != nil {
				g.Expect(len(err.Error())).To(BeNumerically("<", 2*maxMessage))
			}
		})
	}
}

func TestScriptsThatTakeLongToCompileAreRefused(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for i := range 40000 {
		fmt.Fprintf(&many, "%d,", i)
	}
	for name, script := range map[string]string{
		"constants":               "x = {" + many.String() + "}",
		"constants in a function": "function f() return {" + many.String() + "} end",
		"branches":                "function f(x) if x == 0 then " + strings.Repeat("elseif x == 1 then ", 10000) + " end end",
		"local variables":         "function f() " + strings.Repeat("local a ", 10000) + " end",
		"functions":               "function f() " + strings.Repeat("local function g() ", 600) + strings.Repeat("end ", 601),
		"a call of much":          "function f() g(" + strings.Repeat("1,", 10000) + "1) end",
		"fields of fields":        "x = a" + strings.Repeat(".a", 60000),
		"calls of calls":          "x = a" + strings.Repeat("()", 60000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var err error
			took := processorTime(func() { _, err = engine(t).Compile(script, "f") })
			g.Expect(took).To(BeNumerically("<", busyTime))
			g.Expect(err).To(HaveOccurred())
		})
	}
}

// TestNothingIsLeftInALibrary has a call leave data where the next call could find it.
func TestNothingIsLeftInALibrary(t *testing.T) {
	t.Parallel()
	for _, library := range []string{"math", "string", "table", "os", "require('kube')"} {
		for _, call := range []string{"table.insert(%s, 'x')", "table.insert(%s, 1, 'x')", "table.insert(%s, -1, 'x')", "%s[1] = 'x'", "%s.x = 'x'", "table.remove(%s)", "table.sort(%s)"} {
			g := NewWithT(t)
			s, err := engine(t).Compile(fmt.Sprintf("function f() local was = %[1]s[1] or %[1]s[-1] or %[1]s.x pcall(function() %[2]s end) return was end", library, fmt.Sprintf(call, library)), "f")
			g.Expect(err).NotTo(HaveOccurred())
			for range 2 {
				g.Expect(called(s)).To(BeNil(), library+" "+call)
			}
		}
	}
}

// hunter generates programs that call the sandbox's functions with unexpected arguments.
type hunter struct{ *rand.Rand }

func (h hunter) one(of ...string) string { return of[h.IntN(len(of))] }

func (h hunter) value(depth int) string {
	if depth > 3 {
		return h.one("1", "'x'", "v", "nil")
	}
	switch h.IntN(14) {
	case 0:
		return h.one("0", "-1", "1", "2^31", "2^53", "-2^63", "1e308", "1/0", "-1/0", "0/0", "0.5", "67108864", "60000000", "200")
	case 1:
		return h.one("''", "'%s'", "'%d %5.2f %q'", "'%'", "'[^%w]+'", "'(.-)x'", "'()'", "'%z'", "'abc'", "'1e999'", "'0x'", "'!%c'", "'*t'", "'\\255\\254'", "'1e9999'", "'1Ei'")
	case 2:
		return "{" + h.value(depth+1) + ", " + h.value(depth+1) + "}"
	case 3:
		return "{[" + h.one("1", "'a'", "60000", "70000000", "-1", "v or 1") + "] = " + h.value(depth+1) + ", spec = {containers = {" + h.value(depth+1) + "}}}"
	case 4:
		return "{" + h.one("unpack(w)", "...", "unpack(w, 1, 300)", "v, ...") + "}"
	case 5:
		return "function(...) " + h.body(depth+1) + " end"
	case 6:
		return "(" + h.value(depth+1) + " .. " + h.value(depth+1) + ")"
	case 7:
		return "(" + h.value(depth+1) + " " + h.one("+", "-", "*", "/", "%", "^", "<", "<=", "==", "~=", "and", "or") + " " + h.value(depth+1) + ")"
	case 8:
		return h.one("#", "-", "not ") + "(" + h.value(depth+1) + ")"
	case 9, 10:
		return h.call(depth)
	case 11:
		return "long"
	default:
		return h.one("v", "w", "arg", "_G", "o", "o.spec", "string", "_VERSION", "kube", "nil", "true")
	}
}

func (h hunter) call(depth int) string {
	f := h.one("string.byte", "string.char", "string.lower", "string.reverse", "string.sub", "string.upper", "string.len", "string.format", "string.find", "string.match",
		"string.gmatch", "table.concat", "table.insert", "table.remove", "table.sort", "table.getn", "table.maxn", "math.floor", "math.max", "math.random", "math.fmod", "math.ldexp", "math.modf",
		"os.time", "os.date", "next", "pairs", "ipairs", "select", "unpack", "tostring", "tonumber", "type", "error", "assert", "pcall", "xpcall", "require", "print",
		"kube.resourceAdd", "kube.getResourceQuantity", "kube.accuratePodRequirements", "kube.getPodDependencies", "v", "f", "rawget", "getmetatable", "load", "g")
	var args []string
	for range h.IntN(4) {
		args = append(args, h.value(depth+1))
	}
	return "(" + f + ")(" + strings.Join(args, ", ") + ")"
}

func (h hunter) body(depth int) string {
	var out strings.Builder
	for range 1 + h.IntN(4) {
		if depth > 3 {
			break
		}
		switch h.IntN(9) {
		case 0:
			out.WriteString("local ok, e = pcall(function(...) " + h.body(depth+1) + " end, " + h.value(depth+1) + ") v = e ")
		case 1:
			out.WriteString("for i = 1, " + h.one("3", "1e9", "1000") + " do " + h.body(depth+1) + " end ")
		case 2:
			out.WriteString("for k, x in pairs(type(v) == 'table' and v or w) do " + h.body(depth+1) + " end ")
		case 3:
			out.WriteString("while " + h.value(depth+1) + " do " + h.body(depth+1) + " end ")
		case 4:
			out.WriteString("if " + h.value(depth+1) + " then " + h.body(depth+1) + " else " + h.body(depth+1) + " end ")
		case 5:
			out.WriteString("w[" + h.value(depth+1) + "] = " + h.value(depth+1) + " ")
		case 6:
			out.WriteString("v, w.x = " + h.value(depth+1) + ", " + h.value(depth+1) + " ")
		case 7:
			out.WriteString("repeat " + h.body(depth+1) + " until " + h.value(depth+1) + " ")
		default:
			out.WriteString("v = " + h.call(depth) + " ")
		}
	}
	return out.String()
}

// hunt runs one program. Its result does not matter; it must end.
func hunt(t *testing.T, seed uint64) {
	t.Helper()
	h := hunter{rand.New(rand.NewPCG(seed, 0))}
	source := "local kube = require('kube') local v, w = nil, {1, 2, 3} local long = 'xxxxxxxxxxxxxxxxxxxxxxxx' for i = 1, 15 do long = long .. long end\n" +
		"local function g(...) " + h.body(2) + " return ... end\nfunction f(o, ...) " + h.body(0) + " return " + h.value(0) + " end"
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var err error
	took := processorTime(func() {
		var s *Script
		if s, err = engine(t).Compile(source, "f"); err == nil {
			err = s.Call(context.Background(), []any{map[string]any{"spec": map[string]any{"replicas": int64(3)}}, "x"}, func(r *Results) error {
				_, err := r.Object(0)
				return err
			})
		}
	})
	runtime.ReadMemStats(&after)
	if took > busyTime {
		t.Errorf("seed %d took %s:\n%s", seed, took, source)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 10*maxMemory {
		t.Errorf("seed %d made %d MiB:\n%s", seed, made>>20, source)
	}
	if err != nil && strings.Contains(err.Error(), "runtime error") {
		t.Errorf("seed %d: %v:\n%s", seed, err, source)
	}
}

func TestHunt(t *testing.T) { //nolint:paralleltest // It looks at what the process allocates.
	for seed := range uint64(60) {
		hunt(t, seed)
	}
}

func FuzzHunt(f *testing.F) {
	f.Add(uint64(0))
	f.Fuzz(hunt)
}
