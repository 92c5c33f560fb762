package join

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/registration"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

const day = 24 * time.Hour

// ahead is a clock that is ahead.
type ahead struct {
	clock.RealClock
	by time.Duration
}

func (a ahead) Now() time.Time { return time.Now().Add(a.by) }

func (a ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }

// joined is a joined member with its credentials.
type joined struct {
	*registration.Credentials
	h     *hub
	dir   string
	dials atomic.Int32
}

// keeps joins as a cluster and opens its credentials on a machine whose clock is ahead.
func (h *hub) keeps(ctx context.Context, name string, by time.Duration) *joined {
	h.t.Helper()
	o := h.options(name, h.created(ctx, "--cluster", name))
	o.Member = members(h.t)(name)
	_, err := registration.Join(ctx, o)
	h.g.Expect(err).NotTo(HaveOccurred())
	j := &joined{h: h, dir: o.StateDir}
	j.Credentials, err = registration.OpenCredentials(registration.KeepOptions{
		StateDir: o.StateDir, Clock: ahead{by: by}, Random: func() float64 { return 0 },
		Connection: &rest.Config{Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			j.dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}},
	})
	h.g.Expect(err).NotTo(HaveOccurred())
	return j
}

// keep renews the credentials until the test ends, and returns the result.
func (j *joined) keep(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- j.Keep(ctx) }()
	return done
}

// onDisk returns the configuration that the next start would use.
func (j *joined) onDisk(g Gomega) *rest.Config {
	config, err := registration.Load(j.dir, "")
	g.Expect(err).NotTo(HaveOccurred())
	return config
}

// usedCertificate returns the certificate with which the hub's API authenticates a request.
func (j *joined) usedCertificate(ctx context.Context, g Gomega) string {
	scheme := runtime.NewScheme()
	g.Expect(authenticationv1.AddToScheme(scheme)).To(Succeed())
	c, err := client.New(j.Config(), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	review := &authenticationv1.SelfSubjectReview{}
	g.Expect(c.Create(ctx, review)).To(Succeed())
	return fmt.Sprint(review.Status.UserInfo.Extra["authentication.kubernetes.io/credential-id"])
}

func TestACertificateIsRenewedAndNoWatchIsCutOff(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	j := h.keeps(ctx, "renews", 25*day)
	// Certificates are told apart by the second in which they expire.
	joined := time.Now().Unix()
	h.g.Eventually(func() int64 { return time.Now().Unix() }).WithTimeout(time.Minute).Should(BeNumerically(">", joined))
	agent, err := client.NewWithWatch(j.Config(), client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	var works watch.Interface
	h.g.Eventually(func() error {
		works, err = agent.Watch(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-renews"))
		return err
	}).WithTimeout(time.Minute).Should(Succeed())
	defer works.Stop()
	before, first := j.onDisk(h.g), j.usedCertificate(ctx, h.g)
	h.g.Expect(j.dials.Load()).To(Equal(int32(1)), "one connection for all")

	// The hub goes on writing while the certificate changes.
	stop, wrote := make(chan struct{}), make(chan int, 1)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				wrote <- n
				return
			default:
			}
			if err := h.Create(ctx, builder.MakeWork("renews", fmt.Sprintf("w-%d", n)).Obj()); err != nil {
				t.Error(err)
			}
			n++
		}
	}()
	keeping, cancel := context.WithCancel(ctx)
	defer cancel()
	done := j.keep(keeping)
	h.g.Eventually(func(g Gomega) {
		after := j.onDisk(g)
		g.Expect(after.CertData).NotTo(Equal(before.CertData))
		g.Expect(after.KeyData).NotTo(Equal(before.KeyData), "a new key each time")
		g.Expect(j.usedCertificate(ctx, g)).NotTo(Equal(first), "new requests go by the new certificate")
	}).WithTimeout(time.Minute).Should(Succeed())
	close(stop)
	count := <-wrote
	for seen := 0; seen < count; {
		select {
		case event, open := <-works.ResultChan():
			h.g.Expect(open).To(BeTrue(), "the watch was cut off")
			h.g.Expect(event.Type).To(BeElementOf(watch.Added, watch.Modified))
			if event.Type == watch.Added {
				seen++
			}
		case <-time.After(time.Minute):
			t.Fatalf("the watch showed %d of %d Works", seen, count)
		}
	}
	t.Logf("%d Works were made while the certificate changed; the one watch showed all", count)
	h.g.Eventually(func() string { return h.must(ctx, "clusters", "describe", "renews") }).WithTimeout(time.Minute).
		Should(ContainSubstring("serial "+serial(t, j.onDisk(h.g))), "the hub knows of it")
	cancel()
	h.g.Eventually(done).WithTimeout(time.Minute).Should(Receive(BeNil()))
}

func serial(t *testing.T, config *rest.Config) string {
	t.Helper()
	block, _ := pem.Decode(config.CertData)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert.SerialNumber.Text(16)
}

