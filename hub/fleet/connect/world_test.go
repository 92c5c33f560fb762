package connect

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/line"
	"fairlead.dev/hub/fleet/connect/lines"
	"fairlead.dev/test/builder"
	testcluster "fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { testcluster.Main(m) }

// waitTimeout is how long tests wait for what must happen.
const waitTimeout = time.Minute

// world is a hub with the server, behind a real API server.
type world struct {
	client.Client
	t      *testing.T
	g      *WithT
	api    *testcluster.Cluster
	server *Server
	addr   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	api := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{authorizationv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme, clusterv1alpha1.AddToScheme} {
		g.Expect(add(scheme)).To(Succeed())
	}
	hub, err := client.New(api.Config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	mgr := stagetest.Manager(t, api.Config)
	w := &world{Client: hub, t: t, g: g, api: api}
	w.server, err = New(Deps{
		Clusters: mgr.GetClient(), HubReader: hub, Lines: lines.New(), Replica: "hub-0", Clock: clock.RealClock{}, Registry: prometheus.NewRegistry(),
		Log: logr.Discard(), Presence: func() string { return contract.LineIsPresence },
		Review: func(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (bool, error) {
			review := &authorizationv1.SubjectAccessReview{Spec: spec}
			err := hub.Create(ctx, review)
			return review.Status.Allowed, err
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	clusters, err := mgr.GetCache().GetInformer(t.Context(), &clusterv1alpha1.Cluster{})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = clusters.AddEventHandler(w.server.FollowClusters())
	g.Expect(err).NotTo(HaveOccurred())
	stagetest.Run(t, mgr)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	w.addr = l.Addr().String()
	_, port, _ := net.SplitHostPort(w.addr)
	place := Place{Namespace: metav1.NamespaceSystem, Name: EmbeddedService, Loopback: true}
	_, err = fmt.Sscan(port, &place.Port)
	g.Expect(err).NotTo(HaveOccurred())
	var pair tls.Certificate
	g.Eventually(func() error { // the API server creates its namespaces shortly after it is ready
		pair, err = Install(t.Context(), hub, place, time.Now())
		return err
	}, waitTimeout, "50ms").Should(Succeed())
	again, err := Install(t.Context(), hub, place, time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.Certificate).To(Equal(pair.Certificate), "replicas have one certificate")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- w.server.Serve(ctx, l, pair) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serving: %v", err)
		}
	})
	admin := w.as("admin", "system:masters")
	g.Eventually(func() int { return admin.do(http.MethodGet, contract.ConnectAPIPath, nil).code }, waitTimeout, "50ms").Should(Equal(http.StatusOK))
	return w
}

// directory returns the Leases of replicas.
func (w *world) directory() Replicas { return Replicas{HubClient: w.Client, Clock: clock.RealClock{}} }

// join creates a Cluster as if a member had joined, and grants its agent the rights of that join.
func (w *world) join(name string) {
	w.t.Helper()
	cluster := builder.MakeCluster(name).Obj()
	cluster.Annotations = map[string]string{contract.JoinedAnnotation: `{"id":"join-of-` + name + `"}`}
	w.g.Expect(w.Create(w.t.Context(), cluster)).To(Succeed())
	w.allow("attach-"+name, rbacv1.Subject{Kind: rbacv1.GroupKind, Name: contract.JoinGroup("join-of-" + name)}, rbacv1.PolicyRule{
		Verbs: []string{"create"}, APIGroups: []string{contract.ConnectGroup}, Resources: []string{"lines/attach"}, ResourceNames: []string{name},
	})
}

// allow grants rights.
func (w *world) allow(name string, who rbacv1.Subject, rule rbacv1.PolicyRule) {
	w.t.Helper()
	who.APIGroup = rbacv1.GroupName
	meta := metav1.ObjectMeta{Name: "test-connect-" + name}
	w.g.Expect(w.Create(w.t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}})).To(Succeed())
	w.g.Expect(w.Create(w.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{who}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
	})).To(Succeed())
	w.t.Cleanup(func() {
		ctx := context.WithoutCancel(w.t.Context())
		_ = w.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta})
		_ = w.Delete(ctx, &rbacv1.ClusterRole{ObjectMeta: meta})
	})
}

// person sends requests to the API server as a user.
type person struct {
	w      *world
	name   string
	groups []string
}

func (w *world) as(name string, groups ...string) person { return person{w, name, groups} }

