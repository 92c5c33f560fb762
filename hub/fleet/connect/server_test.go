package connect

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
)

// member is an agent that reports what it was asked, and also answers as a hostile one would.
func member() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(contract.LineSelfPath, func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Upgrade") != "":
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
			_, _ = io.Copy(conn, conn)
		case r.URL.Path == "/proxy/away":
			http.Redirect(w, r, "https://evil.example", http.StatusFound)
		case r.URL.Path == "/proxy/unauthorized":
			http.Error(w, "who are you", http.StatusUnauthorized)
		default:
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("Www-Authenticate", "Basic")
			w.Header().Set("Warning", `299 - "managed"`)
			seen, _ := httputil.DumpRequest(r, true)
			_ = json.NewEncoder(w).Encode(map[string]any{"uri": r.RequestURI, "header": r.Header, "method": r.Method, "dump": string(seen)})
		}
	})
	return mux
}

// TestServer is one test, because its environment is slow to start.
func TestServer(t *testing.T) {
	w := newWorld(t)
	g := w.g
	admin := w.as("admin", "system:masters")
	w.join("edge-1")
	w.join("edge-2")
	proxy := contract.ClusterProxyPath("edge-1")
	message := func(r reply) string {
		status := metav1.Status{}
		g.Expect(json.Unmarshal([]byte(r.body), &status)).To(Succeed(), r.body)
		g.Expect(status.Kind).To(Equal("Status"))
		g.Expect(int(status.Code)).To(Equal(r.code))
		return status.Message
	}

	// Before there is a line.
	g.Expect(message(admin.do(http.MethodGet, contract.ClusterProxyPath("edge-9"), nil))).To(Equal("there is no cluster edge-9"))
	g.Expect(message(admin.do(http.MethodGet, contract.ClusterProxyPath("*"), nil))).To(ContainSubstring("name one"))
	away := admin.do(http.MethodGet, proxy, nil)
	g.Expect(away.code).To(Equal(http.StatusServiceUnavailable))
	g.Expect(away.header.Get("Retry-After")).NotTo(BeEmpty())
	g.Expect(message(away)).To(ContainSubstring("edge-1 is not connected"))

	// Only the API server may reach the server.
	_, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}).Get("https://" + w.addr + "/apis") //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(err).To(HaveOccurred())

	// An agent may open its own line, and no other.
	_, _, resp := w.agent("edge-2").upgrade(http.MethodPost, contract.LineAttachPath("edge-1"), contract.LineProtocol, nil) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(resp.StatusCode).To(Equal(http.StatusForbidden))
	_, _, resp = admin.upgrade(http.MethodPost, contract.LineAttachPath("edge-1"), contract.LineProtocol, nil) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(resp.StatusCode).To(Equal(http.StatusForbidden), "nor does an administrator")
	g.Expect(w.agent("edge-1").do(http.MethodPost, contract.LineAttachPath("edge-1"), nil).code).To(Equal(http.StatusBadRequest))
	header, ended, _ := w.attach("edge-1", "s1", member())
	// The request appears in the audit log at once: it ends when the line is open, so the API server holds nothing for
	// it any longer.
	g.Eventually(func() ([]byte, error) { return os.ReadFile(filepath.Join(w.api.DataDir, "audit", "audit.log")) }, waitTimeout, "50ms").
		Should(MatchRegexp(`"auditID":"line-of-edge-1-s1".*"subresource":"attach".*"code":101`))
	g.Expect(ended).NotTo(Receive())
	g.Expect(header.Get(contract.LineReplicaHeader)).To(Equal("hub-0"))
	g.Expect(header.Get(contract.LinePresenceHeader)).To(Equal(contract.LineIsPresence))
	_, _, resp = w.agent("edge-1").upgrade(http.MethodPost, contract.LineAttachPath("edge-1"), contract.LineProtocol, http.Header{contract.LineSessionHeader: {"s2"}}) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(resp.StatusCode).To(Equal(http.StatusConflict), "a thief does not displace the agent")

	// The list of lines.
	list := admin.do(http.MethodGet, contract.ConnectAPIPath+"/lines?fieldSelector=metadata.name%3Dedge-1", nil)
	g.Expect(list.body).To(And(ContainSubstring(`"kind":"LineList"`), ContainSubstring(`"up":true`), ContainSubstring(`"operators":"read"`)))
	g.Expect(list.body).NotTo(ContainSubstring("s1"), "sessions are between agent and hub")
	table := admin.do(http.MethodGet, contract.ConnectAPIPath+"/lines/edge-1", http.Header{"Accept": {"application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}})
	g.Expect(table.body).To(And(ContainSubstring(`"kind":"Table"`), ContainSubstring(`"cells":["edge-1","up `)))
	g.Expect(admin.do(http.MethodDelete, contract.ConnectAPIPath+"/lines/edge-1", nil).code).To(Equal(http.StatusMethodNotAllowed))

	// A request passes, without the headers that an operator may not set.
	w.allow("alice-reads", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "alice"}, rbacv1.PolicyRule{
		Verbs: []string{"get"}, APIGroups: []string{contract.ConnectGroup}, Resources: []string{"clusters/proxy"}, ResourceNames: []string{"edge-1"},
	})
	alice := w.as("alice", "ops")
	var got reply
	g.Eventually(func() int { // RBAC takes a moment to take effect
		got = alice.do(http.MethodGet, proxy+"/api/v1/pods?limit=5&labelSelector=a%3Db", http.Header{
			"Fairlead-User": {"root"}, "Fairlead-Hop": {"1"}, "X-Remote-User": {"root"}, "Cookie": {"a=b"}, "Audit-Id": {"a-1"}, "X-Forwarded-For": {"6.6.6.6"},
		})
		return got.code
	}, waitTimeout, "50ms").Should(Equal(http.StatusOK))
	seen := struct {
		URI    string      `json:"uri"`
		Header http.Header `json:"header"`
	}{}
	g.Expect(json.Unmarshal([]byte(got.body), &seen)).To(Succeed())
	g.Expect(seen.URI).To(Equal("/proxy/api/v1/pods?labelSelector=a%3Db&limit=5"))
	g.Expect(seen.Header).To(HaveKeyWithValue(contract.UserHeader, []string{"alice"}))
	g.Expect(seen.Header[contract.GroupHeader]).To(ConsistOf("ops", "system:authenticated"))
	g.Expect(seen.Header.Get(contract.RequestHeader)).NotTo(BeEmpty())
	g.Expect(seen.Header.Get("Audit-Id")).NotTo(BeEmpty())
	for _, name := range []string{"X-Remote-User", "X-Remote-Group", "Impersonate-User", "Cookie", "X-Forwarded-For", "Authorization", "Fairlead-Hop"} {
		g.Expect(seen.Header).NotTo(HaveKey(name))
	}
	g.Expect(got.header).NotTo(HaveKey("Set-Cookie"))
	g.Expect(got.header).NotTo(HaveKey("Www-Authenticate"))
	g.Expect(got.header.Get("Warning")).To(ContainSubstring("managed"))
	g.Expect(admin.do(http.MethodGet, proxy+"/away", nil).code).To(Equal(http.StatusBadGateway))
	g.Expect(admin.do(http.MethodGet, proxy+"/unauthorized", nil).code).To(Equal(http.StatusBadGateway))
	g.Expect(alice.do(http.MethodPost, proxy+"/api/v1/pods", nil).code).To(Equal(http.StatusForbidden))
	g.Expect(alice.do(http.MethodGet, contract.ClusterProxyPath("edge-2"), nil).code).To(Equal(http.StatusForbidden))

	// The right to read does not include running commands.
	_, _, resp = alice.upgrade(http.MethodGet, proxy+"/exec", "websocket", nil) //nolint:bodyclose // What upgrades ends with its connection.
	g.Expect(resp.StatusCode).To(Equal(http.StatusForbidden))
	w.allow("bob-runs", rbacv1.Subject{Kind: rbacv1.UserKind, Name: "bob"}, rbacv1.PolicyRule{
		Verbs: []string{"get", "create"}, APIGroups: []string{contract.ConnectGroup}, Resources: []string{"clusters/proxy"}, ResourceNames: []string{"edge-1"},
	})
	var conn net.Conn
	var reader *bufio.Reader
	g.Eventually(func() int { // here too
		conn, reader, resp = w.as("bob").upgrade(http.MethodGet, proxy+"/exec", "websocket", nil) //nolint:bodyclose // What upgrades ends with its connection.
		return resp.StatusCode
	}, waitTimeout, "50ms").Should(Equal(http.StatusSwitchingProtocols))
	echo := make([]byte, 5)
	_, err = conn.Write([]byte("hello"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadFull(reader, echo)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(echo)).To(Equal("hello"))

	// A stream ends when the right to it does: the server checks by itself, because not every API server does.
	w.server.reviewOnce(t.Context(), 0)
	_, err = conn.Write([]byte("still"))
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.ReadFull(reader, echo)
	g.Expect(err).NotTo(HaveOccurred(), "whoever has the right keeps the stream")
	g.Expect(w.Delete(t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "test-connect-bob-runs"}})).To(Succeed())
	g.Eventually(func() int {
		w.server.reviewOnce(t.Context(), 0)
		return w.server.streams.Open()
	}, waitTimeout, "50ms").Should(BeZero())
	_, err = io.ReadAll(reader)
	_ = err // how the stream ends depends on the API server

	// A line ends with its Cluster.
	cluster := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1"}}
	g.Expect(client.IgnoreNotFound(w.Delete(t.Context(), cluster))).To(Succeed())
	g.Eventually(ended, waitTimeout).Should(Receive())
	g.Eventually(func() int { return admin.do(http.MethodGet, proxy, nil).code }, waitTimeout, "50ms").Should(Equal(http.StatusNotFound))
	_, known := w.server.Lines.State("edge-1")
	g.Expect(known).To(BeFalse())

	// The agent's report says why it has no line.
	silent := &clusterv1alpha1.Cluster{}
	g.Expect(w.Get(t.Context(), client.ObjectKey{Name: "edge-2"}, silent)).To(Succeed())
	silent.Status.Agent = &clusterv1alpha1.AgentReport{Time: metav1.Now(), Started: metav1.Now(), NoLine: "its agent runs with --line=false"}
	g.Expect(w.Status().Update(t.Context(), silent)).To(Succeed())
	g.Eventually(func() string {
		return message(admin.do(http.MethodGet, contract.ClusterProxyPath("edge-2"), nil))
	}, waitTimeout, "50ms").Should(ContainSubstring("edge-2 is not connected: its agent runs with --line=false"))
	g.Expect(w.Get(t.Context(), client.ObjectKey{Name: "edge-2"}, silent)).To(Succeed())
	silent.Status.Agent.NoLine = ""
	g.Expect(w.Status().Update(t.Context(), silent)).To(Succeed())

	// An agent that stops says goodbye, and one that has rejoined takes over the line of its predecessor.
	_, _, stop := w.attach("edge-2", "s1", member())
	stop()
	g.Eventually(func() bool { s, _ := w.server.Lines.State("edge-2"); return !s.Up && s.Goodbye }, waitTimeout, "20ms").Should(BeTrue())
	g.Eventually(func() string {
		return message(admin.do(http.MethodGet, contract.ClusterProxyPath("edge-2"), nil))
	}, waitTimeout, "50ms").Should(ContainSubstring("edge-2 is not connected: its agent was stopped"))
	_, ended, _ = w.attach("edge-2", "s2", member())
	anew := &clusterv1alpha1.Cluster{}
	g.Expect(w.Get(t.Context(), client.ObjectKey{Name: "edge-2"}, anew)).To(Succeed())
	anew.Annotations[contract.JoinedAnnotation] = `{"id":"another"}`
	g.Expect(w.Update(t.Context(), anew)).To(Succeed())
	g.Eventually(ended, waitTimeout).Should(Receive())
	g.Expect(w.Delete(t.Context(), anew)).To(Succeed())

	// A hub that serves no lines removes the APIService that made the API server forward requests, but none of somebody
	// else's.
	api := &unstructured.Unstructured{}
	api.SetAPIVersion("apiregistration.k8s.io/v1")
	api.SetKind("APIService")
	key := client.ObjectKey{Name: contract.ConnectVersion + "." + contract.ConnectGroup}
	mark := func(value string) {
		g.Expect(w.Get(t.Context(), key, api)).To(Succeed())
		api.SetLabels(map[string]string{contract.SystemLabel: value})
		g.Expect(w.Update(t.Context(), api)).To(Succeed())
	}
	mark("false")
	g.Expect(Uninstall(t.Context(), w)).To(BeFalse())
	mark(contract.LabelTrue)
	g.Expect(Uninstall(t.Context(), w)).To(BeTrue())
	g.Expect(w.Get(t.Context(), key, api)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
	for name, left := range map[string]client.Object{EmbeddedService: &corev1.Service{}, certificateSecret: &corev1.Secret{}} {
		g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: name}, left)).To(MatchError(apierrors.IsNotFound, "IsNotFound"), name)
	}
	g.Expect(Uninstall(t.Context(), w)).To(BeFalse(), "there is nothing any more")
}
