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
	// Review asks the API server whether somebody may do something.
	Review func(context.Context, authorizationv1.SubjectAccessReviewSpec) (bool, error)
	// Lines has the open lines.
	Lines *lines.Registry
	// Peers are the other replicas; nil if there are none.
	Peers Peers
	// Replica is the name of this replica, for agents and people.
	Replica string
	// Presence is by what the hub tells at the moment that members are there, contract.LineIsPresence or
	// contract.LeaseIsPresence.
	Presence func() string
	// Clock is the hub's time.
	Clock clock.WithTicker
	// Registry gets the metrics.
	Registry prometheus.Registerer
	// Log is told what happens to lines.
	Log logr.Logger
}

const (
	// handshakesPerSecond is how many lines may be opened each second; after a start of the hub all agents come at once.
	handshakesPerSecond = 200
	// More than usualPerSecond of them, and usualAtOnce besides, are a rush.
	usualPerSecond = 5
	usualAtOnce    = 100
)

// Server serves the API of lines. It may be used from many goroutines.
type Server struct {
	Deps
	handshakes *rate.Limiter
	// usual has no room for a line that is opened in a rush.
	usual    *rate.Limiter
	arrivals *limit.Arrivals
	streams  *limit.Counter
	requests *limit.Counter
	uploads  *limit.Counter
	open     *openRequests
	metrics  *metrics

	// draining is closed when agents are to open other lines, and ending when no line may go on; keepers are the goroutines that look
	// after lines, and the requests that are about to open one.
	draining, ending chan struct{}
	mu               sync.Mutex // is held to close draining
	keepers          sync.WaitGroup
}

// New returns a server that serves nothing yet.
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
		d.Peers.OnChange(s.open.changed) // for as long as the process runs
	}
	return s, nil
}

// ServeHTTP answers a request that an API server has authenticated, authorized and forwarded: nobody else may reach it.
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
		s.refuse(w, r, refusal{reason: metav1.StatusReasonUnauthorized, message: "the API server did not say who asks"})
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

// cluster reads a Cluster; one that has only just been made may not be in the cache.
func (s *Server) cluster(ctx context.Context, name string) (*clusterv1alpha1.Cluster, error) {
	cluster := &clusterv1alpha1.Cluster{}
	key := client.ObjectKey{Name: name}
	err := s.Clusters.Get(ctx, key, cluster)
	if client.IgnoreNotFound(err) == nil && err != nil {
		err = s.HubReader.Get(ctx, key, cluster)
	}
	return cluster, err
}

// drain ends all lines: each agent is asked to open another line first, elsewhere or at the next hub, and what is open
// may go on until the context ends. superviseLine does that for each line, so that no line is forgotten which opens meanwhile.
func (s *Server) drain(ctx context.Context) {
	s.mu.Lock()
	close(s.draining)
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { close(s.ending) })
	defer stop()
	s.keepers.Wait()
}

// isDraining says whether agents are to open their lines elsewhere.
func (s *Server) isDraining() bool {
	select {
	case <-s.draining:
		return true
	default:
		return false
	}
}

// beginOpening says whether a line may be opened still. If so, drain waits until done is called.
func (s *Server) beginOpening() (done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isDraining() {
		return nil, false
	}
	s.keepers.Add(1)
	return s.keepers.Done, true
}

// replaceLine asks the agent of a line for another one, and ends the line with its streams, or with the context.
func replaceLine(ctx context.Context, l *lines.Line) {
	if d, ok := l.Client.(interface{ Drain(context.Context) }); ok {
		d.Drain(ctx)
	}
	_ = l.Client.Close() // what it could say is that the line has ended
}

// newName returns a name for a request, which nobody can guess.
func newName() string { return rand.Text() }

// TellPresence tells all agents by what to show that they are there: those that are connected renew their leases rarely, or as if there were no
// line. It returns when each agent was told, or did not answer.
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
			_ = l.Client.Close() // one that was not told would rest: it opens another line, and is told then
		}
		s.Log.V(1).Info("Could not tell an agent how to show that it is there, it is told when it opens its next line", "Cluster", l.Cluster, "reason", err.Error())
	}
}

// retryAfter is how long somebody is to wait who is refused, at random, so that not all come back at once.
func retryAfter(most time.Duration) time.Duration {
	return time.Second + time.Duration(jitter()*float64(most-time.Second))
}
