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

// Lasting returns a testing.TB for resources that several tests of a package share: its cleanups run, and its context
// ends, after the last test, in Main.
func Lasting(tb testing.TB) testing.TB {
	tb.Helper()
	return outliving{TB: tb, end: packageEnd}
}

// Kept is a value that the tests of a package share, such as a fleet: the first test that asks starts it, and it lasts
// until the end. A test that runs again, as with -count=2, gets a new one, so that it does not find its own leftovers.
type Kept[T any] struct {
	taken, mu sync.Mutex
	value     T
	// had are the names of the tests that were given the value; nil if it is not started.
	had map[string]bool
}

// Share returns the value; other tests may use it at the same time.
func (k *Kept[T]) Share(tb testing.TB, start func(testing.TB) T) T {
	tb.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.had == nil || k.had[tb.Name()] {
		k.had = nil // in case start fails
		k.value = start(Lasting(tb))
		k.had = map[string]bool{}
	}
	k.had[tb.Name()] = true
	return k.value
}

// Take returns the value, and excludes other callers of Take until the test ends.
func (k *Kept[T]) Take(tb testing.TB, start func(testing.TB) T) T {
	tb.Helper()
	k.taken.Lock()
	tb.Cleanup(k.taken.Unlock)
	return k.Share(tb, start)
}

// packageEnd is the end of the tests of this process.
var packageEnd = newEnd()

// end holds the cleanups to run when all tests are done.
type end struct {
	ctx    context.Context //nolint:containedctx // It is that of tests, which have theirs in them as well.
	cancel context.CancelFunc

	mu       sync.Mutex
	cleanups []func()
	// came is set when no test can fail any more; failed is set if a cleanup fails after that.
	came, failed bool
}

func newEnd() *end {
	ctx, cancel := context.WithCancel(context.Background())
	return &end{ctx: ctx, cancel: cancel}
}

// come runs the cleanups, last first, and reports whether none failed.
func (e *end) come() bool {
	e.cancel()
	e.mu.Lock()
	e.came = true
	cleanups := e.cleanups
	e.mu.Unlock()
	for _, cleanup := range slices.Backward(cleanups) {
		done := make(chan struct{})
		go func() { // a Fatal ends only this goroutine
			defer close(done)
			cleanup()
		}()
		<-done
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.failed
}

// fails prints and records a failure if no test can fail any more, and reports whether it did.
func (e *end) fails(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.came {
		e.failed = true
		fmt.Fprintln(os.Stderr, text)
	}
	return e.came
}

// outliving is a testing.TB that ends with the package instead of with its test.
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

// TempDir returns a directory that is kept until the end; the test's own would be removed with the test.
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
