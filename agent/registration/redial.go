package registration

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// dialFunc connects to an address.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// redialed wraps a dial function, or the default of Kubernetes clients if it is nil, and calls again for every
// connection after the first. All requests share one connection, which lasts as long as the server. So a new
// connection means that the server was restarted, even if no request failed meanwhile.
func redialed(dial dialFunc, again func()) dialFunc {
	dial = dialer(dial)
	var connected atomic.Bool
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// Concurrent first requests may connect concurrently.
		before := connected.Load()
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		connected.Store(true)
		if before {
			again()
		}
		return conn, nil
	}
}

// dialer returns a dial function, the default of Kubernetes clients if it is nil.
func dialer(dial dialFunc) dialFunc {
	if dial != nil {
		return dial
	}
	return (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}
