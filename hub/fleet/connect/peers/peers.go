package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/hub/fleet/connect/peers/view"
)

// Lines are the lines that this replica holds: see lines.Registry. Its methods are safe for concurrent use.
type Lines interface {
	// States returns the state of the lines of each cluster.
	States() []lines.State
	// OnChange registers a function that is called with the name of a cluster when its lines change, until stop is
	// called. The function must not block.
	OnChange(f func(cluster string)) (stop func())
}

// Options are the settings of a replica. All are required unless they say otherwise.
type Options struct {
	// Host is the name of the machine, with which the name of the replica starts.
	Host string
	// BindAddress is the IP:PORT at which this replica listens for the others.
	BindAddress string
	// AdvertiseAddress is the HOST or HOST:PORT at which the others reach this replica. Without a port it is the
	// listener's; if empty, it is an address of this machine.
	AdvertiseAddress string
	// Directory has the Leases of all replicas.
	Directory Directory
	// Lines are the lines of this replica.
	Lines Lines
	// Handler serves the requests that other replicas forward. It may trust their headers.
	Handler http.Handler
	// Elected is closed when this replica becomes the leader.
	Elected <-chan struct{}
	// PresenceChanged is called when the heartbeat that this replica's agents must use changes. It may take until the
	// context ends. May be nil.
	PresenceChanged func(ctx context.Context, presence string)
	// Clock is the hub's clock.
	Clock clock.WithTicker
	// Log logs which replicas come and go; the zero value logs nothing.
	Log logr.Logger
}

// How soon replicas learn of each other's state.
const (
	// heartbeatEvery is how often a replica sends a heartbeat.
	heartbeatEvery = time.Second
	// silence is how long another replica may send nothing, or accept nothing.
	silence = view.LeaderSilence
)

// Peers are the other replicas of this hub. Its methods are safe for concurrent use.
type Peers struct {
	o       Options
	me      identity
	silence time.Duration
	// listEvery and lookEvery are the intervals at which Leases are read; tests shorten them.
	listEvery, lookEvery time.Duration
	// look triggers a reconcile of the Leases.
	look chan struct{}

	mu sync.Mutex
	// known are the replicas that have a record, by name.
	known map[string]*peer
	// heard has the lines of each replica as that replica reported them, including replicas that have gone.
	heard map[string]*view.Replica
	// leaderHeard is when the leader last confirmed that it has this replica's lines.
	leaderHeard time.Time
	presence    string
	// streams counts the open streams of lines of each other replica.
	streams  map[string]int
	watchers map[int]func(cluster string)
	next     int
}

// New returns a Peers that knows no replica until Start runs.
func New(o Options) (*Peers, error) {
	if o.BindAddress == "" || o.Directory == nil || o.Lines == nil || o.Handler == nil || o.Elected == nil || o.Clock == nil {
		return nil, errors.New("setting up the replicas of the hub: an address, the directory, lines, the handler, the election and the clock must be given")
	}
	me, err := newIdentity(o.Host, o.Clock.Now())
	if err != nil {
		return nil, err
	}
	return &Peers{
		o: o, me: me, silence: silence, listEvery: listEvery, lookEvery: lookEvery, look: make(chan struct{}, 1), presence: contract.LeaseIsPresence,
		known: map[string]*peer{}, heard: map[string]*view.Replica{}, streams: map[string]int{}, watchers: map[int]func(string){},
	}, nil
}

// ID returns the name of this replica.
func (p *Peers) ID() string { return p.me.id }

// NeedLeaderElection implements manager.LeaderElectionRunnable: replicas that are not the leader hold lines, too.
func (*Peers) NeedLeaderElection() bool { return false }

