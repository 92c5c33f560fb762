package connect

import (
	"bytes"
	"crypto/tls"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/fleet"
)

func TestWhoIsRefusedIsToldByWhom(t *testing.T) {
	up(t)
	// kubectl starts with discovery, and hides the message of an error there; a raw request shows it.
	pods := []string{"get", "--raw", "/api/v1/namespaces/default/pods"}
	for name, tc := range map[string]struct {
		member, user string
		args         []string
		want         string
	}{
		"a tenant without rights at the hub":            {open, "tenant", pods, `cannot get resource "clusters/proxy"`},
		"an operator of another member":                 {closed, "alice", pods, `cannot get resource "clusters/proxy"`},
		"who may only read, and wants to run a program": {open, "reader", []string{"exec", "web", "--", "true"}, "forbidden"},
		"whom the hub lets pass and the owner does not": {open, "mallory", pods, "owner"},
		"who reads Secrets, which the owner did not allow": {
			open, "alice", []string{"get", "secrets"}, "owner",
		},
		"whom hub and owner let pass, and RBAC of the member does not": {open, "carol", []string{"get", "pods"}, `User "fairlead:carol" cannot list resource "pods"`},
		"the administrator of the hub, where the owner lets nobody in": {closed, "", pods, "owner"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &world{shared.World(t)}
			out, err := p.does(tc.member, tc.user, tc.args...)
			p.G.Expect(err).To(HaveOccurred(), out)
			p.G.Expect(out).To(ContainSubstring(tc.want))
			p.G.Expect(out).NotTo(ContainSubstring("pod/web"))
		})
	}
}

func TestWhoChangesWhatTheHubSendsIsWarned(t *testing.T) {
	w := up(t)
	w.ApplyConfigMap("sent", open)
	w.Eventually(func(g Gomega) {
		out, err := w.does(open, "alice", "get", "configmap", "sent", "-o", `jsonpath={.metadata.labels.karmada\.io/managed}`)
		g.Expect(err).NotTo(HaveOccurred(), out)
		g.Expect(out).To(Equal("true"))
	})
	warning := "Warning: " + open + ": the hub sends configmaps default/sent, so a change of that here is undone"
	for name, tc := range map[string]struct {
		args []string
		want types.GomegaMatcher
	}{
		"a change":                        {[]string{"patch", "configmap", "sent", "--type=merge", "-p", `{"data":{"a":"changed"}}`}, ContainSubstring(warning)},
		"a trial run of it":               {[]string{"patch", "configmap", "sent", "--type=merge", "-p", `{"data":{"a":"tried"}}`, "--dry-run=server"}, Not(ContainSubstring("Warning"))},
		"a change of what is no business": {[]string{"annotate", "configmap", "here", "seen=yes", "--overwrite"}, Not(ContainSubstring("Warning"))},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := w.does(open, "alice", tc.args...)
			NewWithT(t).Expect(err).NotTo(HaveOccurred(), out)
			NewWithT(t).Expect(out).To(tc.want)
		})
	}
	out, err := w.does(open, "alice", "delete", "configmap", "sent")
	w.G.Expect(err).NotTo(HaveOccurred(), out)
	w.G.Expect(out).To(ContainSubstring(warning), "what answers a deletion says nothing of the object")
	w.Eventually(func(g Gomega) {
		out, err := w.does(open, "alice", "get", "configmap", "sent", "-o", "jsonpath={.data}")
		g.Expect(err).NotTo(HaveOccurred(), out)
		g.Expect(out).To(Equal(`{"a":"1"}`), "and it is so")
	})
}

// caller sends requests that kubectl would not.
type caller struct {
	w      *world
	client *http.Client
}

func (w *world) caller(config *rest.Config) *caller {
	w.T.Helper()
	// Use HTTP/1.1, because HTTP/2 does not transfer all of these headers.
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(config)
	w.G.Expect(err).NotTo(HaveOccurred())
	return &caller{w: w, client: client}
}

func (c *caller) do(method, url string, body string, header http.Header) (int, string) {
	c.w.T.Helper()
	request, err := http.NewRequestWithContext(c.w.T.Context(), method, url, bytes.NewReader([]byte(body)))
	c.w.G.Expect(err).NotTo(HaveOccurred())
	maps.Copy(request.Header, header)
	response, err := c.client.Do(request)
	c.w.G.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	out, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	c.w.G.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(out)
}

