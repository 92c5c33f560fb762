package dial

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// NoConnectionError is why a request was not sent: the host did not accept the connection in time, or closed it before TLS was agreed on, as one
// does that is too busy.
//
// It is neither a timeout nor the end of a connection to those who ask: clients of Kubernetes take these, in a watch, for one that has ended well,
// and list everything anew though the watch could go on.
type NoConnectionError struct {
	// Host is whom it could not connect to.
	Host string
	// Err is what happened. It is not wrapped.
	Err error
}

// Error implements error.
func (e *NoConnectionError) Error() string {
	if hasClosed(e.Err) {
		return fmt.Sprintf("connecting to %s: it closed the connection before TLS began; it may be too busy, and is asked again", e.Host)
	}
	return fmt.Sprintf("connecting to %s: %v", e.Host, e.Err)
}

// unconnected returns an error of a request that had no connection as it is to be told.
func unconnected(host string, err error) error {
	if hasClosed(err) || utilnet.IsTimeout(err) {
		return &NoConnectionError{Host: host, Err: err}
	}
	return err
}

func hasClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)
}
