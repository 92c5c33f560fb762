package registration

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// renewer is a hub that renews only the certificate that it issued last, and an agent of it whose state is on a disk
// and in a Secret.
type renewer struct {
	t         *testing.T
	authority authority
	server    *httptest.Server
	member    client.WithWatch
	key       client.ObjectKey
	// issuedAt is the clock of the hub.
	issuedAt time.Time

	mu       sync.Mutex
	last     *x509.Certificate
	requests map[string]*certificatesv1.CertificateSigningRequest
	// steps counts the agent's requests to hub and member, two steps for each. At step killed the agent is killed:
	// before the request takes effect, or after it if the step is odd.
	steps, killed int
	kill          context.CancelFunc
	// awayFor is how many writes the member refuses.
	awayFor int
}

var errKilled = errors.New("the process is killed")

func newRenewer(t *testing.T) *renewer {
	t.Helper()
	h := &renewer{
		t: t, authority: newAuthority(t, "agents"), key: client.ObjectKey{Namespace: "karmada-system", Name: "fairlead-agent"},
		requests: map[string]*certificatesv1.CertificateSigningRequest{}, issuedAt: time.Now().Add(-time.Hour).Truncate(time.Second), killed: -1,
	}
	h.server = httptest.NewTLSServer(h)
	t.Cleanup(h.server.Close)
	h.member = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name}},
	).Build(), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if h.dies() {
				return errKilled
			}
			h.mu.Lock()
			away := h.awayFor > 0
			h.awayFor--
			h.mu.Unlock()
			if away {
				return errors.New("the member does not answer")
			}
			if err := c.Patch(ctx, obj, patch, opts...); err != nil || !h.dies() {
				return err
			}
			return errKilled
		},
	})
	return h
}

// dies counts a step, and returns whether the agent is dead by then.
func (h *renewer) dies() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.steps == h.killed {
		h.kill()
	}
	h.steps++
	return h.killed >= 0 && h.steps > h.killed
}

// issue signs a certificate.
func (h *renewer) issue(key any) *x509.Certificate {
	h.issuedAt = h.issuedAt.Add(time.Second)
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(h.issuedAt.Unix()), NotBefore: h.issuedAt, NotAfter: h.issuedAt.Add(30 * 24 * time.Hour),
		Subject: pkix.Name{CommonName: contract.AgentUser("edge-1"), Organization: []string{contract.AgentGroup, contract.JoinGroup("a-join")}},
	}, h.authority.cert, key, h.authority.key)
	if err == nil {
		h.last, err = x509.ParseCertificate(raw)
	}
	if err != nil {
		panic(err) // it would be a mistake in this test
	}
	return h.last
}

// ServeHTTP implements http.Handler.
func (h *renewer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.dies() {
		panic(http.ErrAbortHandler)
	}
	body, _ := io.ReadAll(r.Body) // the caller may be gone
	code, answer := h.answer(r, body)
	if h.dies() {
		panic(http.ErrAbortHandler)
	}
	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(text)
}

func (h *renewer) answer(r *http.Request, body []byte) (int, runtime.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := path.Base(r.URL.Path)
	switch {
	case path.Base(path.Dir(r.URL.Path)) == "clusters":
		cluster := &clusterv1alpha1.Cluster{TypeMeta: metav1.TypeMeta{APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: clusterv1alpha1.KindCluster}}
		issued, err := json.Marshal(map[string]string{"pem": string(encodeCertificate(h.last))})
		if err != nil {
			panic(err)
		}
		cluster.Name, cluster.Annotations = "edge-1", map[string]string{contract.CertificateAnnotation: string(issued)}
		return http.StatusOK, cluster
	case r.Method == http.MethodPost:
		request := &certificatesv1.CertificateSigningRequest{}
		if _, _, err := serializer.NewCodecFactory(scheme.Scheme).UniversalDeserializer().Decode(body, nil, request); err != nil {
			panic(err)
		}
		if h.requests[request.Name] != nil {
			return http.StatusConflict, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonAlreadyExists, Code: http.StatusConflict}
		}
		h.decide(request)
		request.APIVersion, request.Kind = "certificates.k8s.io/v1", "CertificateSigningRequest"
		h.requests[request.Name] = request
		return http.StatusCreated, request
	case h.requests[name] == nil:
		return http.StatusNotFound, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
	case r.Method == http.MethodDelete:
		delete(h.requests, name)
		return http.StatusOK, &metav1.Status{Status: metav1.StatusSuccess}
	default:
		return http.StatusOK, h.requests[name]
	}
}

