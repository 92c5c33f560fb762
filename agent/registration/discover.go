package registration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"fairlead.dev/agent/registration/discovery"
)

// publicPath is the path of the ConfigMaps that a hub serves without authentication: cluster-info, and the rejoin
// tokens.
const publicPath = "/api/v1/namespaces/kube-public/configmaps/"

// errNothingThere says that the ConfigMap does not exist.
var errNothingThere = errors.New("not found")

// discover returns the hub's certificate authority, verified by the token and the hash. It asks twice: first over an
// unverified connection, then over one that only a server of that authority can accept.
func (j *joining) discover(ctx context.Context) ([]byte, error) {
	// Only those parts of the first answer are trusted that the signature and the hash prove.
	unverified := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true} //nolint:gosec // see above
	var first map[string]string
	var ca []byte
	settling := j.retrier.whileTokenSpreads()
	err := j.retrier.do(ctx, func(ctx context.Context) error {
		var err error
		if first, err = j.fetch(ctx, unverified); err != nil {
			return err
		}
		if ca, err = discovery.Verify(j.parameters, first); errors.Is(err, discovery.ErrTokenUnknown) {
			return settling(err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	var second map[string]string
	err = j.retrier.do(ctx, func(ctx context.Context) error {
		var err error
		second, err = j.fetch(ctx, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool})
		return err
	})
	if err != nil {
		return nil, err
	}
	return ca, discovery.Same(j.parameters, first, second)
}

// fetch reads the data of cluster-info.
func (j *joining) fetch(ctx context.Context, config *tls.Config) (map[string]string, error) {
	seen, err := j.readPublic(ctx, bootstrapapi.ConfigMapClusterInfo, config)
	return seen.data, err
}

// publicInfo is a ConfigMap that the hub serves without authentication, and the certificates of the server.
type publicInfo struct {
	// data is the data of the ConfigMap.
	data map[string]string
	// certificates are those with which the server authenticated itself.
	certificates []*x509.Certificate
	// date is the hub's time, from the Date header; empty if there is none.
	date string
}

// readPublic reads a public ConfigMap from the first hub that can be reached, and uses that hub from then on.
func (j *joining) readPublic(ctx context.Context, name string, config *tls.Config) (out publicInfo, err error) {
	for range max(len(j.parameters.Servers), 1) {
		out, err = j.ask(ctx, name, config)
		if !errors.Is(err, ErrUnreachable) || len(j.parameters.Servers) < 2 {
			return out, err
		}
		next := (slices.Index(j.parameters.Servers, j.parameters.Server) + 1) % len(j.parameters.Servers)
		j.parameters = j.parameters.At(j.parameters.Servers[next])
		if ctx.Err() != nil {
			return out, err // the next attempt begins with the next hub
		}
	}
	return out, err
}

// ask reads a public ConfigMap from one hub, without authentication.
func (j *joining) ask(ctx context.Context, name string, config *tls.Config) (publicInfo, error) {
	transport := j.transport(config)
	defer transport.CloseIdleConnections()
	return j.get(ctx, name, transport)
}

// get reads a public ConfigMap.
func (j *joining) get(ctx context.Context, name string, transport http.RoundTripper) (publicInfo, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, j.parameters.Server+publicPath+name, http.NoBody)
	if err != nil {
		return publicInfo{}, fmt.Errorf("%w: %w", discovery.ErrAddress, err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return publicInfo{}, j.connectionError(err)
	}
	defer response.Body.Close() //nolint:errcheck // it was read

	const largest = 4 << 20
	body, err := io.ReadAll(io.LimitReader(response.Body, largest))
	if err != nil {
		return publicInfo{}, j.connectionError(err)
	}
	switch code := response.StatusCode; {
	case code == http.StatusOK:
	case code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return publicInfo{}, temporaryError{error: fmt.Errorf("%w: %s answers %q; check whether the hub is healthy", ErrUnreachable, j.parameters.Server, response.Status)}
	case code == http.StatusNotFound:
		return publicInfo{}, fmt.Errorf("%w: %s has no %s (%w); check the address", discovery.ErrNotAHub, j.parameters.Server, name, errNothingThere)
	default:
		return publicInfo{}, fmt.Errorf("%w: %s answers %q when asked for its %s; check the address", discovery.ErrNotAHub, j.parameters.Server, response.Status, name)
	}
	var info corev1.ConfigMap
	if err := json.Unmarshal(body, &info); err != nil {
		return publicInfo{}, fmt.Errorf("%w: the answer of %s is not a %s; check the address", discovery.ErrNotAHub, j.parameters.Server, name)
	}
	return publicInfo{data: info.Data, certificates: response.TLS.PeerCertificates, date: response.Header.Get("Date")}, nil
}

// transport returns a transport for connections to the hub without client credentials.
func (j *joining) transport(config *tls.Config) *http.Transport {
	out := &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, TLSHandshakeTimeout: greetingTimeout, DisableKeepAlives: true}
	if j.connection != nil {
		if j.connection.Dial != nil {
			out.DialContext = j.connection.Dial
		}
		if j.connection.Proxy != nil {
			out.Proxy = j.connection.Proxy
		}
	}
	return out
}

// connectionError explains a failed connection, and marks it as temporary if a retry may help.
func (j *joining) connectionError(err error) error {
	server := j.parameters.Server
	var (
		name      *net.DNSError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return fmt.Errorf("%w: the certificate of %s is not from the certificate authority in its cluster-info; "+
			"a proxy that intercepts TLS, or somebody else, is in between", discovery.ErrCAMismatch, server)
	case errors.As(err, &host):
		return fmt.Errorf("%w: it is not valid for %s (%w); use a name or address that it is valid for, or let the hub advertise this one",
			ErrServerCertificate, j.parameters.Host, err)
	case errors.As(err, &invalid):
		return fmt.Errorf("%w: %w; check the clock of this machine, which says %s, and that of the hub",
			ErrServerCertificate, err, j.retrier.clock.Now().UTC().Format("2006-01-02 15:04 MST"))
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record):
		return fmt.Errorf("%w: %s does not speak TLS; check the port", discovery.ErrNotAHub, server)
	case errors.As(err, &name):
		return temporaryError{error: fmt.Errorf("%w: the name %s cannot be resolved (%w); check the name and the DNS of this machine", ErrUnreachable, name.Name, err)}
	default:
		return temporaryError{error: fmt.Errorf("%w: %s does not answer (%w); check the address, the firewall and the proxy settings, and whether the hub runs",
			ErrUnreachable, server, err)}
	}
}
