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
	// attachTimeout is how long a hub may take to open a line, connecting and all.
	attachTimeout = 30 * time.Second
	// attachHeaders and attachAnswer bound what a hub may say instead, in bytes.
	attachHeaders = 64 << 10
	attachAnswer  = 4 << 10
)

// Attach asks the hub for a connection of its own on which it sends requests back, with the credentials of the moment, and the way the
// hub is reached otherwise, proxies included. It tries each address of the hub in turn, until one opens it. Of an answer other
// than 101 the connection is nil, and the body a beginning that is in memory. Nothing was sent on the connection yet.
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

// Attach asks one address of the hub for a line, with the credentials of a configuration, on a connection that is dialled as told.
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
			text = nil // the status says enough
		}
		response.Body = io.NopCloser(bytes.NewReader(text))
		return nil, response, nil
	}
	stream, ok := response.Body.(io.ReadWriteCloser)
	if !ok || under == nil || !strings.EqualFold(response.Header.Get("Upgrade"), contract.LineProtocol) {
		_ = response.Body.Close() // the first error is the one to tell
		return nil, nil, fmt.Errorf("asking %s for a line: it changed to %q, which is no line", server, response.Header.Get("Upgrade"))
	}
	response.Body = http.NoBody
	return &attached{Conn: under, stream: stream}, response, nil
}

// lineTransport returns connections for lines: like others to the hub, but of HTTP/1.1, which alone can upgrade.
func lineTransport(config *rest.Config, dial dialFunc) (*http.Transport, error) {
	out, err := newTransport(config)
	if err != nil {
		return nil, err
	}
	out.DialContext, out.HTTP2, out.ForceAttemptHTTP2 = dial, nil, false
	out.Protocols = &http.Protocols{}
	out.Protocols.SetHTTP1(true)
	if out.TLSClientConfig != nil { // clients of one configuration may share it
		out.TLSClientConfig = out.TLSClientConfig.Clone()
		out.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	out.DisableKeepAlives, out.DisableCompression, out.MaxResponseHeaderBytes = true, true, attachHeaders
	return out, nil
}

// attached is a connection that was upgraded. It is read and written by way of the answer, which may have read ahead.
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

// Certificate returns the number of the certificate of the moment, and when it ends.
func (c *Credentials) Certificate() (serial string, notAfter time.Time) {
	cert := c.now().cert
	return cert.SerialNumber.Text(16), cert.NotAfter
}