// Start serves and calls the other replicas until the context ends. Then it deletes the record of this replica.
func (p *Peers) Start(ctx context.Context) error {
	log := p.o.Log
	ctx = logr.NewContext(ctx, log)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.o.BindAddress)
	if err != nil {
		return fmt.Errorf("listening for the other replicas of the hub: %w", err)
	}
	own := Record{ID: p.me.id, Pin: p.me.pin, Address: advertised(ctx, p.o.AdvertiseAddress, listener.Addr())}
	if err := own.validate(); err != nil {
		return errors.Join(fmt.Errorf("telling other replicas of this one: %w", err), listener.Close())
	}
	running, cancel := context.WithCancel(ctx)
	server := p.server(running, log)
	var group sync.WaitGroup
	var served error
	group.Go(func() {
		defer cancel()
		served = server.serve(listener)
	})
	group.Go(func() { p.keepLeases(running, own) })
	group.Go(func() { p.keepPresence(running) })
	log.Info("Other replicas of the hub find this one", "replica", own.ID, "address", own.Address)
	<-running.Done()
	_ = server.Close()
	group.Wait()
	p.disconnect(p.all()...)
	p.deregister(ctx, own)
	if ctx.Err() != nil {
		return nil //nolint:nilerr // It was stopped by its context.
	}
	return fmt.Errorf("listening for the other replicas of the hub: %w", served)
}

// deregister deletes the record of this replica.
func (p *Peers) deregister(ctx context.Context, own Record) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deregisterTimeout)
	defer cancel()
	if err := p.o.Directory.Remove(ctx, Record{ID: own.ID}); err != nil {
		logr.FromContextOrDiscard(ctx).Info("The Lease of this replica stays until another deletes it", "reason", err.Error())
	}
}

const deregisterTimeout = 2 * time.Second

// keepPresence decides what agents must use as their heartbeat, and reports changes.
func (p *Peers) keepPresence(ctx context.Context) {
	ticker := p.o.Clock.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	elected := p.o.Elected
	for {
		p.mu.Lock()
		before := p.presence
		p.presence = view.Presence(p.elected(), p.leaderHeard, p.o.Clock.Now())
		now := p.presence
		p.mu.Unlock()
		if now != before {
			logr.FromContextOrDiscard(ctx).Info("Agents are told to report their presence in another way", "presence", now)
			if p.o.PresenceChanged != nil {
				p.o.PresenceChanged(ctx, now)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-elected:
			elected = nil // the top of the loop calls p.elected
		case <-ticker.C():
			p.forget()
		}
	}
}

// elected says whether this replica is the leader.
func (p *Peers) elected() bool {
	select {
	case <-p.o.Elected:
		return true
	default:
		return false
	}
}

// Presence returns what the agents of this replica must use as their heartbeat: contract.LineIsPresence while the
// leader knows their lines, or else contract.LeaseIsPresence.
func (p *Peers) Presence() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.presence
}

// Line returns the merged report of the other replicas on the line of a cluster; false if none has reported any.
func (p *Peers) Line(cluster string) (view.Line, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var states []view.Line
	for id, r := range p.heard {
		if state, known := r.Line(cluster); known {
			states = append(states, view.Line{State: state, Replica: id})
		}
	}
	return view.Merge(states...)
}

// Lines returns the other replicas' reports on the lines of all clusters, by replica.
func (p *Peers) Lines() map[string][]lines.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string][]lines.State, len(p.heard))
	for id, r := range p.heard {
		out[id] = r.States()
	}
	return out
}

// Holder returns the other replica that holds the line of a cluster, if there is one.
func (p *Peers) Holder(cluster string) (string, bool) {
	l, _ := p.Line(cluster)
	return l.Replica, l.Up
}

// Sessions returns, by replica, the session of the line that each other replica has of a cluster, or may have if it has
// just fallen silent. Replicas without sessions, and those that are gone, are omitted.
func (p *Peers) Sessions(cluster string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]string{}
	for id := range p.known {
		if session := p.heard[id].Session(cluster, p.o.Clock.Now()); session != "" {
			out[id] = session
		}
	}
	return out
}

// forget drops the reports of replicas that are long gone.
func (p *Peers) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.o.Clock.Now()
	for id, r := range p.heard {
		if _, known := p.known[id]; !r.Forget(now) && !known {
			delete(p.heard, id)
		}
	}
}

// OnChange registers a function that is called with the name of a cluster when the result of Line changes for it, until
// stop is called. The function must not block.
func (p *Peers) OnChange(f func(cluster string)) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := p.next
	p.next++
	p.watchers[id] = f
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watchers, id)
	}
}

// changed reports changes of lines of other replicas.
func (p *Peers) changed(clusters []string) {
	p.mu.Lock()
	watchers := slices.Collect(maps.Values(p.watchers))
	p.mu.Unlock()
	for _, name := range clusters {
		for _, f := range watchers {
			f(name)
		}
	}
}

// all returns the names of the replicas that have a record.
func (p *Peers) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.known))
}
