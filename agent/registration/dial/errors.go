package dial

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// NoConnectionError says that a request was not sent: the host did not accept the connection in time, or closed it
// before the TLS handshake, as a host does that is too busy.
//
// It satisfies neither timeout nor connection-closed checks: clients of Kubernetes take those, in a watch, for a
// regular end, and list everything again although the watch could resume.
type NoConnectionError struct {
	// Host is the host that could not be connected to.
	Host string
	// Err is the cause. It is not wrapped, so errors.Is does not find it.
	Err error
}

// Error implements error.
func (e *NoConnectionError) Error() string {
	if hasClosed(e.Err) {
		return fmt.Sprintf("connecting to %s: it closed the connection before TLS began; it may be too busy, and is asked again", e.Host)
	}
	return fmt.Sprintf("connecting to %s: %v", e.Host, e.Err)
}

// Unconnected returns whether a request was certainly not sent, because it had no connection, for whatever reason.
// With a proxy in between there is no other way to tell: net/http reports the proxy's answer to CONNECT as an untyped
// error.
func Unconnected(err error) bool {
	_, isNoConnection := errors.AsType[*NoConnectionError](err)
	_, isUnsent := errors.AsType[*unsentError](err)
	return isNoConnection || isUnsent
}

// unsentError is any other error of a request that had no connection.
type unsentError struct {
	host string
	err  error
}

// Error implements error.
func (e *unsentError) Error() string {
	if _, ok := errors.AsType[*net.OpError](e.err); ok {
		return e.err.Error() // the error names the host
	}
	return fmt.Sprintf("connecting to %s: %v", e.host, e.err)
}

func (e *unsentError) Unwrap() error { return e.err }

// unconnected wraps the error of a request that had no connection.
func unconnected(host string, err error) error {
	if hasClosed(err) || utilnet.IsTimeout(err) {
		return &NoConnectionError{Host: host, Err: err}
	}
	return &unsentError{host: host, err: err}
}

func hasClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}
