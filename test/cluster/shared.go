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

// waitTimeout is the default timeout of Eventually, for a machine that does other work too.
const waitTimeout = time.Minute

// shared are the control planes of this test process, by their options.
var shared = struct {
	sync.Mutex
	clusters map[Options]func() (*Cluster, error)
}{clusters: map[Options]func() (*Cluster, error){}}

// Shared returns the control plane with these options that all tests of a package share. The first test that asks for
// it starts it; a hub has the CRDs installed.
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

// share does not use the context of the first test: the control plane outlives it.
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

// Main runs the tests of a package, then the cleanups of Lasting, stops the shared control planes, and exits. TestMain
// need not do anything else.
func Main(m *testing.M) {
	// Each poll of an API costs it a millisecond: at gomega's default of a hundred polls a second a few waiting tests
	// keep a core busy. The timeout is longer than gomega's second, because a busy machine may need much longer; only
	// failures wait so long.
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
