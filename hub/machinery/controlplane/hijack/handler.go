package hijack

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// Handler copies the connections that next takes over with the buffers of this package. Requests for which lasts
// returns true end when the connection is taken over, and not when it is closed.
func Handler(next http.Handler, lasts func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case req.Header.Get("Upgrade") == "":
			next.ServeHTTP(w, req)
		case lasts(req):
			serveDetached(next, w, req)
		default:
			next.ServeHTTP(responsewriter.WrapForHTTP1Or2(writer{w}), req)
		}
	})
}

type writer struct{ http.ResponseWriter }

// Unwrap implements responsewriter.UserProvidedDecorator.
func (w writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements http.Hijacker.
func (w writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	return conn{c}, buffered, nil
}

// conn is a connection with its own implementation of copying, which io.Copy uses.
type conn struct{ net.Conn }

// WriteTo implements io.WriterTo.
func (c conn) WriteTo(to io.Writer) (int64, error) { return copyAll(to, c.Conn) }

// ReadFrom implements io.ReaderFrom.
func (c conn) ReadFrom(from io.Reader) (int64, error) { return copyAll(c.Conn, from) }
