package authenticator

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	authx509 "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"
)

const proxied = "X-Remote-User"

// world is an API server that trusts a CA, and a proxy that names users in headers.
type world struct {
	*WithT

	clock   *clocktesting.FakeClock
	trusts  *x509.CertPool
	ca      *x509.Certificate
	key     *ecdsa.PrivateKey
	asked   int // how often a certificate was verified
	is      authenticator.Request
	serials int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), clock: clocktesting.NewFakeClock(time.Now()), trusts: x509.NewCertPool()}
	var err error
	w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.Expect(err).NotTo(HaveOccurred())
	w.ca = w.certificate("authority", 24*time.Hour)
	w.trusts.AddCert(w.ca)
	by := authx509.NewDynamic(func() (x509.VerifyOptions, bool) {
		w.asked++
		return x509.VerifyOptions{Roots: w.trusts, CurrentTime: w.clock.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, true
	}, authx509.CommonNameUserConversion)
	w.is = New(authenticator.RequestFunc(func(req *http.Request) (*authenticator.Response, bool, error) {
		if name := req.Header.Get(proxied); name != "" {
			return &authenticator.Response{User: &user.DefaultInfo{Name: name}}, true, nil
		}
		if req.Header.Get("Authorization") != "" {
			w.asked++
			return &authenticator.Response{User: &user.DefaultInfo{Name: "of-a-token"}}, true, nil
		}
		return group.NewAuthenticatedGroupAdder(by).AuthenticateRequest(req)
	}), proxied, w.clock)
	return w
}

func (w *world) certificate(name string, lasts time.Duration) *x509.Certificate {
	w.serials++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(w.serials), Subject: pkix.Name{CommonName: name, Organization: []string{"agents"}},
		NotBefore: w.clock.Now().Add(-time.Hour), NotAfter: w.clock.Now().Add(lasts),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	parent := w.ca
	if parent == nil {
		parent, template.IsCA, template.BasicConstraintsValid, template.KeyUsage = template, true, true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &w.key.PublicKey, w.key)
	w.Expect(err).NotTo(HaveOccurred())
	out, err := x509.ParseCertificate(der)
	w.Expect(err).NotTo(HaveOccurred())
	return out
}

// who returns the user as whom a request with a certificate is authenticated.
func (w *world) who(cert *x509.Certificate, headers ...string) (user.Info, error) {
	req := httptest.NewRequest(http.MethodGet, "/api", http.NoBody)
	if cert != nil {
		req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	response, ok, err := w.is.AuthenticateRequest(req)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, errors.New("nobody")
	}
	return response.User, nil
}

func (w *world) name(cert *x509.Certificate, headers ...string) string {
	who, err := w.who(cert, headers...)
	w.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	return who.GetName()
}

func TestACertificateIsAuthenticatedOnceForAWhile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other := w.certificate("edge-1", time.Hour), w.certificate("edge-2", time.Hour)

	for range 5 {
		who, err := w.who(one)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(who.GetName()).To(Equal("edge-1"))
		w.Expect(who.GetGroups()).To(ConsistOf("agents", "system:authenticated"))
		w.Expect(w.name(other)).To(Equal("edge-2"))
	}
	w.Expect(w.asked).To(Equal(2))

	w.clock.Step(keep)
	w.Expect(w.name(one)).To(Equal("edge-1"))
	w.Expect(w.asked).To(Equal(3))
}

func TestAnAuthorityThatIsNoLongerTrustedIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cert := w.certificate("edge-1", time.Hour)
	w.Expect(w.name(cert)).To(Equal("edge-1"))

	w.trusts = x509.NewCertPool()
	w.clock.Step(keep)

	_, err := w.who(cert)
	w.Expect(err).To(HaveOccurred())
}

func TestACertificateIsNotRememberedLongerThanItLasts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cert := w.certificate("edge-1", keep/2)
	w.Expect(w.name(cert)).To(Equal("edge-1"))

	w.clock.Step(keep/2 + time.Second) // certificates have a resolution of one second

	_, err := w.who(cert)
	w.Expect(err).To(HaveOccurred())
}

func TestAStrangerIsAskedAboutEachTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cert := w.certificate("edge-1", time.Hour)
	trusted := w.trusts
	w.trusts = x509.NewCertPool()
	_, err := w.who(cert)
	w.Expect(err).To(HaveOccurred())

	w.trusts = trusted
	w.Expect(w.name(cert)).To(Equal("edge-1"), "what was refused is not remembered")
}

func TestOnlyTheBearerOfACertificateIsKnownByIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cert := w.certificate("front-proxy", time.Hour)
	w.Expect(w.name(cert)).To(Equal("front-proxy"))

	w.Expect(w.name(cert, proxied, "alice")).To(Equal("alice"), "for whom the proxy asks")
	w.Expect(w.name(cert, proxied, "bob")).To(Equal("bob"))
	w.Expect(w.name(cert)).To(Equal("front-proxy"))
	w.Expect(w.asked).To(Equal(1))

	unknown := w.certificate("edge-1", time.Hour)
	w.Expect(w.name(unknown, "Authorization", "Bearer t")).To(Equal("of-a-token"))
	w.Expect(w.name(unknown)).To(Equal("edge-1"), "the token was another's")
	w.Expect(w.name(nil, "Authorization", "Bearer t")).To(Equal("of-a-token"))
}
