package apiserver

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
)

// audited is an event of an audit log.
type audited struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource, Namespace, Name string
	} `json:"objectRef"`
	RequestObject  json.RawMessage `json:"requestObject"`
	ResponseObject json.RawMessage `json:"responseObject"`
}

func readAudit(g Gomega, path string) []audited {
	file, err := os.Open(path)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = file.Close() }()
	var out []audited
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event audited
		g.Expect(json.Unmarshal(lines.Bytes(), &event)).To(Succeed())
		out = append(out, event)
	}
	g.Expect(lines.Err()).NotTo(HaveOccurred())
	return out
}

// asAdministrator returns a client with the administrator's kubeconfig, which is not the hub's own identity.
func asAdministrator(t *testing.T, e Embedded) client.Client {
	t.Helper()
	g := NewWithT(t)
	config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	c, err := client.New(config, client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	return c
}

// reach requests the pods of a cluster through its line, which is not connected.
func reach(t *testing.T, e Embedded, cluster string) {
	t.Helper()
	g := NewWithT(t)
	config, err := clientcmd.BuildConfigFromFlags("", e.Kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	asked, err := rest.HTTPClientFor(config)
	g.Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+contract.ClusterProxyPath(cluster)+"/api/v1/pods", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	resp, err := asked.Do(req)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(resp.Body.Close()).To(Succeed())
	g.Expect(resp.StatusCode).NotTo(Equal(http.StatusOK))
}

// isAudited checks that the audit log records who changed what, and nothing secret.
func isAudited(t *testing.T, e Embedded, p *Process) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(Install(t.Context(), p.Config(), Options{})).To(Succeed())

	person := asAdministrator(t, e)
	meta := metav1.ObjectMeta{Namespace: "default", Name: "audited"}
	g.Expect(person.Create(t.Context(), &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"marker": marker}})).To(Succeed())
	g.Expect(person.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "audited"}, &corev1.Secret{})).To(Succeed())
	g.Expect(person.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"marker": marker}})).To(Succeed())
	g.Expect(person.Create(t.Context(), &workv1alpha1.Work{ObjectMeta: meta})).To(Succeed())
	policy := builder.MakePolicy("default", "audited").Select("v1", "ConfigMap", "audited").Obj()
	g.Expect(person.Create(t.Context(), policy)).To(Succeed())
	g.Expect(person.List(t.Context(), &policyv1alpha1.PropagationPolicyList{})).To(Succeed())
	reach(t, e, "audited")
	g.Expect(person.Delete(t.Context(), policy)).To(Succeed())

	path := filepath.Join(e.DataDir, "audit", "audit.log")
	told := func(verb, resource string) []audited {
		var out []audited
		for _, event := range readAudit(g, path) {
			if event.Verb == verb && event.ObjectRef.Resource == resource && event.ObjectRef.Name == "audited" {
				out = append(out, event)
			}
		}
		return out
	}
	g.Eventually(func() []audited { return told("delete", "propagationpolicies") }).WithTimeout(time.Minute).Should(HaveLen(1))
	for _, change := range [][2]string{{"create", "secrets"}, {"get", "secrets"}, {"create", "configmaps"}, {"create", "works"}, {"create", "propagationpolicies"}, {"get", "clusters"}} {
		events := told(change[0], change[1])
		g.Expect(events).To(HaveLen(1), "%s %s", change[0], change[1])
		g.Expect(events[0].User.Username).To(Equal("admin"))
		if change[1] == "propagationpolicies" {
			g.Expect(string(events[0].RequestObject)).To(ContainSubstring("resourceSelectors"), "what a policy was changed to is told")
		} else {
			g.Expect(events[0].RequestObject).To(BeNil(), "%s %s", change[0], change[1])
		}
		g.Expect(events[0].ResponseObject).To(BeNil())
	}
	g.Expect(holding(g, filepath.Dir(path), marker)).To(BeEmpty())
	for _, event := range readAudit(g, path) {
		g.Expect(event.Verb == "list" || event.Verb == "watch").To(BeFalse(), "%+v", event)
	}
	info, err := os.Stat(path)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600))
}

// siem is a server that receives audit events.
type siem struct {
	kubeconfig string
	told       atomic.Bool
}

const toldToAServer = "told-to-a-server"

func newSIEM(t *testing.T) *siem {
	t.Helper()
	s := &siem{kubeconfig: filepath.Join(t.TempDir(), "webhook.kubeconfig")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body) // a body that was cut short does not contain it
		if strings.Contains(string(data), toldToAServer) {
			s.told.Store(true)
		}
		w.WriteHeader(http.StatusOK)
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["siem"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["siem"] = &clientcmdapi.Context{Cluster: "siem"}
	config.CurrentContext = "siem"
	NewWithT(t).Expect(clientcmd.WriteToFile(*config, s.kubeconfig)).To(Succeed())
	return s
}

// isTold checks that the server receives an event. The API batches events for up to half a minute.
func (s *siem) isTold(t *testing.T, e Embedded) {
	t.Helper()
	g := NewWithT(t)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: toldToAServer}}
	g.Expect(asAdministrator(t, e).Create(t.Context(), cm)).To(Succeed())
	g.Eventually(s.told.Load).WithTimeout(90 * time.Second).Should(BeTrue())
}

func TestAnAuditPolicyThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := embedded(t)
	e.Flags = []string{"--audit-policy-file=" + filepath.Join(t.TempDir(), "absent.yaml")}
	_, err := e.Start(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("--audit-policy-file")))
}
