package chaos

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/fleet"
	"fairlead.dev/test/fleet/fleettest"
	"fairlead.dev/test/process"
)

const (
	// waitTimeout allows for a machine that does other work too.
	waitTimeout = 2 * time.Minute
	poll        = 100 * time.Millisecond

	member = "edge-1"
	// defaultAway is how long the hub is away by default.
	defaultAway = 10 * time.Second
)

// shared has room for the pods of more than ten rounds, because the objects of earlier rounds stay.
var shared = fleettest.Of(fleet.Options{Clusters: 1, Nodes: 6})

func TestMain(m *testing.M) { os.Exit(shared.Main(m)) }

// dice returns the random numbers of a test, from a seed that is logged.
func dice(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("FAIRLEAD_CHAOS_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("FAIRLEAD_CHAOS_SEED: %v", err)
		}
	}
	t.Logf("FAIRLEAD_CHAOS_SEED=%d", seed)
	name := fnv.New64a()
	_, _ = name.Write([]byte(t.Name()))
	return rand.New(rand.NewPCG(seed, name.Sum64()))
}

// away returns how long the hub is away.
func away(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("FAIRLEAD_CHAOS_AWAY")
	if text == "" {
		return defaultAway
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("FAIRLEAD_CHAOS_AWAY: %v", err)
	}
	return d
}

// begin returns the fleet, and a new world of this test's objects in it.
func begin(t *testing.T) (*fleet.Fleet, *world) {
	t.Helper()
	f := shared.Up(t)
	if err := f.Up(t.Context()); err != nil { // restarts what the last test stopped
		t.Fatal(err)
	}
	w := newWorld(t, f)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Tail(f.Log(fleet.HubName), f.Log(fleet.AgentName(member))))
			t.Log(w.show(f))
		}
	})
	return f, w
}

// eventually retries check until it passes.
func eventually(t *testing.T, check func(g Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(check).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// again kills a process at random times until stop is called, and then leaves it running. kills returns the number of
// kills so far.
func again(t *testing.T, f *fleet.Fleet, name string, most time.Duration) (kills func() int64, stop func()) {
	t.Helper()
	random := dice(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	var n atomic.Int64
	go func() {
		for {
			select {
			case <-ctx.Done():
				done <- f.Up(t.Context())
				return
			case <-time.After(time.Duration(random.Int64N(int64(most)))):
			}
			if err := f.Kill(t.Context(), name); err != nil {
				done <- err
				return
			}
			n.Add(1)
			if err := f.Up(t.Context()); err != nil {
				done <- err
				return
			}
		}
	}()
	return n.Load, func() {
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}
