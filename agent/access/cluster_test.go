package access_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/access"
	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/test/cluster"
)

const waitTimeout = time.Minute

// world is a member cluster whose RBAC allows group fairlead:ops everything, so only the owner's rules restrict the
// operators.
type world struct {
	api    *cluster.Cluster
	client client.Client
	shop   string // a namespace that operators are let into
	web    string // one that they are not
	url    string
	dir    string
	clock  *testingclock.FakeClock
	// installer does what the command `agent operators` does.
	installer *install.Installer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	g := NewWithT(t)
	ctrl.SetLogger(logr.Discard())
	api := cluster.Start(t, cluster.Options{})
	w := &world{api: api, client: api.Client(t), shop: api.Namespace(t), web: api.Namespace(t), dir: t.TempDir(), clock: testingclock.NewFakeClock(time.Now())}
	g.Expect(w.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operators"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{
			{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "fairlead:ops"}, {Kind: "ServiceAccount", Namespace: w.shop, Name: "argo"},
		},
	})).To(Succeed())
	for _, namespace := range []string{w.shop, w.web} {
		g.Expect(w.client.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "argo"}})).To(Succeed())
		g.Expect(w.client.Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0"},
			Spec:       corev1.PodSpec{ServiceAccountName: "argo", Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		})).To(Succeed())
		g.Expect(w.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "token"}})).To(Succeed())
	}
	var err error
	w.installer, err = install.New(api.Config)
	g.Expect(err).NotTo(HaveOccurred())
	h, err := access.New(t.Context(), access.Options{Cluster: "edge-1", Member: api.Config, StateDir: w.dir, Clock: w.clock})
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		g.Expect(<-ended).To(Succeed())
	})
	w.url = server.URL
	return w
}

// allow makes the owner allow something, and waits until the agent knows it.
func (w *world) allow(t *testing.T, o manifest.Operators) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(w.installer.LetIn(t.Context(), o, func(string) {})).To(Succeed())
	w.clock.Step(time.Minute)
}

// ask sends a request "METHOD PATH" of an operator, in a group if it is named; METHOD+ upgrades.
func (w *world) ask(t *testing.T, request, user string, groups ...string) (int, string) {
	t.Helper()
	answer := w.open(t, request, user, groups...)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(body)
}

