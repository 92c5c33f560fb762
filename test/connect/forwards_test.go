package connect

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// manyForwards is the number of concurrent port-forwards: the limit of streams per user. Bob has no others.
const manyForwards = 20

// dialerOf returns a dialer for port-forwards with one of kubectl's protocols.
func dialerOf(protocol string, config *rest.Config, target *url.URL) (httpstream.Dialer, error) {
	if protocol == "WebSocket" {
		return portforward.NewSPDYOverWebsocketDialerForStreaming(target, config)
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	return spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target), nil
}

// forward opens a port-forward to the echo port until the test ends, and returns its local address.
func (w *world) forward(t *testing.T, protocol string) string {
	t.Helper()
	g := NewWithT(t)
	config := w.config("bob")
	target, err := url.Parse(config.Host + "/api/v1/namespaces/default/pods/web/portforward")
	g.Expect(err).NotTo(HaveOccurred())
	dialer, err := dialerOf(protocol, config, target)
	g.Expect(err).NotTo(HaveOccurred())
	stop, ready, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var out buffer
	f, err := portforward.NewOnAddressesForStreaming(dialer, []string{"127.0.0.1"}, []string{":7"}, stop, ready, &out, &out)
	g.Expect(err).NotTo(HaveOccurred())
	go func() { ended <- f.ForwardPorts() }()
	t.Cleanup(func() {
		close(stop)
		g.Eventually(ended).WithTimeout(waitTimeout).Should(Receive(BeNil()), out.String())
	})
	g.Eventually(ready).WithTimeout(waitTimeout).Should(BeClosed(), func() string {
		select {
		case err := <-ended:
			ended <- nil
			return fmt.Sprint(err)
		default:
			return out.String()
		}
	})
	ports, err := f.GetPorts()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(ports).To(HaveLen(1))
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
}

// forwardsMany checks that many concurrent port-forwards echo their own data.
func (w *world) forwardsMany(t *testing.T, protocol string) {
	t.Helper()
	g := NewWithT(t)
	conns := make([]net.Conn, manyForwards)
	for i := range conns {
		conn, err := net.Dial("tcp", w.forward(t, protocol))
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = conn.Close() }()
		conns[i] = conn
	}
	var all sync.WaitGroup
	wrong := make(chan error, manyForwards)
	for _, conn := range conns {
		all.Go(func() { wrong <- echoes(conn, 256<<10) })
	}
	all.Wait()
	for range conns {
		g.Expect(<-wrong).NotTo(HaveOccurred())
	}
}

// echoes sends random bytes, and checks that the same bytes come back.
func echoes(conn net.Conn, size int) error {
	sent, got := make([]byte, size), make([]byte, size)
	if _, err := rand.Read(sent); err != nil {
		return err
	}
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(sent)
		written <- err
	}()
	if _, err := io.ReadFull(conn, got); err != nil {
		return err
	}
	if err := <-written; err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return fmt.Errorf("%d bytes did not come back as they went", size)
	}
	return nil
}
