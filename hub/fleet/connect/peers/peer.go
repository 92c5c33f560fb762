package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/apimachinery/pkg/util/wait"

	"fairlead.dev/hub/fleet/connect/peers/view"
	"fairlead.dev/hub/fleet/connect/peers/wire"
)

// Connections to other replicas.
const (
	dialTimeout = 3 * time.Second
	// firstRedial is the delay after the first failure to call a replica; lastRedial is the longest delay.
	firstRedial = 500 * time.Millisecond
	lastRedial  = 5 * time.Second
	// idleConnections is how many idle connections are kept, for idleTimeout.
	idleConnections = 32
	idleTimeout     = time.Minute
	// maxHeaderBytes bounds the headers of a request or a response.
	maxHeaderBytes = 256 << 10
)

// peer is another replica that has a record.
type peer struct {
	record    Record
	transport *http.Transport
	// upgrades is the transport for upgrade requests. Each gets a new connection: on a reused one that breaks, net/http would send a
	// request without a body a second time.
	upgrades *http.Transport
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// call starts to follow the lines of another replica, until disconnect or the end of the context.
func (p *Peers) call(ctx context.Context, record Record) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // disconnect cancels it
	other := &peer{record: record, cancel: cancel, transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		TLSClientConfig: p.me.tls(func(pin string) error {
			if pin != record.Pin {
				return fmt.Errorf("%s is not replica %s: %w", record.Address, record.ID, errUnknownReplica)
			}
			return nil
		}),
		DisableCompression: true, MaxIdleConnsPerHost: idleConnections, IdleConnTimeout: idleTimeout, MaxResponseHeaderBytes: maxHeaderBytes,
	}}
	other.upgrades = other.transport.Clone()
	other.upgrades.DisableKeepAlives = true
	p.mu.Lock()
	p.known[record.ID] = other
	if p.heard[record.ID] == nil {
		p.heard[record.ID] = &view.Replica{ID: record.ID}
	}
	p.mu.Unlock()
	other.done.Go(func() { p.keepFollowing(ctx, other) })
}

// disconnect stops following replicas, and closes the connections to them.
func (p *Peers) disconnect(ids ...string) {
	var dropped []*peer
	p.mu.Lock()
	for _, id := range ids {
		dropped = append(dropped, p.known[id])
	}
	p.mu.Unlock()
	for _, other := range dropped {
		other.cancel()
	}
	for _, other := range dropped {
		other.done.Wait()
		other.transport.CloseIdleConnections()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range ids {
		delete(p.known, id) // its last reported lines are kept for a while
	}
}

// keepFollowing follows the lines of another replica until the context ends, and reconnects after failures.
func (p *Peers) keepFollowing(ctx context.Context, other *peer) {
	log := logr.FromContextOrDiscard(ctx).WithValues("replica", other.record.ID)
	backoff := wait.Backoff{Duration: firstRedial, Factor: 2, Jitter: 0.2, Steps: 8, Cap: lastRedial}
	next := backoff
	for {
		synced, err := p.follow(ctx, other)
		p.markLost(other.record.ID)
		if ctx.Err() != nil {
			return
		}
		if synced {
			next = backoff
			log.Info("Another replica of the hub is not heard any more", "reason", err.Error())
		} else {
			log.V(1).Info("Another replica of the hub cannot be followed", "reason", err.Error())
		}
		timer := p.o.Clock.NewTimer(next.Step())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// errSilent says that another replica sent nothing for too long.
var errSilent = errors.New("it was silent for too long")

// follow receives the lines of another replica until the stream ends or falls silent. It returns whether it received
// all lines.
func (p *Peers) follow(ctx context.Context, other *peer) (synced bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	silent := p.o.Clock.NewTimer(p.silence)
	defer silent.Stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		select {
		case <-silent.C():
			cancel(errSilent)
		case <-ctx.Done():
		}
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+other.record.Address+linesPath, nil)
	if err != nil {
		return false, err
	}
	resp, err := other.transport.RoundTrip(req)
	if err != nil {
		return false, causeOf(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("it answered %s", resp.Status)
	}
	p.begin(other.record.ID)
	reader := wire.NewReader(resp.Body)
	for {
		m, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return synced, errors.New("it ended the connection")
		}
		if err == nil {
			err = p.apply(other.record.ID, m)
		}
		if err != nil {
			return synced, causeOf(ctx, err)
		}
		synced = synced || m.Synced
		silent.Reset(p.silence)
	}
}

// causeOf returns the cause if the context has ended, or else the error.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// begin records that another replica starts to send all its lines.
func (p *Peers) begin(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard[id].Begin()
}

// apply applies a message of another replica.
func (p *Peers) apply(id string, m wire.Message) error {
	p.mu.Lock()
	now := p.o.Clock.Now()
	clusters, err := p.heard[id].Apply(m, now)
	if m.Heartbeat != nil && m.Heartbeat.Elected && m.Heartbeat.Hears {
		p.leaderHeard = now
	}
	p.mu.Unlock()
	p.changed(clusters)
	return err
}

// markLost records that the stream of another replica has ended.
func (p *Peers) markLost(id string) {
	p.mu.Lock()
	clusters := p.heard[id].Lose(p.o.Clock.Now())
	p.mu.Unlock()
	p.changed(clusters)
}

// isSynced says whether the present lines of another replica are all known.
func (p *Peers) isSynced(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.heard[id]
	return r != nil && r.Synced()
}