// decide renews the certificate that was issued last.
func (h *renewer) decide(request *certificatesv1.CertificateSigningRequest) {
	if request.Annotations[contract.PresentedCertificateAnnotation] != string(encodeCertificate(h.last)) {
		request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Reason: "NotTheLast"}}
		return
	}
	block, _ := pem.Decode(request.Spec.Request)
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		panic(err)
	}
	request.Status.Certificate = encodeCertificate(h.issue(asked.PublicKey))
}

// join gives the agent its first certificate, on a disk and in the Secret.
func (h *renewer) join() (dir string) {
	h.t.Helper()
	g := NewWithT(h.t)
	first, _, err := (state{dir: h.t.TempDir()}).key(keyFile)
	g.Expect(err).NotTo(HaveOccurred())
	dir = joinedTo(h.t, h.server.URL, h.server.Certificate(), h.issue(&first.PublicKey), first)
	g.Expect(h.open(h.t.Context(), dir).secretStore.Save(h.t.Context(), dir)).To(Succeed())
	return dir
}

// open returns the credentials of an agent that starts with a directory.
func (h *renewer) open(ctx context.Context, dir string) *Credentials {
	return h.openAt(ctx, dir, clock.RealClock{})
}

func (h *renewer) openAt(ctx context.Context, dir string, now clock.Clock) *Credentials {
	h.t.Helper()
	g := NewWithT(h.t)
	m := &SecretStore{memberClient: h.member, key: h.key}
	g.Expect(m.Restore(ctx, dir, "edge-1")).To(Succeed())
	c, err := OpenCredentials(KeepOptions{StateDir: dir, Clock: now, Random: func() float64 { return 1 }, SecretStore: m})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// renewUntil starts an agent with a directory and renews its certificate, with one retry, until it is killed at a
// step. It returns whether it was killed; if not, it checks what the agent has.
func (h *renewer) renewUntil(dir string, killed int) (wasKilled bool) {
	h.t.Helper()
	g := NewWithT(h.t)
	ctx, kill := context.WithCancel(h.t.Context())
	defer kill()
	c := h.open(ctx, dir)
	h.mu.Lock()
	h.steps, h.killed, h.kill = 0, killed, kill
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.killed = -1
	}()
	err := c.renew(ctx)
	if err != nil && ctx.Err() == nil {
		err = c.renew(ctx)
	}
	if err == nil {
		err = c.secretStore.Save(ctx, dir)
	}
	if ctx.Err() != nil {
		return true
	}
	g.Expect(err).NotTo(HaveOccurred())
	h.holds(g, c)
	return false
}

// holds checks that the agent and its Secret have the latest certificate, and its key.
func (h *renewer) holds(g Gomega, c *Credentials) {
	now := c.now()
	g.Expect(now.cert.Raw).To(Equal(h.last.Raw))
	g.Expect(now.key.PublicKey.Equal(h.last.PublicKey)).To(BeTrue())
	kept := &corev1.Secret{}
	g.Expect(h.member.Get(h.t.Context(), h.key, kept)).To(Succeed())
	g.Expect(certificateIn(kept.Data).Raw).To(Equal(h.last.Raw))
	files, err := Files(c.state.dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Data).To(Equal(files))
}
