package fleettest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/fleet"
	"fairlead.dev/test/process"
)

// stopTimeout is how long it may take to stop a fleet.
const stopTimeout = 2 * time.Minute

// Shared is the fleet of a package.
type Shared struct {
	options fleet.Options
	once    sync.Once
	fleet   *fleet.Fleet
	err     error
}

// Of returns a fleet to be shared, not started yet. The options need no directories.
func Of(o fleet.Options) *Shared { return &Shared{options: o} }

// Main runs the tests of a package; call it from TestMain. It returns the exit status.
func (s *Shared) Main(m *testing.M) int {
	ctrl.SetLogger(logr.Discard()) // the programs write their own logs
	code := m.Run()
	if err := s.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	return code
}

// Up returns the fleet, after starting whatever does not run.
func (s *Shared) Up(t *testing.T) *fleet.Fleet {
	t.Helper()
	s.once.Do(s.start)
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.fleet
}

func (s *Shared) start() {
	root, err := cluster.Root()
	if err != nil {
		s.err = err
		return
	}
	o := s.options
	o.Bin = filepath.Join(root, "bin")
	if o.Dir, s.err = os.MkdirTemp("/tmp", "fairlead-fleet-"); s.err != nil {
		return
	}
	o.Report = func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	if s.fleet, s.err = fleet.New(o); s.err == nil {
		s.err = s.fleet.Up(context.Background())
	}
}

func (s *Shared) stop() error {
	if s.fleet == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	return errors.Join(s.fleet.Down(ctx), process.Remove(s.fleet.Dir))
}