func TestAnAgentWhoseCertificateEndedIsCalledBack(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	j := h.keeps(ctx, "was-off", 400*day)
	before := j.onDisk(h.g)
	j.keep(ctx)
	h.g.Consistently(func() []byte { return j.onDisk(h.g).CertData }).WithTimeout(time.Second).Should(Equal(before.CertData), "nobody called it yet")

	h.must(ctx, "token", "create", "--rejoin", "was-off")
	h.g.Eventually(func(g Gomega) {
		after := j.onDisk(g)
		g.Expect(after.CertData).NotTo(Equal(before.CertData))
		g.Expect(after.KeyData).NotTo(Equal(before.KeyData))
	}).WithTimeout(2 * time.Minute).Should(Succeed())
	h.g.Expect(j.usedCertificate(ctx, h.g)).NotTo(BeEmpty())
	h.g.Expect(h.must(ctx, "token", "list")).To(MatchRegexp(`was-off +0 of 1`))
}

// killedRejoining returns a member that was killed before it saved the hub's response when it rejoined with a token,
// and was away so long that the hub forgot the response and closed the token.
func (h *hub) killedRejoining(ctx context.Context, name string) *joined {
	h.t.Helper()
	issuedTo := func() string {
		cluster := &clusterv1alpha1.Cluster{}
		h.g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, cluster)).To(Succeed())
		return cluster.Annotations[contract.CertificateAnnotation]
	}
	stop := h.serve()
	j := h.keeps(ctx, name, 400*day)
	// The agent has its certificate before the hub has recorded it: the next write may not be that of the second join
	// yet.
	h.g.Eventually(issuedTo).WithTimeout(time.Minute).ShouldNot(BeEmpty())
	first := issuedTo()
	stop()
	o := h.options(name, h.created(ctx, "--rejoin", name))
	o.StateDir, o.Member, o.Clock, o.Deadline = j.dir, members(h.t)(name), ahead{by: 400 * day}, time.Second
	_, err := registration.Join(ctx, o)
	h.g.Expect(err).To(MatchError(registration.ErrDeadline))

	h.serve()
	h.g.Eventually(issuedTo).WithTimeout(time.Minute).ShouldNot(Equal(first))
	id, _, _ := strings.Cut(o.Token, ".")
	h.g.Eventually(func() error { // the hub writes it too
		secret := &corev1.Secret{}
		if err := h.Get(ctx, client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(id)}, secret); err != nil {
			return err
		}
		bootstrap.Close(secret)
		return h.Update(ctx, secret)
	}).Should(Succeed())
	var requests certificatesv1.CertificateSigningRequestList
	h.g.Expect(h.List(ctx, &requests)).To(Succeed())
	for i := range requests.Items {
		if strings.HasPrefix(requests.Items[i].Name, name+"-") {
			h.g.Expect(h.Delete(ctx, &requests.Items[i])).To(Succeed())
		}
	}
	return j
}

func TestAnAgentThatWasKilledBeforeItHadWhatItWasCalledBackForIsCalledAgain(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	j := h.killedRejoining(ctx, "killed")
	before := j.onDisk(h.g)
	j.keep(ctx)
	h.g.Consistently(func() []byte { return j.onDisk(h.g).CertData }).WithTimeout(time.Second).Should(Equal(before.CertData))
	h.must(ctx, "token", "create", "--rejoin", "killed")
	h.g.Eventually(func() []byte { return j.onDisk(h.g).CertData }).WithTimeout(2 * time.Minute).ShouldNot(Equal(before.CertData))
	h.g.Expect(j.usedCertificate(ctx, h.g)).NotTo(BeEmpty())
}

// TestAnAgentThatTheHubGivesNoRightsIsCalledBack has a valid certificate of a join that has no rights any more.
func TestAnAgentThatTheHubGivesNoRightsIsCalledBack(t *testing.T) {
	for name, retired := range map[string]bool{"works": false, "had-retired": true} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t)
			ctx := t.Context()
			dir := h.killedRejoining(ctx, name).dir
			credentials, err := registration.OpenCredentials(registration.KeepOptions{StateDir: dir, Clock: clock.RealClock{}, Random: func() float64 { return 1 }})
			h.g.Expect(err).NotTo(HaveOccurred())
			j := &joined{Credentials: credentials, h: h, dir: dir}
			before := j.onDisk(h.g)
			agent, err := client.New(j.Config(), client.Options{Scheme: h.Scheme()})
			h.g.Expect(err).NotTo(HaveOccurred())
			asks := func() error { return agent.Get(ctx, client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{}) }
			// It is also what tells the agent that it was refused: the hub takes the rights of the join before away a moment after it issued.
			h.g.Eventually(asks).WithTimeout(time.Minute).Should(MatchError(apierrors.IsForbidden, "IsForbidden"))

			h.must(ctx, "token", "create", "--rejoin", name)
			if retired {
				h.g.Expect(j.Retire(ctx, &registration.RetiredError{Cluster: name})).To(Succeed())
				waiting, cancel := context.WithTimeout(ctx, 3*time.Minute) // it looks every 30 to 45 s
				defer cancel()
				h.g.Expect(j.Reinstated(waiting)).To(Succeed())
				h.g.Expect(waiting.Err()).NotTo(HaveOccurred(), "it waits for ever")
			} else {
				j.keep(ctx)
			}
			h.g.Eventually(func() []byte { return j.onDisk(h.g).CertData }).WithTimeout(2 * time.Minute).ShouldNot(Equal(before.CertData))
			h.g.Eventually(asks).WithTimeout(time.Minute).Should(Succeed())
		})
	}
}
