package connect

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/limit"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/route"
)

// Deps are the dependencies of the server.
type Deps struct {
	// Clusters reads Clusters from a cache, and HubReader live.
	Clusters, HubReader client.Reader
	// Review asks the API server whether a user has a right.
	Review func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error)
	// Lines has the open lines.
	Lines *lines.Registry
	// Peers are the other replicas; nil if there are none.
	Peers Peers
	// Replica is the name of this replica, for agents and people.
	Replica string
	// Presence returns what agents must use as their heartbeat now: contract.LineIsPresence or
	// contract.LeaseIsPresence.
	Presence func() string
	// Clock is the hub's clock.
	Clock clock.WithTicker
	// Registry takes the metrics.
	Registry prometheus.Registerer
	// Log logs what happens to lines.
	Log logr.Logger
}

const (
	// handshakesPerSecond is how many lines may be opened each second, since all agents reconnect at once after a start
	// of the hub.
	handshakesPerSecond = 200
	// More than usualPerSecond, with a burst of usualAtOnce, are a rush.
	usualPerSecond = 5
	usualAtOnce    = 100
)

// Server serves the API of lines. It is safe for concurrent use.
type Server struct {
	Deps
	handshakes *rate.Limiter
	// usual is exhausted while lines are opened in a rush.
	usual    *rate.Limiter
	arrivals *limit.Arrivals
	streams  *limit.Counter
	requests *limit.Counter
	uploads  *limit.Counter
	open     *openRequests
	metrics  *metrics

	// draining is closed when agents must open their lines elsewhere, and ending when the remaining lines must end.
	// keepers are the goroutines that supervise lines, and the requests that are about to open one.
	draining, ending chan struct{}
	mu               sync.Mutex // guards closing draining
	keepers          sync.WaitGroup
}

// New returns a server that does not serve yet.
func New(d Deps) (*Server, error) {
	if d.Clusters == nil || d.HubReader == nil || d.Review == nil || d.Lines == nil || d.Clock == nil || d.Registry == nil || d.Presence == nil {
		return nil, errors.New("serving lines: something that the server needs is missing")
	}
	s := &Server{
		Deps: d, handshakes: rate.NewLimiter(handshakesPerSecond, handshakesPerSecond), usual: rate.NewLimiter(usualPerSecond, usualAtOnce),
		arrivals: limit.NewArrivals(),
		streams:  limit.New("streams", limit.Streams()), requests: limit.New("requests", limit.Requests()),
		uploads: limit.New("commands, port-forwards and uploads", limit.Uploads()),
		open:    &openRequests{all: map[*openRequest]struct{}{}}, draining: make(chan struct{}), ending: make(chan struct{}),
	}
	var err error
	if s.metrics, err = newMetrics(d.Registry, s); err != nil {
		return nil, err
	}
	if d.Peers != nil {
		d.Peers.OnChange(s.open.changed) // never stopped: the server lives as long as the process
	}
	return s, nil
}

// ServeHTTP serves a request that an API server has authenticated, authorized and forwarded. Nobody else may reach it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	target, err := route.Split(r.URL.EscapedPath())
	if errors.Is(err, route.ErrUnknown) {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonNotFound, message: "the API of lines has nothing at this path"})
		return
	}
	if err != nil {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonNotFound, message: err.Error()})
		return
	}
	who, ok := callerOf(r.Header)
	if !ok {
		s.refuse(w, r, refusal{reason: metav1.StatusReasonUnauthorized, message: "the API server did not name the user"})
		return
	}
	switch target.Kind {
	case route.Attach:
		s.attach(w, r, target.Cluster, who)
	case route.Proxy:
		s.proxy(w, r, target, who)
	case route.Lines, route.Line:
		s.list(w, r, target)
	case route.Groups, route.Group, route.Version, route.OpenAPI:
		s.discover(w, r, target)
	}
}

// cluster reads a Cluster from the cache, or live if it was created so recently that the cache does not have it.
func (s *Server) cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	cluster := &clusterv1alpha1.Cluster{}
	key := client.ObjectKey{Name: name}
	err := s.Clusters.Get(ctx, key, cluster)
	if client.IgnoreNotFound(err) == nil && err != nil {
		err = s.HubReader.Get(ctx, key, cluster)
	}
	return cluster, err
}

// drain ends all lines. Each agent is first asked to open another line, elsewhere or at the next hub; open requests may
// go on until the context ends. superviseLine does this for each line, so that a line that opens meanwhile is not
// missed.
func (s *Server) drain(ctx context.Context) {
	s.mu.Lock()
	close(s.draining)
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { close(s.ending) })
	defer stop()
	s.keepers.Wait()
}

// isDraining says whether agents must open their lines elsewhere.
func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// beginOpening says whether a line may still be opened. If so, drain waits until done is called.
func (s *Server) beginOpening() (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDraining() {
		return nil, false
	}
	s.keepers.Add(1)
	return s.keepers.Done, true
}

// replaceLine asks the agent to open another line, then ends this one once its streams or the context have ended.
func replaceLine(ctx context.Context, l *lines.Line) {
	if d, ok := l.Client.(interface{ Drain(context.Context) }); ok {
		d.Drain(ctx)
	}
	_ = l.Client.Close() // an error only means that the line has ended
}

// newName returns an unguessable id for a request.
func newName() string { return rand.Text() }

// TellPresence tells all connected agents what to use as their heartbeat: whether to renew their leases rarely, or as
// if they had no line. It returns when each agent has been told, or did not respond.
func (s *Server) TellPresence(ctx context.Context, mode string) {
	s.Lines.SetPresence(mode)
	var all sync.WaitGroup
	for _, l := range s.Lines.All() {
		all.Go(func() { s.tellPresence(ctx, l, mode) })
	}
	all.Wait()
}

func (s *Server) tellPresence(ctx context.Context, l *lines.Line, mode string) {
	ctx, cancel := context.WithTimeout(ctx, selfTimeout)
	defer cancel()
	if err := askAgent(ctx, l.Client, http.MethodPut, contract.LinePresencePath, mode); err != nil {
		if mode == contract.LeaseIsPresence {
			_ = l.Client.Close() // without the message the agent would go on renewing rarely: with a new line it gets it
		}
		s.Log.V(1).Info("Could not tell an agent how to report its presence, it is told when it opens its next line", "Cluster", l.Cluster, "reason", err.Error())
	}
}

// retryAfter returns a random delay for a client that is refused, so that not all come back at once.
func retryAfter(most time.Duration) time.Duration {
	return time.Second + time.Duration(jitter()*float64(most-time.Second))
}
