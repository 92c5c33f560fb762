package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
)

// waitTimeout is how long a test waits for what is to come, on a machine that does other work too.
const waitTimeout = time.Minute

// shared are the control planes of this test process, by what was asked for.
var shared = struct {
	sync.Mutex
	clusters map[Options]func() (*Cluster, error)
}{clusters: map[Options]func() (*Cluster, error){}}

// Shared returns the control plane of these options that all tests of a package use. The
// first test that asks for it starts it; a hub has the CRDs installed.
func Shared(tb testing.TB, o Options) *Cluster {
	tb.Helper()
	o = o.complete()
	shared.Lock()
	get, ok := shared.clusters[o]
	if !ok {
		get = sync.OnceValues(func() (*Cluster, error) { return share(o) })
		shared.clusters[o] = get
	}
	shared.Unlock()

	c, err := get()
	if err != nil {
		tb.Fatal(err)
	}
	if c.lent == nil && c.process.Ended() {
		tb.Fatalf("control plane %q stopped by itself:\n%s", c.Name, c.tail())
	}
	return c
}

// share does not use the context of the test that happens to come first: the control plane outlives it.
func share(o Options) (*Cluster, error) {
	ctx := context.Background()
	if c, err := borrow(ctx, o); c != nil || err != nil {
		return c, err
	}
	return startShared(ctx, o)
}

func startShared(ctx context.Context, o Options) (*Cluster, error) {
	c, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Profile != Hub {
		return c, nil
	}
	if err := installCRDs(ctx, c.Config); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// Main runs the tests of a package, ends what was to last as long as they do, stops the control
// planes that they shared, and ends the process. It is all that TestMain does.
func Main(m *testing.M) {
	// Often enough for what people would notice; each look at an API costs it a millisecond, and at gomega's hundred a
	// second a few tests that wait keep a core busy. Only what fails waits to the end: on a machine that is busy for
	// others the rest may take much longer than gomega's second.
	gomega.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	gomega.SetDefaultEventuallyTimeout(waitTimeout)
	code := m.Run()
	if !packageEnd.come() {
		code = max(code, 1)
	}
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code) //nolint:revive // it is the end of TestMain
}

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	var errs []error
	for _, get := range shared.clusters {
		if c, err := get(); err == nil {
			errs = append(errs, c.stop())
		}
	}
	return errors.Join(errs...)
}
