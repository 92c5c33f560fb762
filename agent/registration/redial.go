package registration

import (
	"context"
	"net"
	"sync/atomic"
	"time"
)

// dialFunc connects to an address.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// redialed returns a function that connects as another one does, or as clients of Kubernetes do
// if that is nil, and tells each time it did so after the first. All requests share a
// connection, which lasts for as long as the server does. So whoever connects again found a
// server that was started anew, even if nothing was asked of it in the moment it was away.
func redialed(dial dialFunc, again func()) dialFunc {
	dial = dialer(dial)
	var connected atomic.Bool
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		// Requests that come first at the same time connect at the same time.
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

// dialer returns a function to connect with, as clients of Kubernetes do if there is none.
func dialer(dial dialFunc) dialFunc {
	if dial != nil {
		return dial
	}
	return (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
}
