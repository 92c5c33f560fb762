package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"

	"k8s.io/utils/clock"

	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// output is a buffer that may be read while it is being written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

// String implements fmt.Stringer.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// execution is a run of the program.
type execution struct {
	out, err output
	env      map[string]string
}

func (e *execution) run(ctx context.Context, args ...string) int {
	return Run(ctx, Environment{
		Out: &e.out, Err: &e.err, Random: rand.Reader, Clock: clock.RealClock{},
		SetLogger: func(logr.Logger) {}, // several programs run in one process
		Getenv:    func(key string) string { return e.env[key] },
	}, args)
}

// lastLine returns the last line of standard error.
func (e *execution) lastLine() string {
	lines := strings.Split(strings.TrimSpace(e.err.String()), "\n")
	return lines[len(lines)-1]
}
