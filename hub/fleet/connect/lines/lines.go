package lines

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Client sends requests to the agent at the other end of a line, and says when the line has ended.
type Client interface {
	http.RoundTripper
	// Done is closed when the line has ended.
	Done() <-chan struct{}
	// Err says why the line has ended, once it has.
	Err() error
	// Close ends the line and all its streams.
	Close() error
	// Streams is how many requests are open on the line.
	Streams() int
}

// Info is the agent's description of itself when it opened a line.
type Info struct {
	// Session tells the processes of agents apart that have the same certificate: it is a hash of what the agent said. Empty is not
	// known, as of a replica of before this was told.
	Session string
	// Operators says in words what the owner of the member lets operators do; empty is not told.
	Operators string
	// Presence is contract.LineIsPresence or contract.LeaseIsPresence.
	Presence string
}

// Line is one open line of a cluster.
type Line struct {
	Info
	// Cluster is the name of the cluster that the line leads to.
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
	// Since is since when it has had one without a gap, and the last time that it had one if it has none.
	Since time.Time
	// Lost is when the last line ended; zero while the cluster has one.
	Lost time.Time
	// Goodbye says that the agent ended the last line on purpose, as one does that is stopped.
	Goodbye bool
	// Losses is how often the cluster was left without a line and without a goodbye, since the hub started.
	Losses int
}

// Registry has the lines of all clusters. It may be used from many goroutines; the zero value does not work, see New.
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

// Open adds a line, which is the one for new requests from now on.
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

// Ended takes a line out that has ended. Goodbye says that the agent ended it on purpose. A line that is not there is
// left alone.
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

// State returns what is known of the lines of a cluster, and whether it has had one since the hub started.
func (r *Registry) State(cluster string) (State, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.clusters[cluster]
	if e == nil {
		return State{}, false
	}
	return e.state, true
}

// States returns what is known of all clusters that have had a line since the hub started, by name.
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

// All returns every open line.
func (r *Registry) All() []*Line {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*Line
	for _, e := range r.clusters {
		out = append(out, e.open...)
	}
	return out
}

// SetPresence says by what agents are asked to show that they are there from now on. Nobody is told: nothing depends on that.
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

// Forget drops what is known of a cluster that is no more, and returns the lines that were still open, for the caller
// to close.
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

// OnChange has f called with the name of a cluster whenever a line of it was opened, has ended, or was forgotten, until
// stop is called. F is called from the goroutine of the change, so it must not block, such as one that adds to a
// queue; what it reads of the registry is at least as new as the change.
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
