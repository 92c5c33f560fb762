package dial

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// NoConnectionError is why a request was not sent: the host did not accept the connection in time, or closed it before TLS was agreed on, as one
// does that is too busy.
//
// It is neither a timeout nor the end of a connection to those who ask: clients of Kubernetes take these, in a watch, for one that has ended well,
// and list everything anew though the watch could go on.
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

// Unconnected says whether a request certainly was not sent: it had no connection, for whatever reason. Where a proxy stands between, that is
// all there is to see: net/http gives what a proxy answers to CONNECT as a text without a type.
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
		return e.err.Error() // it names the host
	}
	return fmt.Sprintf("connecting to %s: %v", e.host, e.err)
}

func (e *unsentError) Unwrap() error { return e.err }

// unconnected returns an error of a request that had no connection as it is to be told.
func unconnected(host string, err error) error {
	if hasClosed(err) || utilnet.IsTimeout(err) {
		return &NoConnectionError{Host: host, Err: err}
	}
	return &unsentError{host: host, err: err}
}

func hasClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}
