package vm

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/yuin/gopher-lua/pm"
)

func TestPatterns(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script string
		want   any
	}{
		"a whole match":             {`return {string.match("web-7f", "%d%a")}`, []any{"7f"}},
		"captures":                  {`return {string.match("shop/web:1.2", "^(%w+)/(%w+):(.*)$")}`, []any{"shop", "web", "1.2"}},
		"the shortest":              {`return {string.match("[[a]]", "%[(.-)%]")}`, []any{"[a"}},
		"a set":                     {`return {string.match("x_y-z", "[%w_]+")}`, []any{"x_y"}},
		"what is not in a set":      {`return {string.match("key=value", "[^=]+$")}`, []any{"value"}},
		"a set with a bracket":      {`return {string.match("a]b", "[]]")}`, []any{"]"}},
		"a range":                   {`return {string.match("xyz123", "[0-2]+")}`, []any{"12"}},
		"a dash at the end of one":  {`return {string.match("a-b", "[a-]+")}`, []any{"a-"}},
		"positions":                 {`return {string.find("hello", "l()l()")}`, []any{int64(3), int64(4), int64(4), int64(5)}},
		"not found":                 {`return {string.find("hello", "x") == nil, string.match("hello", "x") == nil}`, []any{true, true}},
		"plain":                     {`return {string.find("a.b", ".", 1, true)}`, []any{int64(2), int64(2)}},
		"from a position":           {`return {string.find("abcabc", "b", 3)}`, []any{int64(5), int64(5)}},
		"from the end":              {`return {string.find("abcabc", "b", -2)}`, []any{int64(5), int64(5)}},
		"beyond the end":            {`return {string.find("abc", "b", 10) == nil}`, []any{true}},
		"anchored at a position":    {`return {string.find("abab", "^ab", 3)}`, []any{int64(3), int64(4)}},
		"all of them":               {`local out = {} for k, v in string.gmatch("a=1, b=2", "(%w+)=(%w+)") do out[#out+1] = k .. v end return out`, []any{"a1", "b2"}},
		"all, and the last empty":   {`local n = 0 for _ in string.gmatch("ab", "x*") do n = n + 1 end return {n}`, []any{int64(3)}},
		"letters of other writings": {`return {string.match("müsli", "^m(.)s")}`, []any{"ü"}},
		"a percent":                 {`return {string.match("50%", "%d+%%")}`, []any{"50%"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(run(t, "function f() "+c.script+" end")).To(BeComparableTo(c.want))
		})
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	t.Parallel()
	for pattern, why := range map[string]string{
		"(a":    "not closed",
		"a)":    "has no (",
		"[a":    "not closed",
		"%":     "ends with",
		"%b()":  "%b is not supported",
		"(a)%1": "%1 is not supported",
		"[z-a]": "is empty",
	} {
		_, err := run(t, `function f(p) return string.find("text", p) end`, pattern)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(why)), pattern)
	}
	_, err := run(t, `function f(p) return string.find("text", p) end`, strings.Repeat("a", 2000))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("too long")))
}

// FuzzPatterns compares our matches with gopher-lua's.
func FuzzPatterns(f *testing.F) {
	for _, seed := range [][2]string{
		{"%a+", "hello world"},
		{"^(.-)=(.*)$", "a=b=c"},
		{"[%w_.-]+", "x.y-z_1"},
		{"()ll()", "hello"},
		{"a?b*c+d-$", "aabbccdd"},
		{"%s*(%S+)", "  x "},
		{"[^%d]", "12a"},
		{"%p", "a-b"},
		{"[]a]", "]"},
		{"%x%X", "0g"},
		{"%u%l", "aBc"},
		{"%c", "\t"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if len(source) > 20 || len(text) > 20 || strings.ContainsFunc(source+text, func(r rune) bool { return r >= 0x80 || r == 0 }) {
			return
		}
		ours, err := translate(source)
		if err != nil {
			return
		}
		if strings.Contains(source, "[") && (strings.Contains(source, "%") || strings.Contains(source, "-") || strings.Contains(source, "^")) && strings.Count(source, "[") > 1 {
			return // gopher-lua parses some sets differently
		}
		theirs, err := pm.Find(source, []byte(text), 0, 1)
		if err != nil {
			return
		}
		at := ours.find(text, 0)
		if (at == nil) != (len(theirs) == 0) {
			t.Fatalf("pattern %q, text %q: we find %v, gopher-lua %v", source, text, at, len(theirs))
		}
		for i := range at {
			if at[i] == positionCapture {
				continue
			}
			want := theirs[0].Capture(i)
			if i > 1 && theirs[0].IsPosCapture(i) {
				want--
			}
			if at[i] != want {
				t.Fatalf("pattern %q, text %q: we find %v, gopher-lua %d at %d", source, text, at, want, i)
			}
		}
	})
}
