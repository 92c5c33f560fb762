package registration

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/test/builder"
	testcluster "fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// hub is the stage on a real API server.
type hub struct {
	client.Client
	t     *testing.T
	g     *WithT
	clock *clocktesting.FakePassiveClock

	mu     sync.Mutex
	events []eventsink.Event
}

func newHub(t *testing.T) *hub {
	t.Helper()
	h := &hub{
		Client: shared(t).Client(t), t: t, g: NewWithT(t), clock: clocktesting.NewFakePassiveClock(time.Now().Truncate(time.Second)),
	}
	// What the hub installs for members about to join.
	meta := metav1.ObjectMeta{Name: "test-agent-bootstrap"}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"certificatesigningrequests"}, Verbs: []string{"create", "get"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: contract.BootstrapGroup}},
	}
	h.g.Expect(client.IgnoreAlreadyExists(h.Create(t.Context(), role))).To(Succeed())
	h.g.Expect(client.IgnoreAlreadyExists(h.Create(t.Context(), binding))).To(Succeed())
	return h
}

func shared(t *testing.T) *testcluster.Cluster {
	t.Helper()
	return testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
}

// as returns a client that impersonates a user.
func (h *hub) as(user string, groups ...string) client.Client {
	config := rest.CopyConfig(shared(h.t).Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	out, err := client.New(config, client.Options{Scheme: h.Scheme()})
	h.g.Expect(err).NotTo(HaveOccurred())
	return out
}

// asAgent returns a client with the identity of an agent from the last join of a cluster.
func (h *hub) asAgent(cluster string) client.Client {
	join := record.JoinOf(h.cluster(h.t.Context(), cluster).Annotations)
	return h.as(contract.AgentUser(cluster), contract.AgentGroup, contract.JoinGroup(join))
}

// joinedCluster returns a Cluster as if its member had joined.
func joinedCluster(name string) *clusterv1alpha1.Cluster {
	out := builder.MakeCluster(name).Obj()
	out.Annotations = map[string]string{contract.JoinedAnnotation: `{"id":"join-of-` + name + `"}`}
	return out
}

// indexed finds requests by their user, as the hub's cache does. An API server has no such index.
type indexed struct{ client.Client }

// List implements client.Reader.
func (i indexed) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	requests, ok := list.(*certificatesv1.CertificateSigningRequestList)
	if !ok || options.FieldSelector == nil {
		return i.Client.List(ctx, list, opts...)
	}
	user, found := options.FieldSelector.RequiresExactMatch(requestsByUser)
	options.FieldSelector = nil
	if err := i.Client.List(ctx, list, options); err != nil || !found {
		return err
	}
	requests.Items = slices.DeleteFunc(requests.Items, func(csr certificatesv1.CertificateSigningRequest) bool { return !slices.Contains(userOf(&csr), user) })
	return nil
}

// stage returns a stage that has just started.
func (h *hub) stage(c client.Client) *Reconciler {
	r, err := New(indexed{c}, c, Deps{ExecutionNamespacePrefix: contract.DefaultExecutionNamespacePrefix, Clock: h.clock, Events: func(e eventsink.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, e)
	}})
	h.g.Expect(err).NotTo(HaveOccurred())
	return r
}

// try reconciles a request once.
func (h *hub) try(ctx context.Context, r *Reconciler, name string) error {
	_, err := kube.QuietConflicts(reconcile.AsReconciler(r.hubClient, r)).Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	return err
}

func (h *hub) token(ctx context.Context, cluster string) bootstrap.Token {
	token, err := bootstrap.New(rand.Reader, cluster, h.clock.Now().Add(time.Hour))
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(h.Create(ctx, bootstrap.NewSecret(token))).To(Succeed())
	return token
}

// ask creates the request of a member that has a token, and returns its name.
func (h *hub) ask(ctx context.Context, token bootstrap.Token, cluster, memberID string) string {
	return h.askAs(ctx, h.as(contract.BootstrapUserPrefix+token.ID, "system:bootstrappers", contract.BootstrapGroup), cluster, memberID, "")
}

// askAs requests a certificate for a join; if join is empty, for one created along with the request.
func (h *hub) askAs(ctx context.Context, c client.Client, cluster, memberID, join string) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h.g.Expect(err).NotTo(HaveOccurred())
	return h.askWith(ctx, c, key, cluster, memberID, join)
}

// askWith requests a certificate for a key.
func (h *hub) askWith(ctx context.Context, c client.Client, key *ecdsa.PrivateKey, cluster, memberID, join string) string {
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	h.g.Expect(err).NotTo(HaveOccurred())
	join = cmp.Or(join, contract.JoinID(public))
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{
		CommonName: contract.AgentUser(cluster), Organization: []string{contract.AgentGroup, contract.JoinGroup(join)},
	}}, key)
	h.g.Expect(err).NotTo(HaveOccurred())
	csr := &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{
			Name:        strings.ToLower(fmt.Sprintf("%s-%s", cluster, rand.Text())),
			Annotations: map[string]string{contract.MemberIDAnnotation: memberID},
		},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},

			ExpirationSeconds: new(int32(contract.CertificateLifetimeSeconds)),
		},
	}
	h.g.Eventually(func() error { return c.Create(ctx, csr) }).WithTimeout(time.Minute).Should(Succeed())
	return csr.Name
}

// namespace creates the execution namespace, as the cluster stage would.
func (h *hub) namespace(ctx context.Context, cluster string) {
	err := h.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "karmada-es-" + cluster}})
	h.g.Expect(client.IgnoreAlreadyExists(err)).To(Succeed())
}

// verdict returns the type and the reason of the decision.
func (h *hub) verdict(ctx context.Context, name string) (verdict, reason string) {
	csr := &certificatesv1.CertificateSigningRequest{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, csr)).To(Succeed())
	for _, c := range csr.Status.Conditions {
		h.g.Expect(verdict).To(BeEmpty(), "one decision")
		verdict, reason = string(c.Type), c.Reason
	}
	return verdict, reason
}

func (h *hub) secret(ctx context.Context, token bootstrap.Token) *corev1.Secret {
	out := &corev1.Secret{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(token.ID)}, out)).To(Succeed())
	return out
}
