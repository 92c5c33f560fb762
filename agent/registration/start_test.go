package registration

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/agent/registration/discovery"
)

// Addresses at which nobody is.
const (
	nobody    = "https://127.0.0.1:1"
	elsewhere = "https://127.0.0.1:2"
)

// pinned is the hash with which the agents of these tests joined.
var pinned = "sha256:" + strings.Repeat("ab", 32)

// joinedFirst returns the state directory of an agent that joined the address nobody with a hash, learned a second
// address, and switched to now.
func joinedFirst(t *testing.T, of authority, now string) state {
	t.Helper()
	g := NewWithT(t)
	cert := of.agent(t)
	s := state{dir: joinedTo(t, nobody, of.cert, cert, of.key)}
	g.Expect(s.finished(discovery.Parameters{Servers: []string{nobody}, Pins: []string{pinned}}, true)).To(Succeed())
	g.Expect(s.keepServers([]string{now, nobody, elsewhere})).To(Succeed())
	g.Expect(s.keep(now, "edge-1", encodeCertificate(of.cert), encodeCertificate(cert), of.key)).To(Succeed())
	return s
}

// memberAPI is the API of a member, as far as a join asks it.
func memberAPI(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		namespace := &corev1.Namespace{}
		namespace.APIVersion, namespace.Kind, namespace.Name, namespace.UID = "v1", "Namespace", "kube-system", "m"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(namespace) // the caller may be gone
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// fresh is a token that can be read.
func fresh() (string, error) { return tokenID + "." + tokenSecret, nil }

// argued are the arguments of the first start.
func argued(t *testing.T, s state, now clock.Clock) Options {
	t.Helper()
	return Options{
		Flags:    discovery.Flags{Hub: nobody, CACertHashes: []string{pinned}, Cluster: "edge-1"},
		StateDir: s.dir, Member: memberAPI(t), Clock: now,
	}
}

func TestAnAgentGoesOnThoughItsArgumentsAreOfNoUseAnyMore(t *testing.T) {
	t.Parallel()
	deleted := func() (string, error) { return "", fs.ErrNotExist }
	emptied := func() (string, error) { return "", nil }
	for name, c := range map[string]struct {
		token func() (string, error)
		now   string
		later time.Duration
	}{
		"the token was deleted":                               {token: deleted, now: nobody},
		"the token was deleted, and the certificate ended":    {token: deleted, now: nobody, later: 31 * 24 * time.Hour},
		"the file of the token is empty":                      {token: emptied, now: nobody},
		"the address of the join was given up":                {token: fresh, now: elsewhere},
		"the certificate ended while nobody answers":          {token: fresh, now: nobody, later: 31 * 24 * time.Hour},
		"the certificate ended, and the address was given up": {token: fresh, now: elsewhere, later: 31 * 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := joinedFirst(t, newAuthority(t, "hub"), c.now)
			began := time.Now().Add(c.later)
			now := stepping{clocktesting.NewFakeClock(began)}
			credentials, err := Start(t.Context(), argued(t, s, now), c.token, KeepOptions{Clock: now, Random: func() float64 { return 1 }})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(credentials.Cluster()).To(Equal("edge-1"))
			g.Expect(credentials.Config().Host).To(Equal(c.now))
			g.Expect(now.Since(began)).To(BeNumerically("<=", joinedTries), "the member waits")
			who, err := s.identity()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(who.Server).To(Equal(nobody))
			g.Expect(splitServers(who.Servers)).To(Equal([]string{c.now, nobody, elsewhere}))
		})
	}
}

func TestAnAgentWithOtherArgumentsJoinsAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Options)
		want   error
	}{
		"another hub":     {change: func(o *Options) { o.Hub = "127.0.0.1:3" }, want: ErrUnreachable},
		"other hashes":    {change: func(o *Options) { o.CACertHashes = []string{"sha256:" + strings.Repeat("cd", 32)} }, want: ErrUnreachable},
		"another cluster": {change: func(o *Options) { o.Cluster = "edge-2" }, want: ErrOtherCluster},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := joinedFirst(t, newAuthority(t, "hub"), nobody)
			now := stepping{clocktesting.NewFakeClock(time.Now())}
			keep := KeepOptions{Clock: now, Random: func() float64 { return 1 }}
			o := argued(t, s, now)
			c.change(&o)
			for range 2 {
				_, err := Start(t.Context(), o, fresh, keep)
				g.Expect(err).To(MatchError(c.want), "what was tried in vain is not what it has joined")
			}
			_, err := Start(t.Context(), argued(t, s, now), fresh, keep)
			g.Expect(err).NotTo(HaveOccurred(), "it finds its way back")
		})
	}
}

func TestATokenThatCouldNotBeUsedAtTheStartIsTriedLater(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := &caller{}
	server := httptest.NewTLSServer(hub)
	t.Cleanup(server.Close)
	of := newAuthority(t, "hub")
	cert := of.agent(t)
	s := state{dir: joinedTo(t, server.URL, server.Certificate(), cert, of.key)}
	hub.info = info(t, authorityOf(server), "")
	now := stepping{clocktesting.NewFakeClock(time.Now().Add(31 * 24 * time.Hour))}
	o := argued(t, s, now)
	o.Hub, o.CACertHashes, o.SkipCAVerification = strings.TrimPrefix(server.URL, "https://"), nil, true
	o.Member = &rest.Config{Host: nobody} // its API is away for a moment, too
	c, err := Start(t.Context(), o, fresh, KeepOptions{Clock: now, Random: func() float64 { return 1 }})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hub.asked.Load()).To(BeZero())
	g.Expect(c.rejoin(t.Context())).To(MatchError(ErrDenied))
	g.Expect(hub.asked.Load()).NotTo(BeZero(), "with the token")
	g.Expect(c.rejoin(t.Context())).To(MatchError(errNoCall), "the hub decided")
}

func TestAnAgentAsksAtTheAddressOfItsArgumentsWhetherItIsKnownIfItsOwnWasGivenUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := &caller{}
	hub.refuses.Store(http.StatusUnauthorized)
	server := httptest.NewTLSServer(hub)
	t.Cleanup(server.Close)
	of := newAuthority(t, "hub")
	s := state{dir: joinedTo(t, elsewhere, server.Certificate(), of.agent(t), of.key)}
	j := &joining{
		parameters: discovery.Parameters{Server: server.URL, Servers: []string{server.URL}, Cluster: "edge-1"}, state: s,
		retrier: &retrier{clock: clock.RealClock{}, deadline: time.Now(), progress: func(string) {}},
	}
	g.Expect(s.finished(j.parameters, true)).To(Succeed())
	_, ok := j.joined(t.Context())
	g.Expect(ok).To(BeFalse(), "the hub does not accept its certificate, and a token may be at hand")
}
