package access

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestACreationIsJudgedByTheNameInItsBody has bodies that an API server would take, and some that it would not.
func TestACreationIsJudgedByTheNameInItsBody(t *testing.T) {
	t.Parallel()
	encoded := func(name string) string {
		g := NewWithT(t)
		raw, err := (&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}).Marshal()
		g.Expect(err).NotTo(HaveOccurred())
		wrapped, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}, Raw: raw}).Marshal()
		g.Expect(err).NotTo(HaveOccurred())
		return "k8s\x00" + string(wrapped)
	}
	const protobuf = runtime.ContentTypeProtobuf
	for name, tc := range map[string]struct {
		kind, body string
		want       int
	}{
		"another name":                  {body: `{"metadata":{"name":"web"}}`, want: http.StatusCreated},
		"another name, of JSON":         {kind: "application/json; charset=utf-8", body: `{"metadata":{"name":"web"}}`, want: http.StatusCreated},
		"the agent's":                   {body: `{"metadata":{"name":"fairlead-agent"}}`, want: http.StatusForbidden},
		"the agent's behind much":       {body: `{"data":"` + strings.Repeat("a", 1<<20) + `","metadata":{"name":"fairlead-agent"}}`, want: http.StatusForbidden},
		"another behind much":           {body: `{"data":"` + strings.Repeat("a", 1<<20) + `","metadata":{"name":"web"}}`, want: http.StatusCreated},
		"the agent's, escaped":          {body: `{"metadata":{"name":"fairlead\u002dagent"}}`, want: http.StatusForbidden},
		"the agent's in another case":   {body: `{"metadata":{"name":"web","Name":"fairlead-agent"}}`, want: http.StatusCreated}, // the API server takes it for no name
		"two names":                     {body: `{"metadata":{"name":"fairlead-agent","name":"web"}}`, want: http.StatusBadRequest},
		"two of metadata":               {body: `{"metadata":{"name":"web"},"metadata":{"name":"fairlead-agent"}}`, want: http.StatusBadRequest},
		"a name that is to be made up":  {body: `{"metadata":{"generateName":"fairlead-agent-"}}`, want: http.StatusForbidden},
		"no JSON":                       {body: `metadata: {name: web}`, want: http.StatusBadRequest},
		"two objects":                   {body: `{"metadata":{"name":"web"}}{}`, want: http.StatusBadRequest},
		"YAML":                          {kind: "application/yaml", body: `metadata: {name: web}`, want: http.StatusBadRequest},
		"an encoding that is none":      {kind: ";", body: `{"metadata":{"name":"web"}}`, want: http.StatusBadRequest},
		"protobuf":                      {kind: protobuf, body: encoded("web"), want: http.StatusCreated},
		"the agent's in protobuf":       {kind: protobuf, body: encoded("fairlead-connect"), want: http.StatusForbidden},
		"protobuf that is none":         {kind: protobuf, body: `{"metadata":{"name":"web"}}`, want: http.StatusBadRequest},
		"more than an API server takes": {body: `{"data":"` + strings.Repeat("a", 3<<20) + `","metadata":{"name":"web"}}`, want: http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var came atomic.Pointer[string]
			m := newMember(t, func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				body := string(raw)
				came.Store(&body)
				w.WriteHeader(http.StatusCreated)
			})
			s := newServed(t, m)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/proxy/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", strings.NewReader(tc.body))
			g.Expect(err).NotTo(HaveOccurred())
			req.Header = http.Header{"Fairlead-User": {"alice"}, "Fairlead-Group": {"ops"}, "Fairlead-Request": {"r1"}}
			if tc.kind != "" {
				req.Header.Set("Content-Type", tc.kind)
			}
			answer, err := http.DefaultTransport.RoundTrip(req)
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = answer.Body.Close() }()
			g.Expect(answer.StatusCode).To(Equal(tc.want))
			if tc.want != http.StatusCreated {
				g.Expect(came.Load()).To(BeNil())
				return
			}
			g.Expect(*came.Load() == tc.body).To(BeTrue(), "all of it comes")
			g.Eventually(func() []string { return s.records("changes") }).WithTimeout(waitTimeout).Should(ContainElement(ContainSubstring(`"object":"clusterrolebindings.rbac.authorization.k8s.io web"`)))
			g.Eventually(func() int { return len(s.large) }).WithTimeout(waitTimeout).Should(BeZero())
		})
	}
}
