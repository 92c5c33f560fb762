package connect

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// sessionLength is the length of the random ID that tells agents of the same member apart.
const sessionLength = 8

// Deps are the dependencies of the stage.
type Deps struct {
	// Cluster is the name of the member.
	Cluster string
	// Open asks the hub for the connection that becomes a line. The connection is nil if the answer is not 101.
	Open func(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error)
	// Certificate returns the serial number and the expiry of the present client certificate.
	Certificate func() (serial string, notAfter time.Time)
	// Operators serves the requests of operators; nil admits none. Allowed summarizes what the owner of the member
	// allows operators to do; nil means nothing.
	Operators http.Handler
	Allowed   func(ctx context.Context) string
	// Well returns what is wrong with the agent, or nil. A nil Well means that the agent is always well.
	Well func() error
	// Ping returns the silence after which the hub is to check that the agent is there, for a line that is opened
	// now. If it returns 0, or is nil, the hub decides.
	Ping func() time.Duration
	// OutageEnds returns a channel that is closed when the hub answers again, so that a line is opened at once; nil
	// if outages are not tracked.
	OutageEnds func() <-chan struct{}
	// Clock is replaced in tests.
	Clock clock.Clock
	// Registry receives the metrics; nil registers none.
	Registry prometheus.Registerer
}

// New returns a Connector that does nothing before Start.
func New(deps Deps) (*Connector, error) {
	if deps.Cluster == "" || deps.Open == nil || deps.Certificate == nil || deps.Clock == nil {
		return nil, errors.New("connect: a dependency is missing")
	}
	if deps.OutageEnds == nil {
		deps.OutageEnds = func() <-chan struct{} { return nil }
	}
	return &Connector{
		Deps: deps, state: newState(deps.Clock), metrics: newMetrics(deps.Registry), renew: make(chan struct{}, 1),
		session: strings.ToLower(rand.Text()[:sessionLength]),
	}, nil
}

// Register adds the Connector to a manager.
func Register(mgr manager.Manager, c *Connector) error {
	if err := mgr.Add(manager.RunnableFunc(c.Start)); err != nil {
		return fmt.Errorf("adding the line: %w", err)
	}
	return nil
}
