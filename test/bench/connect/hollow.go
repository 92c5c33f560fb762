package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
)

// hollowLine is the line of an agent without a member. It redials as a real agent does.
type hollowLine struct {
	cluster string
	// hub is the agent's configuration for the hub.
	hub *rest.Config

	up     atomic.Bool
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

const (
	leastRedial = 200 * time.Millisecond
	mostRedial  = 30 * time.Second
	dialTimeout = 10 * time.Second
)

// open keeps the line open until end.
func (l *hollowLine) open(ctx context.Context) {
	ctx, l.cancel = context.WithCancel(ctx)
	l.ended.Go(func() {
		back := leastRedial
		for ctx.Err() == nil {
			conn, err := l.dial(ctx)
			if err == nil {
				back = leastRedial
				l.up.Store(true)
				_ = line.Serve(ctx, conn, http.HandlerFunc(answer), line.ServerOptions{})
				l.up.Store(false)
			}
			select {
			case <-ctx.Done():
			case <-time.After(leastRedial + rand.N(back)):
			}
			back = min(2*back, mostRedial)
		}
	})
}

func (l *hollowLine) end() {
	if l.cancel != nil {
		l.cancel()
	}
	l.ended.Wait()
}

// dial opens the line once, as the agent.
func (l *hollowLine) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	path := contract.LineAttachPath(l.cluster)
	//nolint:bodyclose // What upgrades ends with its connection, and another answer is in memory.
	conn, response, err := registration.Attach(ctx, l.hub, (&net.Dialer{}).DialContext, l.hub.Host, path, http.Header{})
	if err != nil {
		return nil, err
	}
	if conn == nil {
		text, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("the hub answers %s: %s", response.Status, text)
	}
	return conn, nil
}

// answer serves requests to a hollow member: a line per second to a followed log, and nothing else.
func answer(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, contract.LineProxyPrefix) || !r.URL.Query().Has("follow") {
		_, _ = io.WriteString(w, "ok\n")
		return
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if _, err := io.WriteString(w, "a line of a log\n"); err != nil {
			return
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
