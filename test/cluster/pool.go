package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Pool lends hubs to the processes of tests, each to one at a time. To start a hub takes ten seconds of processor time, and to make one
// that was used as it was before takes less than one.
type Pool struct {
	mu sync.Mutex
	// changed tells of what becomes idle, and of what does not.
	changed *sync.Cond
	idle    []*pooled
	// returning counts those that were given back and may become idle.
	returning int
	lending   sync.WaitGroup
}

// pooled is a hub, and what its database had in it at first.
type pooled struct {
	*Cluster

	state *state
}

// NewPool returns a pool that has not started anything yet.
func NewPool() *Pool {
	p := &Pool{}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// Serve lends a hub to whoever connects, as long as the connection is open. It returns when the listener is closed and all is given
// back, and has stopped all hubs by then. When the context ends it starts no more, and stops what is given back.
func (p *Pool) Serve(ctx context.Context, listener net.Listener) error {
	var errs []error
	for {
		conn, err := listener.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				errs = append(errs, fmt.Errorf("waiting for tests: %w", err))
			}
			break
		}
		p.lending.Go(func() { p.lend(ctx, conn) })
	}
	p.lending.Wait()
	for _, hub := range p.idle {
		errs = append(errs, hub.stop())
	}
	return errors.Join(errs...)
}

func (p *Pool) lend(ctx context.Context, conn net.Conn) {
	defer func() { _ = conn.Close() }() // the borrower has all that was written, or has gone
	hub, err := p.take(ctx)
	if err != nil {
		_ = json.NewEncoder(conn).Encode(answer{Error: err.Error()})
		return
	}
	defer p.takeBack(ctx, hub)
	if json.NewEncoder(conn).Encode(answer{Kubeconfig: hub.Kubeconfig, DataDir: hub.DataDir}) != nil {
		return // it has gone already
	}
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		_, _ = io.Copy(io.Discard, conn) // nothing is ever said
	}()
	select {
	case <-returned:
	case <-hub.process.Done():
	}
}

// take returns a hub that nobody has: one that was given back, or a new one.
func (p *Pool) take(ctx context.Context) (*pooled, error) {
	p.mu.Lock()
	for len(p.idle) == 0 && p.returning > 0 {
		p.changed.Wait()
	}
	if last := len(p.idle) - 1; last >= 0 {
		hub := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return hub, nil
	}
	p.mu.Unlock()
	c, err := startHub(ctx, Options{}.complete())
	if err != nil {
		return nil, err
	}
	state, err := remember(ctx, c)
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return &pooled{Cluster: c, state: state}, nil
}

// takeBack makes a hub what it was, or stops it where that cannot be.
func (p *Pool) takeBack(ctx context.Context, hub *pooled) {
	p.mu.Lock()
	p.returning++
	p.mu.Unlock()
	err := hub.state.restore(ctx)
	if err != nil {
		_ = hub.stop() // what it wrote stays where that fails, and nothing else
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.returning--
	if err == nil {
		p.idle = append(p.idle, hub)
	}
	p.changed.Broadcast()
}
