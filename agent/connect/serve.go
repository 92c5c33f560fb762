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

// maxPresence bounds what the hub may say about presence, in bytes.
const maxPresence = 64

// held is one open line.
type held struct {
	terms

	conn net.Conn
	// serial is of the certificate that opened it, and notAfter is when that ends.
	serial   string
	notAfter time.Time

	cancel context.CancelFunc
	drain  chan struct{} // closed when it is to take no more requests
	ended  chan struct{}
	err    error // why it ended, once it has
}

// hasEnded says whether a line has ended.
func (l *held) hasEnded() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// serve answers what comes over a line until it ends.
func (k *Keeper) serve(ctx context.Context, l *held) {
	k.state.opened(l)
	k.gauge()
	l.err = line.Serve(ctx, l.conn, k.handler(l), line.ServerOptions{Ping: l.ping, Drain: l.drain, Log: ctrl.LoggerFrom(ctx).WithName("line")})
	if l.err == nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		l.err = errors.New("the certificate that opened it has ended")
	}
	k.state.ended(l)
	k.gauge()
	l.cancel()
	close(l.ended)
}

// gauge says in the metrics whether there is a line.
func (k *Keeper) gauge() {
	k.metrics.up.Set(0)
	if now, _ := k.state.Now(); now.Up {
		k.metrics.up.Set(1)
	}
}

// handler answers the hub on one line.
func (k *Keeper) handler(l *held) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.metrics.streams.Inc()
		defer k.metrics.streams.Dec()
		path := r.URL.Path
		switch {
		case path == contract.LineProxyPrefix || strings.HasPrefix(path, contract.LineProxyPrefix+"/"):
			if k.Operators == nil {
				http.Error(w, k.Cluster+": its agent lets no operators in", http.StatusForbidden)
				return
			}
			k.Operators.ServeHTTP(w, r)
		case path == contract.LineSelfPath && r.Method == http.MethodGet:
			k.self(w)
		case path == contract.LinePresencePath && r.Method == http.MethodPut:
			k.presence(w, r, l)
		case path == contract.LineRenewPath && r.Method == http.MethodPost:
			k.Renew()
		default:
			http.Error(w, "an agent does not answer "+r.Method+" of this path over its line", http.StatusNotFound)
		}
	})
}

// self says how the agent is.
func (k *Keeper) self(w http.ResponseWriter) {
	if k.Well != nil {
		if err := k.Well(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n") // the hub notices what it did not get
}

// presence takes over by what the hub tells that the member is there.
func (k *Keeper) presence(w http.ResponseWriter, r *http.Request, l *held) {
	said, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPresence))
	mode := strings.TrimSpace(string(said))
	if err != nil || mode != contract.LineIsPresence && mode != contract.LeaseIsPresence {
		http.Error(w, "presence is "+contract.LineIsPresence+" or "+contract.LeaseIsPresence, http.StatusBadRequest)
		return
	}
	k.state.presence(l, mode == contract.LineIsPresence)
	w.WriteHeader(http.StatusNoContent)
}
