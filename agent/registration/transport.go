package registration

import (
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

const (
	// pingAfter is after how long without a word from the hub an agent asks whether it is there, and pingTimeout for how long it waits
	// for an answer: then the connection is given up. The lease is renewed more often, so where all is well nobody is asked. Clients
	// of Kubernetes wait for 45 s, longer than the hub waits for its agents.
	pingAfter   = 12 * time.Second
	pingTimeout = 10 * time.Second
	// greetingTimeout is how long a hub that accepted a connection may take to begin to talk.
	greetingTimeout = 10 * time.Second
	idleTimeout     = 90 * time.Second
)

// newTransport returns connections to the hub of a configuration that has a function to dial.
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
