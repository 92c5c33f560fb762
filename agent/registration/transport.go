package registration

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// pingAfter is the silence after which the agent pings the hub, and pingTimeout how long it waits for the answer
	// before it gives the connection up. The lease is renewed more often, so that a healthy connection needs no
	// pings. Clients of Kubernetes wait for 45 s, longer than the hub waits for its agents.
	pingAfter   = 12 * time.Second
	pingTimeout = 10 * time.Second
	// greetingTimeout bounds the TLS handshake with a hub that accepted a connection.
	greetingTimeout = 10 * time.Second
	idleTimeout     = 90 * time.Second
)

// newTransport returns a transport to the hub for a configuration that has a dial function.
func newTransport(config *rest.Config) (*http.Transport, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	out := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: config.Dial, TLSClientConfig: tlsConfig, DisableCompression: config.DisableCompression,
		TLSHandshakeTimeout: greetingTimeout, IdleConnTimeout: idleTimeout,
		ForceAttemptHTTP2: true, HTTP2: &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingTimeout},
	}
	if config.Proxy != nil {
		out.Proxy = config.Proxy
	}
	return out, nil
}
