package registration

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// caller is a hub that calls an agent back.
type caller struct {
	info, calls map[string]string
	// refuses is the status of refused requests; 0 makes the hub accept them, and deny them afterwards.
	refuses atomic.Int32
	// asked counts the requests.
	asked atomic.Int32
}

// ServeHTTP implements http.Handler.
func (h *caller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	say := func(code int, what runtime.Object) {
		text, err := json.Marshal(what)
		if err != nil {
			panic(err) // it would be a mistake in this test
		}
		w.WriteHeader(code)
		_, _ = w.Write(text) // the caller may be gone
	}
	refuses := int(h.refuses.Load())
	switch {
	case r.URL.Path == publicPath+"cluster-info":
		say(http.StatusOK, &corev1.ConfigMap{Data: h.info})
	case r.URL.Path == publicPath+bootstrap.RejoinName:
		say(http.StatusOK, &corev1.ConfigMap{Data: h.calls})
	case refuses == http.StatusUnauthorized:
		h.count(r)
		say(refuses, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonUnauthorized, Code: http.StatusUnauthorized})
	case refuses != 0:
		h.count(r)
		say(refuses, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
	default:
		h.count(r)
		request := certificatesv1.CertificateSigningRequest{TypeMeta: metav1.TypeMeta{APIVersion: "certificates.k8s.io/v1", Kind: "CertificateSigningRequest"}}
		request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Reason: contract.ReasonTokenUsed}}
		say(http.StatusOK, &request)
	}
}

// count counts a request for a certificate.
func (h *caller) count(r *http.Request) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/certificatesigningrequests") {
		h.asked.Add(1)
	}
}

func TestATokenThatTheHubDidNotAcceptIsTriedAgainAndOneThatItDeniedIsNot(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int32{"unauthorized": http.StatusUnauthorized, "forbidden": http.StatusForbidden} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			hub := &caller{}
			server := httptest.NewTLSServer(hub)
			t.Cleanup(server.Close)
			of := newAuthority(t, "hub")
			public, err := of.key.PublicKey.Bytes()
			g.Expect(err).NotTo(HaveOccurred())
			sealed, err := bootstrap.Seal(public, bootstrap.Token{ID: tokenID, Secret: tokenSecret})
			g.Expect(err).NotTo(HaveOccurred())
			hub.info, hub.calls = info(t, authorityOf(server), ""), map[string]string{bootstrap.RejoinKey(public): sealed}

			now := stepping{clocktesting.NewFakeClock(time.Now())}
			c, err := OpenCredentials(KeepOptions{
				StateDir: joinedTo(t, server.URL, server.Certificate(), of.agent(t), of.key), Clock: now, Random: func() float64 { return 1 },
			})
			g.Expect(err).NotTo(HaveOccurred())

			hub.refuses.Store(code)
			g.Expect(c.rejoin(t.Context())).To(MatchError(ErrTokenRejected))
			asked := hub.asked.Load()
			g.Expect(asked).NotTo(BeZero())
			g.Expect(c.rejoin(t.Context())).To(MatchError(ErrTokenRejected), "it says what is in the way, and not something else each time")
			g.Expect(hub.asked.Load()).To(Equal(asked), "it is not asked again and again")

			// The hub works again by now, and decides.
			hub.refuses.Store(0)
			now.Step(rejectedFor)
			g.Expect(c.rejoin(t.Context())).To(MatchError(ErrDenied))
			g.Expect(hub.asked.Load()).To(Equal(asked + 1))
			now.Step(time.Hour)
			g.Expect(c.rejoin(t.Context())).To(MatchError(errNoCall))
			g.Expect(hub.asked.Load()).To(Equal(asked + 1))
		})
	}
}
