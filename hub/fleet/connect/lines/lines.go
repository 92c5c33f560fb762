package lines

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Client sends requests to the agent at the other end of a line, and reports the end of the line.
type Client interface {
	http.RoundTripper
	// Done is closed when the line ends.
	Done() <-chan struct{}
	// Err returns why the line has ended, once it has.
	Err() error
	// Close ends the line and all its streams.
	Close() error
	// Streams returns the number of open requests on the line.
	Streams() int
}

// Info is the agent's description of itself when it opened a line.
type Info struct {
	// Session is a hash that tells agent processes with the same certificate apart; empty if unknown, as from an older
	// replica.
	Session string
	// Operators summarizes what the owner of the member permits operators; empty if the agent did not say.
	Operators string
	// Presence is contract.LineIsPresence or contract.LeaseIsPresence.
	Presence string
}

// Line is one open line of a cluster.
type Line struct {
	Info
	// Cluster is the name of the cluster.
	Cluster string
	// Client sends requests through the line.
	Client Client
	// Opened is when this line was opened.
	Opened time.Time
}

// State summarizes the lines of a cluster.
type State struct {
	Info
	// Cluster is the name of the cluster.
	Cluster string
	// Up says that the cluster has an open line.
	Up bool
	// Since is when the cluster became connected without a gap since; if it is not connected, when its last connection
	// started.
	Since time.Time
	// Lost is when the last line ended; zero while the cluster has one.
	Lost time.Time
	// Goodbye says that the agent announced the end of the last line, as it does when it is stopped.
	Goodbye bool
	// Losses counts how often the cluster lost its only line without a goodbye, since the hub started.
	Losses int
}

// Registry holds the lines of all clusters. It is safe for concurrent use; use New to make one.
type Registry struct {
	mu       sync.Mutex
	clusters map[string]*entry
	watchers map[int]func(cluster string)
	next     int
}

// entry holds the lines of one cluster. The last of the open lines is the newest.
type entry struct {
	state State
	open  []*Line
}

// New returns a registry without lines.
func New() *Registry {
	return &Registry{clusters: map[string]*entry{}, watchers: map[int]func(string){}}
}

// Open adds a line. New requests use it from now on.
func (r *Registry) Open(cluster string, client Client, info Info, now time.Time) *Line {
	l := &Line{Info: info, Cluster: cluster, Client: client, Opened: now}
	r.mu.Lock()
	e := r.clusters[cluster]
	if e == nil {
		e = &entry{}
		r.clusters[cluster] = e
	}
	e.open = append(e.open, l)
	since := e.state.Since
	if !e.state.Up {
		since = now
	}
	e.state = State{Info: info, Cluster: cluster, Up: true, Since: since, Losses: e.state.Losses}
	r.mu.Unlock()
	r.tell(cluster)
	return l
}

// Ended removes a line that has ended. Goodbye says that the agent announced the end. An unknown line is ignored.
func (r *Registry) Ended(l *Line, goodbye bool, now time.Time) {
	r.mu.Lock()
	e := r.clusters[l.Cluster]
	if e == nil || !slices.Contains(e.open, l) {
		r.mu.Unlock()
		return
	}
	e.open = slices.DeleteFunc(e.open, func(o *Line) bool { return o == l })
	if n := len(e.open); n > 0 {
		e.state.Info = e.open[n-1].Info
	} else {
		e.state.Up, e.state.Lost, e.state.Goodbye = false, now, goodbye
		if !goodbye {
			e.state.Losses++
		}
	}
	r.mu.Unlock()
	r.tell(l.Cluster)
}

// Newest returns the line of a cluster for new requests; nil if it has none.
func (r *Registry) Newest(cluster string) *Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.clusters[cluster]
	if e == nil || len(e.open) == 0 {
		return nil
	}
	return e.open[len(e.open)-1]
}

// State returns the state of the lines of a cluster; false if it has had none since the hub started.
func (r *Registry) State(cluster string) (State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.clusters[cluster]
	if e == nil {
		return State{}, false
	}
	return e.state, true
}

// States returns the states of all clusters that have had a line since the hub started, by name.
func (r *Registry) States() []State {
	r.mu.Lock()
	out := make([]State, 0, len(r.clusters))
	for _, e := range r.clusters {
		out = append(out, e.state)
	}
	r.mu.Unlock()
	slices.SortFunc(out, func(a, b State) int { return strings.Compare(a.Cluster, b.Cluster) })
	return out
}

// Lines returns the open lines of a cluster, the oldest first.
func (r *Registry) Lines(cluster string) []*Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.clusters[cluster]; e != nil {
		return slices.Clone(e.open)
	}
	return nil
}

// All returns all open lines.
func (r *Registry) All() []*Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*Line
	for _, e := range r.clusters {
		out = append(out, e.open...)
	}
	return out
}

// SetPresence sets whether lines or leases count as heartbeats. It does not call the functions of OnChange.
func (r *Registry) SetPresence(presence string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.clusters {
		e.state.Presence = presence
		for _, l := range e.open {
			l.Presence = presence
		}
	}
}

// Forget removes a cluster that no longer exists, and returns its open lines, which the caller must close.
func (r *Registry) Forget(cluster string) []*Line {
	r.mu.Lock()
	e := r.clusters[cluster]
	delete(r.clusters, cluster)
	r.mu.Unlock()
	if e == nil {
		return nil
	}
	r.tell(cluster)
	return e.open
}

// OnChange registers a function that is called with the name of a cluster whenever one of its lines was opened, ended,
// or was forgotten, until stop is called. The function runs in the goroutine that made the change, so it must not
// block; it may add to a queue. The registry already includes the change.
func (r *Registry) OnChange(f func(cluster string)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.watchers[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, id)
	}
}

func (r *Registry) tell(cluster string) {
	r.mu.Lock()
	watchers := make([]func(string), 0, len(r.watchers))
	for _, f := range r.watchers {
		watchers = append(watchers, f)
	}
	r.mu.Unlock()
	for _, f := range watchers {
		f(cluster)
	}
}
