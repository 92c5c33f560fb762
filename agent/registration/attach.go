package registration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"fairlead.dev/common/contract"
)

const (
	// attachTimeout bounds opening a line, including the connection.
	attachTimeout = 30 * time.Second
	// attachHeaders and attachAnswer bound the hub's answer if it opens no line, in bytes.
	attachHeaders = 64 << 10
	attachAnswer  = 4 << 10
)

// Attach asks the hub for a separate connection on which the hub sends requests, with the present credentials and
// through the same proxies as other requests. It tries the hub's addresses in turn until one opens the line. If the
// answer is not 101, the connection is nil, and the body is the beginning of the answer, in memory. Nothing has been
// sent on the connection yet.
func (c *Credentials) Attach(ctx context.Context, path string, header http.Header) (net.Conn, *http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	var failed error
	list := c.servers.list()
	for i, server := range list {
		conn, response, err := Attach(ctx, c.now().config, c.lineDial, server, path, header)
		last := i == len(list)-1
		switch {
		case err != nil:
			failed = errors.Join(failed, err)
		case response.StatusCode >= http.StatusInternalServerError && !last:
			failed = errors.Join(failed, fmt.Errorf("%s answered %s", server, response.Status))
		default:
			return conn, response, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, nil, failed
}

// Attach asks one address of the hub for a line, with the credentials of a configuration and the given dial function.
func Attach(
	ctx context.Context, config *rest.Config, dial func(ctx context.Context, network, address string) (net.Conn, error), server, path string, header http.Header,
) (net.Conn, *http.Response, error) {
	transport, err := lineTransport(config, dial)
	if err != nil {
		return nil, nil, err
	}
	var under net.Conn
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { under = info.Conn }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(server, "/")+path, http.NoBody)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the address %q of a hub: %w", server, err)
	}
	request.Header = header.Clone()
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", contract.LineProtocol)
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, nil, fmt.Errorf("asking %s for a line: %w", server, err)
	}
	if response.StatusCode != http.StatusSwitchingProtocols {
		defer response.Body.Close() //nolint:errcheck // the connection is not used again
		text, err := io.ReadAll(io.LimitReader(response.Body, attachAnswer))
		if err != nil {
			text = nil // the status is enough
		}
		response.Body = io.NopCloser(bytes.NewReader(text))
		return nil, response, nil
	}
	stream, ok := response.Body.(io.ReadWriteCloser)
	if !ok || under == nil || !strings.EqualFold(response.Header.Get("Upgrade"), contract.LineProtocol) {
		_ = response.Body.Close() // report the first error, not this one
		return nil, nil, fmt.Errorf("asking %s for a line: it changed to %q, which is no line", server, response.Header.Get("Upgrade"))
	}
	response.Body = http.NoBody
	return &attached{Conn: under, stream: stream}, response, nil
}

// lineTransport returns a transport for lines: like the others to the hub, but for HTTP/1.1, the only version that
// can upgrade.
func lineTransport(config *rest.Config, dial dialFunc) (*http.Transport, error) {
	out, err := newTransport(config)
	if err != nil {
		return nil, err
	}
	out.DialContext, out.HTTP2, out.ForceAttemptHTTP2 = dial, nil, false
	out.Protocols = &http.Protocols{}
	out.Protocols.SetHTTP1(true)
	if out.TLSClientConfig != nil { // clients of the same configuration may share it
		out.TLSClientConfig = out.TLSClientConfig.Clone()
		out.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	out.DisableKeepAlives, out.DisableCompression, out.MaxResponseHeaderBytes = true, true, attachHeaders
	return out, nil
}

// attached is an upgraded connection. It is read and written through the body of the answer, which may have buffered
// bytes.
type attached struct {
	net.Conn
	stream io.ReadWriteCloser
}

// Read implements net.Conn.
func (a *attached) Read(p []byte) (int, error) { return a.stream.Read(p) }

// Write implements net.Conn.
func (a *attached) Write(p []byte) (int, error) { return a.stream.Write(p) }

// Close implements net.Conn.
func (a *attached) Close() error { return a.stream.Close() }

// Certificate returns the serial number of the present certificate, and when it expires.
func (c *Credentials) Certificate() (serial string, notAfter time.Time) {
	cert := c.now().cert
	return cert.SerialNumber.Text(16), cert.NotAfter
}
