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

// sessionLength is how many characters of randomness tell the agents of one member apart.
const sessionLength = 8

// Deps are the dependencies of the stage.
type Deps struct {
	// Cluster is the name of the member.
	Cluster string
	// Open asks the hub for the connection that becomes a line. The connection is nil if the answer is another than 101.
	Open func(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error)
	// Certificate names the certificate of the moment, and says when it ends.
	Certificate func() (serial string, notAfter time.Time)
	// Operators serves the requests of operators; nil lets none in. Allowed says in few words what the owner of the
	// member lets them do; nil is nothing.
	Operators http.Handler
	Allowed   func(ctx context.Context) string
	// Well says what is wrong with the agent; nil is nothing.
	Well func() error
	// Ping says after how long without a word the hub is asked to look whether the agent is there, of a line that is opened now; 0
	// leaves that to the hub, and so does nil.
	Ping func() time.Duration
	// OutageEnds returns a channel that is closed when a hub that did not answer does again, so that a line is opened at once; nil if
	// nobody tells.
	OutageEnds func() <-chan struct{}
	// Clock tells the time.
	Clock clock.Clock
	// Registry takes the metrics; nil has none.
	Registry prometheus.Registerer
}

// New returns a Connector that opens nothing yet.
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

// Register adds the stage to a manager.
func Register(mgr manager.Manager, c *Connector) error {
	if err := mgr.Add(manager.RunnableFunc(c.Start)); err != nil {
		return fmt.Errorf("adding the line: %w", err)
	}
	return nil
}
