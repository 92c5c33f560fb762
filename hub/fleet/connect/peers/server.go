package peers

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/go-logr/logr"

	"fairlead.dev/common/connlimit"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/logging"
	"fairlead.dev/hub/fleet/connect/peers/view"
	"fairlead.dev/hub/fleet/connect/peers/wire"
)

// linesPath is the path of the stream of lines. All other paths are those of forwarded requests.
const linesPath = "/lines"

// Limits for the other replicas.
const (
	headerTimeout = 10 * time.Second
	// maxPending bounds the connections that have not sent a request yet.
	maxPending = 64
	// maxPendingOfOne bounds those from one address. Known replicas are exempt.
	maxPendingOfOne = 8
	// maxStreams is how many streams of lines one replica may have: it may reconnect before the end of its last stream
	// is noticed.
	maxStreams = 4
	// lookRest is how long further changes are collected after one was sent.
	lookRest = 50 * time.Millisecond
)

// server serves the other replicas.
type server struct {
	*http.Server

	pending connlimit.Limit
}

// server returns a server for the other replicas that runs until the context ends.
func (p *Peers) server(ctx context.Context, log logr.Logger) *server {
	s := &server{pending: connlimit.Limit{All: maxPending, OfOne: maxPendingOfOne, Pending: true, IsExempt: p.isReplicaAddress}}
	s.Server = &http.Server{
		Handler: http.HandlerFunc(p.serve), TLSConfig: p.me.tls(p.admit),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: 2 * idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnState:   s.pending.Follow,
		ErrorLog:    logging.Standard(log.V(1)),
	}
	return s
}

func (s *server) serve(l net.Listener) error { return s.Serve(tls.NewListener(l, s.TLSConfig)) }

// admit returns an error if the pin is that of no replica. The Leases are read again first, since the replica may have
// just started.
func (p *Peers) admit(pin string) error {
	if _, known := p.replica(pin); known {
		return nil
	}
	select {
	case p.look <- struct{}{}:
	default:
	}
	return errUnknownReplica
}

// replica returns the name of the replica with a pin.
func (p *Peers) replica(pin string) (string, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, other := range p.known {
		if other.record.Pin == pin {
			return id, true
		}
	}
	return "", false
}

// isReplicaAddress says whether an address is that of a replica, as far as their records contain IP addresses.
func (p *Peers) isReplicaAddress(ip netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range p.known {
		host, _, _ := net.SplitHostPort(other.record.Address) // validated when it was read
		if at, err := netip.ParseAddr(host); err == nil && at.Unmap() == ip {
			return true
		}
	}
	return false
}

// serve handles a request of another replica.
func (p *Peers) serve(w http.ResponseWriter, r *http.Request) {
	// The record may have been removed since the connection was opened.
	id, known := p.replica(pinOf(r.TLS.PeerCertificates[0]))
	switch {
	case !known:
		http.Error(w, "this hub has no such replica any more", http.StatusForbidden)
	case r.URL.Path == linesPath && r.Method == http.MethodGet:
		p.serveLines(w, r, id)
	case r.Header.Get(contract.HopHeader) != contract.FirstHop:
		http.Error(w, "a request of another replica must say that it is forwarded for the first time", http.StatusLoopDetected)
	default:
		p.o.Handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), forwarded{}, true)))
	}
}

// serveLines streams the lines of this replica to another one, for as long as it keeps reading.
func (p *Peers) serveLines(w http.ResponseWriter, r *http.Request, id string) {
	if !p.acquire(id) {
		http.Error(w, "this replica tells you of its lines already", http.StatusTooManyRequests)
		return
	}
	defer p.release(id)
	if err := p.streamLines(r.Context(), w, id); err != nil {
		logr.FromContextOrDiscard(r.Context()).V(1).Info("Another replica of the hub does not accept messages", "replica", id, "reason", err.Error())
	}
}

func (p *Peers) acquire(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[id] >= maxStreams {
		return false
	}
	p.streams[id]++
	return true
}

func (p *Peers) release(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams[id]--; p.streams[id] == 0 {
		delete(p.streams, id)
	}
}

// streamLines writes all lines, then the changes.
func (p *Peers) streamLines(ctx context.Context, w http.ResponseWriter, id string) error {
	out := http.NewResponseController(w)
	write := func(messages ...wire.Message) error {
		// A replica that does not read counts as gone.
		if err := out.SetWriteDeadline(p.o.Clock.Now().Add(silence)); err != nil {
			return err
		}
		for _, m := range messages {
			data, err := wire.Encode(m)
			if err != nil {
				return err
			}
			if _, err := w.Write(data); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	changes := make(chan struct{}, 1)
	stop := p.o.Lines.OnChange(func(string) {
		select {
		case changes <- struct{}{}:
		default: // a change is already pending, and each one sends all changes
		}
	})
	defer stop()
	var updates view.Updates
	if err := write(append(updates.Next(p.o.Lines.States(), p.o.Clock.Now()), wire.Message{Synced: true, Heartbeat: p.heartbeat(id)})...); err != nil {
		return err
	}
	ticker := p.o.Clock.NewTicker(heartbeatEvery)
	defer ticker.Stop()
	changed, rest := (<-chan struct{})(changes), (<-chan time.Time)(nil)
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C():
			err = write(wire.Message{Heartbeat: p.heartbeat(id)})
		case <-changed:
			err = write(updates.Next(p.o.Lines.States(), p.o.Clock.Now())...)
			changed, rest = nil, p.o.Clock.After(lookRest)
		case <-rest:
			changed, rest = changes, nil
		}
		if err != nil {
			return err
		}
	}
}

// heartbeat returns this replica's state for another one.
func (p *Peers) heartbeat(id string) *wire.Heartbeat {
	return &wire.Heartbeat{Elected: p.elected(), Hears: p.isSynced(id)}
}
