package listener_test

import (
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/hub/machinery/controlplane/listener"
)

// greeting returns a listener that greets every client, its public port, and a function that opens it.
func greeting(tb testing.TB, host string) (l *listener.Listener, public netip.AddrPort, open func()) {
	tb.Helper()
	private, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	reserved, err := listener.Reserve(netip.AddrPortFrom(netip.MustParseAddr(host), 0))
	if err != nil {
		tb.Fatal(err)
	}
	opened := make(chan struct{})
	l = listener.New(private, reserved, opened)
	tb.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = conn.Read(make([]byte, len("hello")))
				_, _ = io.WriteString(conn, "welcome")
				_ = conn.Close()
			}()
		}
	}()
	public = netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), netip.MustParseAddrPort(reserved.Addr().String()).Port())
	return l, public, func() { close(opened) }
}

// visit returns the greeting at an address.
func visit(address string) (string, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		return "", err
	}
	said, err := io.ReadAll(conn)
	return string(said), err
}

func TestConnectionsBeforeTheListenerOpensAreRefused(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "::"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			l, public, open := greeting(t, host)

			g.Expect(visit(l.Addr().String())).To(Equal("welcome"), "at the private address")
			_, err := visit(public.String())
			g.Expect(err).To(MatchError(syscall.ECONNREFUSED))

			open()
			g.Eventually(func() (string, error) { return visit(public.String()) }).Should(Equal("welcome"))
			g.Expect(visit(l.Addr().String())).To(Equal("welcome"))
		})
	}
}

func TestItsAddressIsThePrivateOneUnlessThePublicIsAskedFor(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l, public, _ := greeting(t, "127.0.0.1")
	g.Expect(l.Addr().String()).NotTo(Equal(public.String()))
	g.Expect(l.Public().Addr().String()).To(Equal(public.String()))
}

func TestAnAddressThatIsTakenIsNotReserved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = other.Close() }()

	_, err = listener.Reserve(netip.MustParseAddrPort(other.Addr().String()))

	g.Expect(err).To(And(MatchError(syscall.EADDRINUSE), MatchError(ContainSubstring(other.Addr().String()))))
}

func TestAReservedAddressIsGivenToNobodyElse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l, public, open := greeting(t, "127.0.0.1")

	_, err := net.Listen("tcp", public.String())
	g.Expect(err).To(MatchError(syscall.EADDRINUSE), "to listen there")
	_, err = listener.Reserve(public)
	g.Expect(err).To(MatchError(syscall.EADDRINUSE), "to reserve it")
	_, err = (&net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(public)}).Dial("tcp", l.Addr().String())

	g.Expect(err).To(MatchError(syscall.EADDRINUSE), "as the near end of a connection")

	open()
	g.Eventually(func() (string, error) { return visit(public.String()) }).Should(Equal("welcome"))
}

func TestBothAddressesAreFreeOnceItIsClosed(t *testing.T) {
	t.Parallel()
	for _, opened := range []bool{false, true} {
		g := NewWithT(t)
		l, public, open := greeting(t, "127.0.0.1")
		if opened {
			open()
			g.Eventually(func() (string, error) { return visit(public.String()) }).Should(Equal("welcome"))
		}

		g.Expect(l.Close()).To(Succeed())

		_, err := l.Accept()
		g.Expect(err).To(MatchError(net.ErrClosed))
		for _, at := range []string{public.String(), l.Addr().String()} {
			again, err := net.Listen("tcp", at)
			g.Expect(err).NotTo(HaveOccurred(), "opened: %t", opened)
			g.Expect(again.Close()).To(Succeed())
		}
		g.Expect(l.Close()).To(MatchError(net.ErrClosed), "a second time")
	}
}