func (w *world) open(t *testing.T, text, user string, groups ...string) *http.Response {
	t.Helper()
	g := NewWithT(t)
	method, path, _ := strings.Cut(text, " ")
	method, upgrades := strings.CutSuffix(method, "+")
	path, body, _ := strings.Cut(path, " ")
	request, err := http.NewRequestWithContext(t.Context(), method, w.url+"/proxy"+path, strings.NewReader(body))
	g.Expect(err).NotTo(HaveOccurred())
	request.Header = http.Header{"Content-Type": {"application/json"}, "Fairlead-User": {user}, "Fairlead-Group": groups}
	// A hostile operator sends impersonation headers: they must have no effect.
	request.Header["Impersonate-User"] = []string{"system:admin"}
	request.Header["Impersonate-Group"] = []string{"system:masters"}
	request.Header["X-Remote-User"] = []string{"system:admin"}
	if upgrades {
		for name, value := range map[string]string{
			"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
		} {
			request.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	return answer
}

// account sends requests to the API server as fairlead-connect does, bypassing the agent, impersonating somebody.
func (w *world) account(t *testing.T, as rest.ImpersonationConfig) *http.Client {
	t.Helper()
	g := NewWithT(t)
	request := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-system", Name: "fairlead-connect"}}
	g.Expect(w.client.SubResource("token").Create(t.Context(), account, request)).To(Succeed())
	config := rest.AnonymousClientConfig(w.api.Config)
	config.BearerToken, config.Impersonate = request.Status.Token, as
	out, err := rest.HTTPClientFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	return out
}

func (w *world) direct(t *testing.T, as rest.ImpersonationConfig, text string) int {
	t.Helper()
	g := NewWithT(t)
	method, path, _ := strings.Cut(text, " ")
	request, err := http.NewRequestWithContext(t.Context(), method, w.api.Config.Host+path, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := w.account(t, as).Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

func TestOperatorsDoWhatTheOwnerAllows(t *testing.T) { //nolint:paralleltest // There is one owner, who changes their mind.
	g, w := NewWithT(t), newWorld(t)
	pods, others := "/api/v1/namespaces/"+w.shop+"/pods", "/api/v1/namespaces/"+w.web+"/pods"
	const forbidden = http.StatusForbidden
	expect := func(want int, request, user string, groups ...string) {
		t.Helper()
		// The API server's authorizer lags a moment behind changes of RBAC.
		g.Eventually(func(g Gomega) {
			code, body := w.ask(t, request, user, groups...)
			g.Expect(code).To(Equal(want), request+": "+body)
		}).WithTimeout(waitTimeout).Should(Succeed())
	}

	// Nobody is let in before the owner allows it.
	code, body := w.ask(t, "GET "+pods, "alice", "ops")
	g.Expect(code).To(Equal(forbidden))
	g.Expect(body).To(ContainSubstring("edge-1: its owner lets no operators in"))

	ops := manifest.Operators{Who: []string{"group:ops"}, In: []string{w.shop}}
	w.allow(t, ops)
	expect(http.StatusOK, "GET "+pods+"/web-0", "alice", "ops")
	expect(http.StatusOK, "GET /apis", "alice", "ops")
	code, body = w.ask(t, `POST /apis/authentication.k8s.io/v1/selfsubjectreviews {"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`, "alice", "dev", "ops", "system:masters")
	g.Expect(code).To(Equal(http.StatusCreated), body)
	g.Expect(body).To(And(ContainSubstring(`"username":"fairlead:alice"`), ContainSubstring(`"groups":["fairlead:ops","system:authenticated"]`)))
	for request, want := range map[string]int{
		"GET " + others: forbidden, "GET /api/v1/pods": forbidden, "GET /api/v1/nodes": forbidden, "GET /api/v1/namespaces/" + w.shop + "/secrets": forbidden,
		"DELETE " + pods + "/web-0": forbidden, "GET+ " + pods + "/web-0/exec?command=sh": forbidden, "GET " + pods + "/web-0/exec?command=sh": forbidden,
		"POST " + pods + "/web-0/attach": forbidden, "GET+ " + pods + "?watch=1": forbidden, "GET " + pods + "/web-0/proxy/": forbidden, "GET /metrics": forbidden,
		"GET " + pods + "/../../" + w.web + "/pods": http.StatusBadRequest, "GET /api/v1/namespaces/" + w.shop + "%2f..%2f" + w.web + "/pods": http.StatusBadRequest,
		"GET //api/v1/nodes": http.StatusBadRequest, "GET /api/v1/proxy/nodes/n": http.StatusBadRequest,
		"POST /api/v1/namespaces/" + w.shop + "/serviceaccounts/argo/token": forbidden,
	} {
		expect(want, request, "alice", "ops")
	}
	expect(forbidden, "GET "+pods, "bob", "dev")
	expect(forbidden, "GET "+pods, "bob", "system:masters")
	expect(forbidden, "GET "+pods, "system:admin", "ops")
	expect(forbidden, "GET "+pods, "system:serviceaccount:"+w.shop+":argo", "ops")

	// RBAC in the API server enforces the same: if the agent let everything through, it would still be refused.
	alice := rest.ImpersonationConfig{UserName: "fairlead:alice", Groups: []string{"fairlead:ops"}}
	g.Expect(w.direct(t, alice, "GET "+pods)).To(Equal(http.StatusOK))
	for _, request := range []string{
		"GET " + others, "GET /api/v1/pods", "GET /api/v1/nodes", "GET /api/v1/namespaces/" + w.shop + "/secrets", "DELETE " + pods + "/web-0", "GET /metrics",
		"GET " + pods + "/web-0/exec?command=sh", "POST " + pods + "/web-0/exec?command=sh", "GET " + pods + "/web-0/proxy/",
		"POST /api/v1/namespaces/" + w.shop + "/serviceaccounts/argo/token",
	} {
		g.Expect(w.direct(t, alice, request)).To(Equal(forbidden), request)
	}
	for _, as := range []rest.ImpersonationConfig{
		{},
		{UserName: "fairlead:alice", Groups: []string{"fairlead:dev"}},
		{UserName: "fairlead:alice", Groups: []string{"system:masters"}},
		{UserName: "system:serviceaccount:" + w.shop + ":argo"},
		{UserName: "system:node:n"},
		{UserName: "fairlead:alice", UID: "1"},
	} {
		g.Expect(w.direct(t, as, "GET "+pods)).To(Equal(forbidden), as.UserName+" "+strings.Join(as.Groups, ","))
	}

	// What the owner names in addition passes the agent and the API server, and is recorded first.
	ops.May = []string{"exec", "secrets", "write"}
	w.allow(t, ops)
	expect(http.StatusOK, "GET /api/v1/namespaces/"+w.shop+"/secrets", "alice", "ops")
	expect(forbidden, "GET /api/v1/namespaces/"+w.web+"/secrets", "alice", "ops")
	expect(forbidden, "GET+ "+pods+"/web-0/portforward", "alice", "ops")
	expect(http.StatusBadRequest, "GET+ "+pods+"/web-0/exec?command=sh", "alice", "ops")
	_, body = w.ask(t, "GET+ "+pods+"/web-0/exec?command=sh", "alice", "ops")
	g.Expect(body).To(ContainSubstring("does not have a host assigned"), "it came as far as there is a kubelet")
	expect(http.StatusCreated, "POST /api/v1/namespaces/"+w.shop+`/configmaps {"metadata":{"name":"a"}}`, "alice", "ops")
	expect(http.StatusOK, "DELETE /api/v1/namespaces/"+w.shop+"/configmaps/a", "alice", "ops")
	expect(forbidden, "POST /api/v1/namespaces/"+w.web+`/configmaps {"metadata":{"name":"a"}}`, "alice", "ops")
	recorded, err := os.ReadFile(filepath.Join(w.dir, "access", "changes.jsonl"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(recorded)).To(And(ContainSubstring(`"verb":"delete","object":"configmaps `+w.shop+`/a"`), ContainSubstring(`"query":"command=sh"`), ContainSubstring("secrets in "+w.shop)))

	// A watch ends when its namespace is taken back.
	watch := w.open(t, "GET "+pods+"?watch=true", "alice", "ops")
	defer func() { _ = watch.Body.Close() }()
	g.Expect(watch.StatusCode).To(Equal(http.StatusOK))
	w.allow(t, manifest.Operators{Who: []string{"group:ops"}, In: []string{w.web}})
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, watch.Body)
		close(ended)
	}()
	g.Eventually(ended).WithTimeout(waitTimeout).Should(BeClosed())
	expect(forbidden, "GET "+pods, "alice", "ops")
	expect(http.StatusOK, "GET "+others, "alice", "ops")

	// The same user and group names, and a ServiceAccount by its user name, whose groups the API server adds.
	w.allow(t, manifest.Operators{Who: []string{"user:system:serviceaccount:" + w.shop + ":argo"}, Identity: "same"})
	expect(http.StatusOK, "GET /api/v1/nodes", "system:serviceaccount:"+w.shop+":argo", "ops")
	expect(forbidden, "GET /api/v1/nodes", "system:serviceaccount:"+w.web+":argo", "ops")
	g.Expect(w.direct(t, rest.ImpersonationConfig{UserName: "system:serviceaccount:" + w.web + ":argo"}, "GET /api/v1/nodes")).To(Equal(forbidden), "of that name in another namespace")

	// The legacy impersonation rules, with which only the agent restricts verbs and namespaces.
	w.allow(t, manifest.Operators{Who: []string{"group:ops"}, In: []string{w.shop}, Legacy: true})
	expect(http.StatusOK, "GET "+pods, "alice", "ops")
	expect(forbidden, "GET "+others+"/web-0/log", "alice", "ops")
	expect(forbidden, "DELETE "+pods+"/web-0", "alice", "ops")
	g.Expect(w.direct(t, rest.ImpersonationConfig{UserName: "fairlead:alice", Groups: []string{"system:masters"}}, "GET "+pods)).To(Equal(forbidden))
	g.Expect(w.installer.IsLegacy(t.Context())).To(BeFalse(), "that of this member is newer")

	// If one rule cannot be written, none is: the earlier rules stay in force and the caller gets the reason.
	err = w.installer.LetIn(t.Context(), manifest.Operators{Who: []string{"user:mallory"}, In: []string{"nowhere"}}, func(step string) { t.Error(step) })
	g.Expect(err).To(MatchError(ContainSubstring("namespace nowhere, into which operators should be let, is not in this cluster")))
	expect(http.StatusOK, "GET "+pods, "alice", "ops")
	expect(forbidden, "GET "+pods, "mallory")

	// Off removes everything: the account, and with it its tokens.
	account := w.account(t, alice)
	w.allow(t, manifest.Operators{})
	expect(forbidden, "GET "+pods, "alice", "ops")
	g.Eventually(func(g Gomega) {
		answer, err := account.Get(w.api.Config.Host + pods)
		g.Expect(err).NotTo(HaveOccurred())
		defer func() { _ = answer.Body.Close() }()
		g.Expect(answer.StatusCode).To(Equal(http.StatusUnauthorized))
	}).WithTimeout(waitTimeout).Should(Succeed())
	for _, list := range []client.ObjectList{&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &corev1.ConfigMapList{}} {
		g.Expect(w.client.List(t.Context(), list, client.MatchingLabels{manifest.NameLabel: manifest.Name})).To(Succeed())
		g.Expect(meta.LenList(list)).To(BeZero())
	}
}
