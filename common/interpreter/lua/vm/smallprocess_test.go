package vm

import (
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
)

// TestAScriptOfASmallProcessIsSmall has scripts fill memory in many instructions, with the full time limit in a
// process of 64 MiB: each must be stopped by the limit on allocations.
func TestAScriptOfASmallProcessIsSmall(t *testing.T) { //nolint:paralleltest // It looks at what the process allocates.
	for name, body := range map[string]string{
		"a table that grows":                  "local t = {} while true do t[#t+1] = {} end",
		"a list that grows":                   "local t = {} while true do t[#t+1] = 1 end",
		"tables in a condition":               "local t = {} while (function() t = {t} return true end)() do end",
		"functions":                           "local t = {} while true do t[#t+1] = function() return t end end",
		"values of unknown number in a table": "local t, a = {}, {} for i = 1, 10000 do t[i] = i end local function g(...) for i = 1, 1e9 do a[i] = {...} end end g(unpack(t))",
		"arguments of unknown number":         "local t, a = {}, {} for i = 1, 10000 do t[i] = i end local function h(...) return arg end local function g(...) for i = 1, 1e9 do a[i] = h(...) end end g(unpack(t))",
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			limiter := NewLimiter(4 * minMemory)
			e, err := New(Options{Limiter: limiter})
			g.Expect(err).NotTo(HaveOccurred())
			s, err := e.Compile("function f() "+body+" end", "f")
			g.Expect(err).NotTo(HaveOccurred())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err = called(s)
			runtime.ReadMemStats(&after)
			t.Logf("%d MiB, %v", (after.TotalAlloc-before.TotalAlloc)>>20, err)
			g.Expect(err).To(HaveOccurred())
			g.Expect(after.TotalAlloc-before.TotalAlloc).To(BeNumerically("<", 6*limiter.memory), "garbage included")
		})
	}
}
