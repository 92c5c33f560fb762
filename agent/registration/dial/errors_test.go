package dial_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"fairlead.dev/agent/registration/dial"
)

// TestAHostThatDoesNotGreetIsNoEndOfAWatch checks that a failed handshake is not reported as EOF or a timeout:
// client-go takes these for the regular end of a watch, and lists anew.
func TestAHostThatDoesNotGreetIsNoEndOfAWatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		greet func(net.Conn)
		says  string
	}{
		"it hears the client and closes": {func(conn net.Conn) {
			_, _ = conn.Read(make([]byte, 8<<10))
			_ = conn.Close()
		}, "too busy"},
		"it does not hear and closes": {func(conn net.Conn) { _ = conn.Close() }, "too busy"},
		"it says nothing":             {func(net.Conn) {}, "TLS handshake timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var lc net.ListenConfig
			l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = l.Close() }()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					go tc.greet(conn)
				}
			}()

			err = getOne(t.Context(), dial.InTurn(&http.Transport{TLSHandshakeTimeout: 100 * time.Millisecond}), "https://"+l.Addr().String())

			no, ok := errors.AsType[*dial.NoConnectionError](err)
			g.Expect(ok).To(BeTrue(), "%v", err)
			g.Expect(no.Host).To(Equal(l.Addr().String()))
			g.Expect(err).To(MatchError(And(ContainSubstring(no.Host), ContainSubstring(tc.says))))
			g.Expect(utilnet.IsProbableEOF(err)).To(BeFalse())
			g.Expect(utilnet.IsTimeout(err)).To(BeFalse())
			g.Expect(utilnet.IsConnectionReset(err)).To(BeFalse())
		})
	}
}

func TestAConnectionThatEndsLaterIsToldAsItIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t, true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	shared := dial.InTurn(s.transport(t))
	failed := make(chan error, 1)
	go func() { failed <- getOne(ctx, shared, s.URL) }() // it is answered when all have come
	g.Eventually(s.requests.Load).Should(BeEquivalentTo(1))

	s.CloseClientConnections()

	var err error
	g.Eventually(failed).Should(Receive(&err))
	_, ok := errors.AsType[*dial.NoConnectionError](err)
	g.Expect(ok).To(BeFalse(), "%v", err)
}