func (w *world) agent(cluster string) person {
	return w.as(contract.AgentUser(cluster), contract.JoinGroup("join-of-"+cluster))
}

// reply is a response whose body was read.
type reply struct {
	code   int
	header http.Header
	body   string
}

// request returns a request of the user.
func (p person) request(method, path string, header http.Header) *http.Request {
	p.w.t.Helper()
	u, err := url.Parse(p.w.api.Config.Host)
	p.w.g.Expect(err).NotTo(HaveOccurred())
	path, query, _ := strings.Cut(path, "?")
	u.Path, u.RawQuery = path, query
	req, err := http.NewRequestWithContext(p.w.t.Context(), method, u.String(), http.NoBody)
	p.w.g.Expect(err).NotTo(HaveOccurred())
	maps.Copy(req.Header, header)
	req.Header.Set("Impersonate-User", p.name)
	for _, group := range append([]string{"system:authenticated"}, p.groups...) {
		req.Header.Add("Impersonate-Group", group)
	}
	return req
}

// do sends a request and reads the response.
func (p person) do(method, path string, header http.Header) reply {
	p.w.t.Helper()
	resp := p.w.send(p.request(method, path, header))
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// send sends a request to the API server.
func (w *world) send(req *http.Request) *http.Response {
	w.t.Helper()
	transport, err := rest.TransportFor(w.api.Config)
	w.g.Expect(err).NotTo(HaveOccurred())
	resp, err := transport.RoundTrip(req)
	w.g.Expect(err).NotTo(HaveOccurred())
	return resp
}

// upgrade sends an upgrade request over its own connection.
func (p person) upgrade(method, path, protocol string, header http.Header) (net.Conn, *bufio.Reader, *http.Response) {
	p.w.t.Helper()
	config, err := rest.TLSConfigFor(p.w.api.Config)
	p.w.g.Expect(err).NotTo(HaveOccurred())
	config.NextProtos = []string{"http/1.1"}
	u, err := url.Parse(p.w.api.Config.Host)
	p.w.g.Expect(err).NotTo(HaveOccurred())
	conn, err := (&tls.Dialer{Config: config}).DialContext(p.w.t.Context(), "tcp", u.Host)
	p.w.g.Expect(err).NotTo(HaveOccurred())
	p.w.t.Cleanup(func() { _ = conn.Close() })
	p.w.g.Expect(conn.SetDeadline(time.Now().Add(2 * waitTimeout))).To(Succeed())
	req := p.request(method, path, header)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol)
	p.w.g.Expect(req.Write(conn)).To(Succeed())
	reader := bufio.NewReader(conn)
	resp, err := http.ReadResponse(reader, req)
	p.w.g.Expect(err).NotTo(HaveOccurred())
	return conn, reader, resp
}

// attach opens the line of a cluster and serves it until the line ends; ended receives the error.
func (w *world) attach(cluster, session string, handler http.Handler) (header http.Header, ended chan error, stop func()) {
	w.t.Helper()
	var conn net.Conn
	var reader *bufio.Reader
	var resp *http.Response
	w.g.Eventually(func() int {
		conn, reader, resp = w.agent(cluster).upgrade(http.MethodPost, contract.LineAttachPath(cluster), contract.LineProtocol, http.Header{ //nolint:bodyclose // What upgrades ends with its connection.
			contract.LineSessionHeader: {session}, contract.LineOperatorsHeader: {"read"}, "Audit-Id": {"line-of-" + cluster + "-" + session},
		})
		return resp.StatusCode
	}, waitTimeout, "20ms").ShouldNot(Equal(http.StatusForbidden), "the API learns a moment later what was allowed")
	if resp.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(resp.Body)
		w.t.Fatalf("%d: %s", resp.StatusCode, body)
	}
	w.g.Expect(reader.Buffered()).To(BeZero(), "the hub speaks first only once the line is open, and then the client of HTTP/2 does")
	w.g.Expect(conn.SetDeadline(time.Time{})).To(Succeed())
	ctx, cancel := context.WithCancel(w.t.Context())
	ended = make(chan error, 1)
	go func() {
		ended <- line.Serve(ctx, line.Buffered(conn, reader), handler, line.ServerOptions{})
	}()
	w.t.Cleanup(cancel)
	w.g.Eventually(func() bool { s, ok := w.server.Lines.State(cluster); return ok && s.Up }, waitTimeout, "20ms").Should(BeTrue())
	return resp.Header, ended, cancel
}
