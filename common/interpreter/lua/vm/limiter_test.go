package vm

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
)

// gauge counts the goroutines at a place, and their maximum.
type gauge struct{ now, most atomic.Int32 }

func (g *gauge) enter() {
	now := g.now.Add(1)
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
}

// TestScriptsShareOneBudget runs sixteen greedy scripts of two engines at once. They report when they begin, when
// they have allocated much, and when they end.
func TestScriptsShareOneBudget(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var running, large gauge
	limiter := NewLimiter(0)
	options := Options{Limiter: limiter, Print: func(line string) {
		switch line {
		case "begin":
			running.enter()
		case "large":
			large.enter()
		default:
			large.now.Add(-1)
			running.now.Add(-1)
		}
	}}
	var scripts []*Script
	for range 2 {
		e, err := New(options)
		g.Expect(err).NotTo(HaveOccurred())
		s, err := e.Compile(`function f() print("begin") local t = {} for i = 1, 20000 do t[i] = {} end print("large") for i = 20001, 40000 do t[i] = {} end print("end") end`, "f")
		g.Expect(err).NotTo(HaveOccurred())
		scripts = append(scripts, s)
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := called(scripts[i%2]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	g.Expect(running.most.Load()).To(And(BeNumerically(">", 0), BeNumerically("<=", maxRunning)))
	g.Expect(large.most.Load()).To(Equal(int32(1)))
	g.Expect(limiter.running).To(BeEmpty())
	g.Expect(limiter.greedy).To(BeEmpty())
}

func TestALimitOfTheProcessIsOneOfItsScripts(t *testing.T) {
	t.Parallel()
	for memory, want := range map[int64]int{0: 128 << 20, 4 << 30: 128 << 20, 256 << 20: 64 << 20, 32 << 20: 16 << 20} {
		NewWithT(t).Expect(NewLimiter(memory).memory).To(Equal(want))
	}
	g := NewWithT(t)
	e, err := New(Options{Limiter: NewLimiter(32 << 20)})
	g.Expect(err).NotTo(HaveOccurred())
	s, err := e.Compile("function f() local t = {} while true do t[#t+1] = {} end end", "f")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = called(s)
	g.Expect(err).To(MatchError(ContainSubstring("it may allocate 16 MiB")))
}

func TestWaitingForOthersEndsWithTheContext(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	limiter := NewLimiter(0)
	e, err := New(Options{Limiter: limiter})
	g.Expect(err).NotTo(HaveOccurred())
	small, err := e.Compile("function f() return 1 end", "f")
	g.Expect(err).NotTo(HaveOccurred())
	large, err := e.Compile("function f() local t = {} for i = 1, 20000 do t[i] = {} end return 1 end", "f")
	g.Expect(err).NotTo(HaveOccurred())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nobody := func(*Results) error { return nil }

	limiter.greedy <- struct{}{}
	g.Expect(called(small)).To(Equal(int64(1)), "a small one needs no more")
	for range maxRunning {
		limiter.running <- struct{}{}
	}
	g.Expect(small.Call(ctx, nil, nobody)).To(MatchError(ContainSubstring("waiting for other scripts to end")))
	for range maxRunning {
		<-limiter.running
	}
	g.Expect(large.Call(ctx, nil, nobody)).To(MatchError(ContainSubstring("context canceled")))
}

// TestWhatIsCaughtStaysAnError has scripts catch the error that stops them, and continue.
func TestWhatIsCaughtStaysAnError(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"pcall(function() while true do end end) return true":                                 "^the script takes too long; it may run for 50ms$",
		"return pcall(function() while true do end end)":                                      "takes too long",
		"return xpcall(function() while true do end end, function() return true end)":         "takes too long",
		"return pcall(function() local s = 'x' for i = 1, 1e9 do local t = {s .. i} end end)": "too",
	} {
		g := NewWithT(t)
		_, err := run(t, "function f() "+script+" end")
		g.Expect(err).To(MatchError(MatchRegexp(want)), script)
	}
	e, err := New(Options{Limiter: NewLimiter(minMemory)})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	greedy, err := e.Compile("function f() pcall(function() local t = {} while true do t[#t+1] = {} end end) return true end", "f")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	_, err = called(greedy)
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("too much memory")))
	_, err = engine(t).Compile("pcall(function() while true do end end) function f() end", "f")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("takes too long")))
}
