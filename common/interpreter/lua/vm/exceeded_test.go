package vm

import (
	"context"
	"errors"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestWhatUsesTooMuchSaysSoInTheSameWordsEachTime has scripts fail again and again: the message ends up in objects
// that would otherwise be written each time.
func TestWhatUsesTooMuchSaysSoInTheSameWordsEachTime(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		script, want string
		exceeded     bool
	}{
		"time": {
			script: "local n = 0 while true do" + strings.Repeat("\n n = n + 1", 200) + "\n end", exceeded: true,
			want: "the script takes too long; it may run for 50ms",
		},
		"time, of what it caught": {script: "while true do\n pcall(function()\n while true do end\n end)\n end", exceeded: true, want: "the script takes too long; it may run for 50ms"},
		"memory": {
			script: "local t = {}\n while true do t[#t+1] = {} end", exceeded: true,
			want: "line 2: the script uses too much memory; it may allocate 16 MiB",
		},
		"memory for what clusters reported": {
			script: `local s, t = "x", {} for i = 1, 16 do s = s .. s end for i = 1, 300 do t[i] = s end local c = require("clusters")` +
				"\n return c.sum({{status = {a = t}}}, {'a'})", exceeded: true,
			want: "line 2: the script uses too much memory; it may allocate 16 MiB",
		},
		"an error of its own": {script: `error("the script takes too long")`, want: "line 1: the script takes too long"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			limiter := shortLimiter()
			limiter.memory = minMemory
			if strings.Contains(name, "memory") {
				limiter.time = maxTime
			}
			e, err := New(Options{Limiter: limiter})
			g.Expect(err).NotTo(HaveOccurred())
			s, err := e.Compile("function f() "+tc.script+" end", "f")
			g.Expect(err).NotTo(HaveOccurred())
			for range 5 {
				_, err := called(s)
				g.Expect(err).To(MatchError(tc.want))
				g.Expect(errors.Is(err, ErrExceeded)).To(Equal(tc.exceeded))
			}
		})
	}
}

// TestWhoIsStoppedUsedNotTooMuch cancels the context of a script that would run longer.
func TestWhoIsStoppedUsedNotTooMuch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s, err := engine(t).Compile("function f() while true do end end", "f")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	st, err := s.state()
	g.Expect(err).NotTo(HaveOccurred())
	err = st.run(ctx, s.engine.limiter, func() error {
		cancel()
		_, err := st.call(s, nil)
		return err
	})
	g.Expect(err).To(MatchError("the script was stopped: context canceled"))
	g.Expect(errors.Is(err, ErrExceeded)).To(BeFalse())
}
