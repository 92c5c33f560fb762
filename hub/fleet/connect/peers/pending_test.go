package peers

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/utils/clock"

	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/connect/peers/wire"
)

func TestStrangersAreRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := &registers{}
	served := make(chan string, 10)
	one := start(t, "hub-1", d, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { served <- r.URL.Path }))
	two := start(t, "hub-2", d, nothing())
	hears(t, one, two)
	at := "https://" + d.record(one.ID()).Address

	ask := func(config *tls.Config, header http.Header) (int, error) {
		transport := &http.Transport{TLSClientConfig: config}
		defer transport.CloseIdleConnections()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/apis", nil)
		g.Expect(err).NotTo(HaveOccurred())
		req.Header = header
		resp, err := transport.RoundTrip(req)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode, resp.Body.Close()
	}
	anybody := func(string) error { return nil }
	stranger, err := newIdentity("hub-1", time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	once := http.Header{contract.HopHeader: {contract.FirstHop}}
	_, err = ask(stranger.tls(anybody), once)
	g.Expect(err).To(HaveOccurred(), "a key that stands in no Lease")
	nobody := stranger.tls(anybody)
	nobody.Certificates = nil
	_, err = ask(nobody, once)
	g.Expect(err).To(HaveOccurred(), "no key at all")
	status, err := ask(two.me.tls(anybody), http.Header{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status).To(Equal(http.StatusLoopDetected), "a replica that does not say how often a request was forwarded")
	g.Expect(served).To(BeEmpty())
	status, err = ask(two.me.tls(anybody), once)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status).To(Equal(http.StatusOK))

	// A replica whose certificate does not match its Lease.
	g.Expect(d.Renew(t.Context(), Record{ID: "hub-9", Address: d.record(one.ID()).Address, Pin: stranger.pin})).To(Succeed())
	eventually(t, func(g Gomega) { g.Expect(two.Transport("hub-9")).NotTo(BeNil()) })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://line/secret", nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = two.Transport("hub-9").RoundTrip(req) //nolint:bodyclose // there is none
	g.Expect(err).To(MatchError(errUnknownReplica))
	g.Expect(served).To(Receive(Equal("/apis")))
	g.Expect(served).To(BeEmpty())
}

// TestASilentReplicaIsLost has a replica that says something and then nothing, one that sends garbage without end, and
// one that never answers.
func TestASilentReplicaIsLost(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := &registers{}
	fake := func(name string, h http.HandlerFunc) {
		me, err := newIdentity(name, time.Now())
		g.Expect(err).NotTo(HaveOccurred())
		server := httptest.NewUnstartedServer(h)
		server.TLS = me.tls(func(string) error { return nil })
		server.StartTLS()
		t.Cleanup(func() {
			server.CloseClientConnections()
			server.Close()
		})
		g.Expect(d.Renew(t.Context(), Record{ID: name, Address: server.Listener.Addr().String(), Pin: me.pin})).To(Succeed())
	}
	var mu sync.Mutex
	calls := map[string]int{}
	called := func(name string) {
		mu.Lock()
		defer mu.Unlock()
		calls[name]++
	}
	fake("silent", func(w http.ResponseWriter, r *http.Request) {
		called("silent")
		data, err := wire.Encode(wire.Message{Synced: true, Lines: []wire.Line{{Cluster: "edge-1", Up: true}}, Heartbeat: &wire.Heartbeat{Elected: true, Hears: true}})
		if err == nil {
			_, err = w.Write(data)
		}
		if errors.Join(err, http.NewResponseController(w).Flush()) == nil {
			<-r.Context().Done()
		}
	})
	fake("endless", func(w http.ResponseWriter, _ *http.Request) {
		called("endless")
		for {
			if _, err := w.Write(bytes.Repeat([]byte("a"), 4096)); err != nil {
				return
			}
		}
	})
	fake("mute", func(_ http.ResponseWriter, r *http.Request) {
		called("mute")
		<-r.Context().Done()
	})
	one := start(t, "hub-1", d, nothing(), func(p *Peers) { p.silence = 500 * time.Millisecond })
	// Each is called again and again: every call ends, whatever the peer does.
	eventually(t, func(g Gomega) {
		mu.Lock()
		defer mu.Unlock()
		for _, name := range []string{"silent", "endless", "mute"} {
			g.Expect(calls[name]).To(BeNumerically(">", 1), name)
		}
	})
	eventually(t, func(g Gomega) {
		said, known := one.Line("edge-1")
		g.Expect(known).To(BeTrue())
		g.Expect(said.Up).To(BeFalse())
		g.Expect(said.Goodbye).To(BeTrue())
	})
}

// TestTheLeaseOfAReplicaThatIsGoneIsDeleted: what counts is whether the other replicas see it renewed, not the clocks.
func TestTheLeaseOfAReplicaThatIsGoneIsDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := &registers{}
	g.Expect(d.Renew(t.Context(), Record{ID: "gone"})).To(Succeed())
	g.Expect(d.Renew(t.Context(), Record{ID: "there"})).To(Succeed())
	p := &Peers{o: Options{Directory: d, Clock: clock.RealClock{}}, me: identity{id: "hub-1"}}
	l := &leases{seen: map[string]leaseVersion{}}
	look := func(ago time.Duration) {
		for id, s := range l.seen {
			s.since = s.since.Add(-ago)
			l.seen[id] = s
		}
		records, err := d.List(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(p.collect(t.Context(), l, records)).To(Succeed())
	}
	look(0)
	look(LeaseDuration / 2)
	g.Expect(d.Renew(t.Context(), Record{ID: "there"})).To(Succeed())
	look(0)
	g.Expect(d.ids()).To(Equal([]string{"gone", "there"}))
	look(LeaseDuration / 2)
	g.Expect(d.ids()).To(Equal([]string{"there"}))
	l.restartExpiry(time.Now())
	look(LeaseDuration / 2)
	g.Expect(d.ids()).To(Equal([]string{"there"}), "the Leases were out of reach: nobody could renew one")
	look(LeaseDuration / 2)
	g.Expect(d.ids()).To(BeEmpty())
}

func TestStrangersDoNotCrowd(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := &registers{}
	one := start(t, "hub-1", d, nothing())
	eventually(t, func(g Gomega) { g.Expect(d.ids()).To(ContainElement(one.ID())) })
	at := d.record(one.ID()).Address
	for range maxPending + 1 {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = conn.Close() }()
		if _, err := conn.Write([]byte{22}); err != nil {
			return // exceeds the limit
		}
	}
	eventually(t, func(g Gomega) {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = conn.Close() }()
		g.Expect(conn.SetReadDeadline(time.Now().Add(time.Second))).To(Succeed())
		_, err = conn.Read(make([]byte, 1))
		timeout := net.Error(nil)
		g.Expect(errors.As(err, &timeout) && timeout.Timeout()).To(BeFalse(), "it is ended at once")
	})
}
