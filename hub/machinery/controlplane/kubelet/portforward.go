package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// echoPort is the name of ports that echo.
const echoPort = "echo"

// PortForward simulates the program behind a declared port.
func (p *pods) PortForward(ctx context.Context, pod, _ string, port int32, stream io.ReadWriteCloser) error {
	namespace, name, _ := strings.Cut(pod, "/")
	live, err := p.api.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("reading pod %q: %w", pod, err)
	}
	for _, c := range live.Spec.Containers {
		for _, declared := range c.Ports {
			switch {
			case declared.ContainerPort != port:
			case declared.Name == echoPort:
				_, err := io.Copy(stream, stream)
				return err
			default:
				return serveHTTP(ctx, stream, live)
			}
		}
	}
	return fmt.Errorf("failed to connect to localhost:%d inside pod %q: connection refused", port, pod)
}

// serveHTTP serves HTTP on one connection, responding with the name of the pod.
func serveHTTP(ctx context.Context, stream io.ReadWriteCloser, pod *corev1.Pod) error {
	l := &singleListener{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	near, far := net.Pipe()
	l.conn <- &notifyingConn{Conn: near, closed: sync.OnceFunc(func() { close(l.done) })}
	server := &http.Server{ReadHeaderTimeout: headerTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "%s/%s\n", pod.Namespace, pod.Name)
	})}
	ended := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer ended()
	go func() {
		_, _ = io.Copy(far, stream)
		_ = far.Close()
	}()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = io.Copy(stream, far)
		_ = stream.Close()
	}()
	err := server.Serve(l)
	_ = near.Close() // in case it was never accepted
	select {         // returning resets the stream and drops what was not written yet
	case <-answered:
	case <-ctx.Done():
	}
	if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// singleListener accepts one connection, and ends with it.
type singleListener struct {
	conn chan net.Conn
	done chan struct{}
}

func (s *singleListener) Accept() (net.Conn, error) {
	select {
	case c := <-s.conn:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *singleListener) Close() error   { return nil }
func (s *singleListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// notifyingConn calls closed when it is closed.
type notifyingConn struct {
	net.Conn
	closed func()
}

func (r *notifyingConn) Close() error {
	r.closed()
	return r.Conn.Close()
}