// whoAmI asks the member for the identity of the caller.
const whoAmI = `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`

func TestHostileOperators(t *testing.T) {
	w := up(t)
	config := w.config("alice")
	alice := w.caller(config)
	review := config.Host + "/apis/authentication.k8s.io/v1/selfsubjectreviews"

	for name, header := range map[string]http.Header{
		"nobody's":           nil,
		"a user of the line": {contract.UserHeader: {"admin"}, contract.GroupHeader: {"system:masters"}},
		"a user of a proxy":  {"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}},
		"a hop":              {contract.HopHeader: {"1"}},
		"connection headers": {"Connection": {"Fairlead-User"}},
		"a token":            {"X-Forwarded-Authorization": {"Bearer x"}, "Cookie": {"a=b"}},
	} {
		t.Run("is alice with headers of "+name, func(t *testing.T) {
			g := NewWithT(t)
			header = header.Clone()
			if header == nil {
				header = http.Header{}
			}
			header.Set("Content-Type", "application/json")
			status, body := alice.do(http.MethodPost, review, whoAmI, header)
			g.Expect(status).To(BeElementOf(http.StatusCreated, http.StatusOK), body)
			g.Expect(body).To(ContainSubstring(`"username":"fairlead:alice"`))
			g.Expect(body).NotTo(ContainSubstring("masters"))
		})
	}

	hub, err := w.Config(fleet.HubName)
	w.G.Expect(err).NotTo(HaveOccurred())
	other := hub.Host + contract.ClusterProxyPath(closed)
	for _, path := range []string{
		config.Host + "/../../" + closed + "/proxy/api/v1/namespaces/default/configmaps/here",
		config.Host + "/%2e%2e/%2e%2e/" + closed + "/proxy/api/v1/namespaces/default/configmaps/here",
		config.Host + "/..%2f..%2f" + closed + "%2fproxy/api/v1/namespaces/default/configmaps/here",
		config.Host + "//" + closed + "/proxy/api/v1/namespaces/default/configmaps/here",
		strings.Replace(config.Host, open, open+"%2f..%2f"+closed, 1) + "/api/v1/namespaces/default/configmaps/here",
		other + "/api/v1/namespaces/default/configmaps/here",
	} {
		status, body := alice.do(http.MethodGet, path, "", nil)
		w.G.Expect(body).NotTo(ContainSubstring("the member "+closed), path)
		w.G.Expect(status).NotTo(Equal(http.StatusOK), path)
	}
	for _, path := range []string{contract.LineSelfPath, contract.LinePresencePath} {
		status, body := alice.do(http.MethodPut, config.Host+"/.."+path, contract.LeaseIsPresence, nil)
		w.G.Expect(status).NotTo(Equal(http.StatusOK), "what the hub asks of agents is not for operators: %s", body)
	}
	status, _ := w.caller(rest.AnonymousClientConfig(hub)).do(http.MethodGet, config.Host+"/api", "", nil)
	w.G.Expect(status).To(BeElementOf(http.StatusUnauthorized, http.StatusForbidden))
}

func TestHostileAgents(t *testing.T) {
	w := up(t)
	hub, err := clientcmd.BuildConfigFromFlags("", filepath.Join(w.StateDir(closed), "hub.kubeconfig"))
	w.G.Expect(err).NotTo(HaveOccurred())
	if hub.CertFile != "" {
		_, err := tls.LoadX509KeyPair(hub.CertFile, hub.KeyFile)
		w.G.Expect(err).NotTo(HaveOccurred())
	}
	thief := w.caller(hub)
	attach := http.Header{"Connection": {"Upgrade"}, "Upgrade": {contract.LineProtocol}}
	for name, path := range map[string]string{
		"the line of another member":         contract.LineAttachPath(open),
		"the API of another member":          contract.ClusterProxyPath(open) + "/api",
		"the API of its own, as an operator": contract.ClusterProxyPath(closed) + "/api",
	} {
		t.Run("an agent does not get "+name, func(t *testing.T) {
			method := http.MethodGet
			if strings.HasSuffix(path, contract.AttachSubresource) {
				method = http.MethodPost
			}
			status, body := thief.do(method, hub.Host+path, "", attach)
			NewWithT(t).Expect(status).To(Equal(http.StatusForbidden), body)
		})
	}
	w.awaitLine()
}
