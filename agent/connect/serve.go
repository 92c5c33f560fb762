package connect

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
)

// maxPresence bounds the body of a presence request, in bytes.
const maxPresence = 64

// held is one open line.
type held struct {
	terms

	conn net.Conn
	// serial and notAfter are those of the certificate that opened the line.
	serial   string
	notAfter time.Time

	cancel context.CancelFunc
	drain  chan struct{} // closed when the line is to take no more requests
	ended  chan struct{}
	err    error // why the line ended; valid once ended is closed
}

func (l *held) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// serve answers the requests of a line until it ends.
func (c *Connector) serve(ctx context.Context, l *held) {
	c.state.opened(l)
	c.gauge()
	l.err = line.Serve(ctx, l.conn, c.handler(l), line.ServerOptions{Ping: l.ping, Drain: l.drain, Log: ctrl.LoggerFrom(ctx).WithName("line")})
	if l.err == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		l.err = errors.New("the certificate that opened it has expired")
	}
	c.state.ended(l)
	c.gauge()
	l.cancel()
	close(l.ended)
}

// gauge updates the metric that says whether a line is open.
func (c *Connector) gauge() {
	c.metrics.up.Set(0)
	if now, _ := c.state.Now(); now.Up {
		c.metrics.up.Set(1)
	}
}

// handler answers the hub's requests on one line.
func (c *Connector) handler(l *held) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.metrics.streams.Inc()
		defer c.metrics.streams.Dec()
		path := r.URL.Path
		switch {
		case path == contract.LineProxyPrefix || strings.HasPrefix(path, contract.LineProxyPrefix+"/"):
			if c.Operators == nil {
				http.Error(w, c.Cluster+": its agent lets no operators in", http.StatusForbidden)
				return
			}
			c.Operators.ServeHTTP(w, r)
		case path == contract.LineSelfPath && r.Method == http.MethodGet:
			c.self(w)
		case path == contract.LinePresencePath && r.Method == http.MethodPut:
			c.presence(w, r, l)
		case path == contract.LineRenewPath && r.Method == http.MethodPost:
			c.Renew()
		default:
			http.Error(w, "an agent does not answer "+r.Method+" of this path over its line", http.StatusNotFound)
		}
	})
}

// self answers the hub's question whether the agent is well.
func (c *Connector) self(w http.ResponseWriter) {
	if c.Well != nil {
		if err := c.Well(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n") // an incomplete answer is noticed by the hub
}

// presence records whether the hub takes the line as the heartbeat.
func (c *Connector) presence(w http.ResponseWriter, r *http.Request, l *held) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPresence))
	mode := strings.TrimSpace(string(body))
	if err != nil || mode != contract.LineIsPresence && mode != contract.LeaseIsPresence {
		http.Error(w, "presence is "+contract.LineIsPresence+" or "+contract.LeaseIsPresence, http.StatusBadRequest)
		return
	}
	c.state.presence(l, mode == contract.LineIsPresence)
	w.WriteHeader(http.StatusNoContent)
}
