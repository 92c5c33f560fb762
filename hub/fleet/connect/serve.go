package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/logging"
)

// Limits for connections. They come from API servers, so these limits are not a defence against attackers.
const (
	headerTimeout = 10 * time.Second
	// idleTimeout is longer than that of API servers, so that they are the ones to close idle connections.
	idleTimeout  = 3 * time.Minute
	maxHeaders   = 256 << 10
	drainTimeout = 5 * time.Second
	// trustEvery is how often the certificate authority of API servers is read again.
	trustEvery = time.Minute
)

// Serve serves API servers, and nobody else, on a listener with a certificate until the context ends. Then it asks
// agents to open their lines elsewhere, and gives open requests a moment to finish.
func (s *Server) Serve(ctx context.Context, l net.Listener, certificate tls.Certificate) error {
	trusted := &frontProxy{reader: s.HubReader}
	if err := trusted.load(ctx); err != nil {
		return errors.Join(err, l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	base := context.WithoutCancel(ctx)
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaders,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          logging.Standard(s.Log.V(1)),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"http/1.1"},
			// The authority may change, so it is checked for each connection.
			ClientAuth: tls.RequireAnyClientCert, VerifyConnection: func(state tls.ConnectionState) error { return trusted.verify(s.Clock.Now(), state) },
		},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // upgrades need HTTP/1.1
	}
	served := make(chan error, 1)
	go func() { served <- server.ServeTLS(l, "", "") }()
	reviewed := make(chan struct{})
	go func() { defer close(reviewed); s.reviewRights(ctx) }()
	ticker := s.Clock.NewTicker(trustEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-served:
			cancel()
			<-reviewed
			return fmt.Errorf("serving lines: %w", err)
		case <-ticker.C():
			if err := trusted.load(ctx); err != nil && ctx.Err() == nil {
				s.Log.V(1).Info("Could not read the certificate authority of API servers, the last one is used", "reason", err.Error())
			}
			continue
		case <-ctx.Done():
		}
		<-reviewed
		grace, end := context.WithTimeout(base, drainTimeout)
		defer end()
		s.drain(grace)
		return errors.Join(server.Close())
	}
}

// frontProxy knows which certificates API servers forward requests with. It is safe for concurrent use.
type frontProxy struct {
	reader client.Reader
	trust  atomic.Pointer[trust]
}

type trust struct {
	roots *x509.CertPool
	names []string
}

// load reads the authentication settings that an API server publishes for extension servers.
func (f *frontProxy) load(ctx context.Context) error {
	told := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: "extension-apiserver-authentication"}
	if err := f.reader.Get(ctx, key, told); err != nil {
		return fmt.Errorf("reading the certificate authority of API servers: %w", err)
	}
	t := &trust{roots: x509.NewCertPool()}
	if !t.roots.AppendCertsFromPEM([]byte(told.Data["requestheader-client-ca-file"])) {
		return fmt.Errorf("ConfigMap %s has no certificate authority of API servers that forward requests: set --requestheader-client-ca-file of the API server", key)
	}
	if names := told.Data["requestheader-allowed-names"]; names != "" {
		if err := json.Unmarshal([]byte(names), &t.names); err != nil {
			return fmt.Errorf("reading the names of API servers in ConfigMap %s: %w", key, err)
		}
	}
	f.trust.Store(t)
	return nil
}

// verify returns an error unless the other end is an API server.
func (f *frontProxy) verify(now time.Time, state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the client shows no certificate, so it is not an API server")
	}
	t := f.trust.Load()
	options := x509.VerifyOptions{Roots: t.roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, Intermediates: x509.NewCertPool()}
	for _, c := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(c)
	}
	own := state.PeerCertificates[0]
	if _, err := own.Verify(options); err != nil {
		return fmt.Errorf("the client is not an API server: %w", err)
	}
	if len(t.names) > 0 && !slices.Contains(t.names, own.Subject.CommonName) {
		return fmt.Errorf("the client is %q, which is not the name of an API server that forwards requests", own.Subject.CommonName)
	}
	return nil
}
