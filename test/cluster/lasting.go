package cluster

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// Lasting returns a test for what outlives it since other tests of its package use it as well: what that is to clean up is cleaned up
// after the last of them, by Main, and its context ends then.
func Lasting(tb testing.TB) testing.TB {
	tb.Helper()
	return outliving{TB: tb, end: packageEnd}
}

// Kept is what tests of a package share beside control planes: the first that asks starts it, and it lasts. A test that comes again, as
// with -count=2, does not find what it has left: it is given another.
type Kept[T any] struct {
	taken, mu sync.Mutex
	value     T
	// had are the tests that were given it; nil if it is not started.
	had map[string]bool
}

// Share returns what others use at the same time.
func (k *Kept[T]) Share(tb testing.TB, start func(testing.TB) T) T {
	tb.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.had == nil || k.had[tb.Name()] {
		k.had = nil // where the start fails
		k.value = start(Lasting(tb))
		k.had = map[string]bool{}
	}
	k.had[tb.Name()] = true
	return k.value
}

// Take returns what nobody else who takes it uses before the test ends.
func (k *Kept[T]) Take(tb testing.TB, start func(testing.TB) T) T {
	tb.Helper()
	k.taken.Lock()
	tb.Cleanup(k.taken.Unlock)
	return k.Share(tb, start)
}

// packageEnd is that of the tests of this process.
var packageEnd = newEnd()

// end is what is to be done when all tests are done.
type end struct {
	ctx    context.Context //nolint:containedctx // It is that of tests, which have theirs in them as well.
	cancel context.CancelFunc

	mu       sync.Mutex
	cleanups []func()
	// came says that no test can fail any more, and failed that something did since.
	came, failed bool
}

func newEnd() *end {
	ctx, cancel := context.WithCancel(context.Background())
	return &end{ctx: ctx, cancel: cancel}
}

// come cleans up, what was begun last first, and says whether nothing failed.
func (e *end) come() bool {
	e.cancel()
	e.mu.Lock()
	e.came = true
	cleanups := e.cleanups
	e.mu.Unlock()
	for _, cleanup := range slices.Backward(cleanups) {
		done := make(chan struct{})
		go func() { // which is all that ends where something fails for good
			defer close(done)
			cleanup()
		}()
		<-done
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.failed
}

// fails notes what failed, if no test can fail any more.
func (e *end) fails(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.came {
		e.failed = true
		fmt.Fprintln(os.Stderr, text)
	}
	return e.came
}

// outliving is a test as what outlives it sees it.
type outliving struct {
	testing.TB
	end *end
}

func (o outliving) Context() context.Context { return o.end.ctx }

func (o outliving) Cleanup(f func()) {
	o.end.mu.Lock()
	defer o.end.mu.Unlock()
	o.end.cleanups = append(o.end.cleanups, f)
}

func (o outliving) Error(args ...any) {
	o.Helper()
	if !o.end.fails(fmt.Sprint(args...)) {
		o.TB.Error(args...)
	}
}

func (o outliving) Errorf(format string, args ...any) {
	o.Helper()
	o.Error(fmt.Sprintf(format, args...))
}

func (o outliving) Fatal(args ...any) {
	o.Helper()
	if o.end.fails(fmt.Sprint(args...)) {
		runtime.Goexit()
	}
	o.TB.Fatal(args...)
}

func (o outliving) Fatalf(format string, args ...any) {
	o.Helper()
	o.Fatal(fmt.Sprintf(format, args...))
}

// TempDir is one that is there until the end; that of the test goes with it.
func (o outliving) TempDir() string {
	o.Helper()
	dir, err := os.MkdirTemp("", "fairlead-test-")
	if err != nil {
		o.Fatal(err)
	}
	o.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			o.Error(err)
		}
	})
	return dir
}
