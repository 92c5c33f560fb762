package apiserver

import (
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
)

func TestVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		own, other string
		want       bool
	}{
		{"v1.2.0", "v1.3.0", true},
		{"v1.3.0", "v1.3.0", false},
		{"v1.3.0", "v1.2.0", false},
		{"v1.3.0-rc.1", "v1.3.0", true},
		{"v0.0.0-20261121070000-abd97cb01234", "v0.0.0-20261122070000-000000000000+dirty", true},
		{"(devel)", "v1.3.0", false},
		{"v1.3.0", "", false},
	} {
		NewWithT(t).Expect(isOlder(tc.own, tc.other)).To(Equal(tc.want), "%s %s", tc.own, tc.other)
	}
}

// anOlderHubLeavesWhatANewerOneInstalled installs several versions on an API server that was installed by none of them.
func anOlderHubLeavesWhatANewerOneInstalled(t *testing.T, hub *cluster.Cluster) {
	t.Helper()
	g := NewWithT(t)
	hubClient := hub.Client(t)
	install := func(version string, downgrade bool) {
		t.Helper()
		g.Expect(Install(t.Context(), hub.Config, Options{Version: version, AllowDowngrade: downgrade})).To(Succeed())
	}
	// Of several hubs that start at once the newest version wins, in whatever order they start.
	var all errgroup.Group
	for _, version := range []string{"v1.2.0", "v1.3.0", "v1.1.0"} {
		all.Go(func() error { return Install(t.Context(), hub.Config, Options{Version: version}) })
	}
	g.Expect(all.Wait()).To(Succeed())
	installed := func() string {
		version, newer, err := (&installer{hubClient: hubClient}).installed(t.Context())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(newer).To(BeEmpty(), "nothing is left to be removed")
		return version
	}
	g.Expect(installed()).To(Equal("v1.3.0"))

	// A newer version has another message.
	const newer = "as a newer hub says"
	policy := &unstructured.Unstructured{}
	policy.SetAPIVersion("admissionregistration.k8s.io/v1")
	policy.SetKind("ValidatingAdmissionPolicy")
	rules := func() []any {
		g.Expect(hubClient.Get(t.Context(), client.ObjectKey{Name: "propagation-policies.fairlead.dev"}, policy)).To(Succeed())
		rules, _, err := unstructured.NestedSlice(policy.Object, "spec", "validations")
		g.Expect(err).NotTo(HaveOccurred())
		return rules
	}
	first := func(rules []any) map[string]any {
		rule, _ := rules[0].(map[string]any)
		return rule
	}
	message := func() any { return first(rules())["message"] }
	differs := func() {
		t.Helper()
		changed := rules()
		first(changed)["message"] = newer
		g.Expect(unstructured.SetNestedSlice(policy.Object, changed, "spec", "validations")).To(Succeed())
		g.Expect(hubClient.Update(t.Context(), policy)).To(Succeed())
	}
	differs()
	install("v1.2.0", false)
	g.Expect(message()).To(Equal(newer), "an older hub leaves it, though its own is another")
	install("v1.4.0", false)
	g.Expect(message()).NotTo(Equal(newer), "a newer one that starts beside it installs its own, whoever works")
	g.Expect(installed()).To(Equal("v1.4.0"))
	differs()
	only := onlyInNewer(t, hubClient)
	install("v1.2.0", false)
	g.Expect(only()).To(Equal([]string{"rights", "binding", "policy", "of another"}), "they are in force, and the newer one is there yet")
	install("v1.2.0", true)
	g.Expect(message()).NotTo(Equal(newer), "an older one goes back if it is told to")
	g.Expect(installed()).To(Equal("v1.2.0"))
	g.Expect(only()).To(Equal([]string{"of another"}), "nothing stays in force that this one does not know of")

	// A downgrade may be killed before the newer version's objects are removed. The next start removes them, with or
	// without the flag.
	only = onlyInNewer(t, hubClient)
	g.Expect((&installer{hubClient: hubClient}).recordVersion(t.Context(), "v1.2.0", "v1.4.0")).To(Succeed())
	install("v1.2.0", false)
	g.Expect(only()).To(Equal([]string{"of another"}))
	g.Expect(installed()).To(Equal("v1.2.0"))

	// A newer version that was killed halfway has recorded that it began: it continues, and an older one does not
	// downgrade.
	g.Expect((&installer{hubClient: hubClient}).recordVersion(t.Context(), "v1.5.0", "")).To(Succeed())
	differs()
	install("v1.4.0", false)
	g.Expect(message()).To(Equal(newer))
	install("v1.5.0", false)
	g.Expect(message()).NotTo(Equal(newer))
}

// onlyInNewer installs objects that no current version has, and returns a function that names those that are left.
// Objects of somebody else's must stay.
func onlyInNewer(t *testing.T, hubClient client.Client) func() []string {
	t.Helper()
	g := NewWithT(t)
	admission, rights := "admissionregistration.k8s.io/v1", "rbac.authorization.k8s.io/v1"
	policy := map[string]any{
		"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{"apiGroups": []any{"newer.fairlead.dev"}, "apiVersions": []any{"*"}, "operations": []any{"CREATE"}, "resources": []any{"*"}}}},
		"validations":      []any{map[string]any{"expression": "false"}},
	}
	made := []struct {
		what, manager, apiVersion, kind, name string
		content                               map[string]any
	}{
		{"rights", contract.FieldManagerInstall, rights, "ClusterRole", "newer.fairlead.dev", map[string]any{"rules": []any{}}},
		{"binding", contract.FieldManagerInstall, admission, "ValidatingAdmissionPolicyBinding", "newer.fairlead.dev", map[string]any{"spec": map[string]any{"policyName": "newer.fairlead.dev", "validationActions": []any{"Deny"}}}},
		{"policy", contract.FieldManagerInstall, admission, "ValidatingAdmissionPolicy", "newer.fairlead.dev", map[string]any{"spec": policy}},
		{"of another", "another", admission, "ValidatingAdmissionPolicy", "another.fairlead.dev", map[string]any{"spec": policy}},
	}
	object := func(n int) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetAPIVersion(made[n].apiVersion)
		obj.SetKind(made[n].kind)
		obj.SetName(made[n].name)
		return obj
	}
	for n := range made {
		obj := object(n)
		maps.Copy(obj.Object, made[n].content)
		obj.SetLabels(map[string]string{contract.SystemLabel: contract.LabelTrue})
		g.Expect(hubClient.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(made[n].manager))).To(Succeed())
	}
	return func() []string {
		var out []string
		for n := range made {
			err := hubClient.Get(t.Context(), client.ObjectKey{Name: made[n].name}, object(n))
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			if err == nil {
				out = append(out, made[n].what)
			}
		}
		return out
	}
}

// silentInTheMiddle answers no request, from the first one that installs a policy until its client has given that one
// up.
type silentInTheMiddle struct {
	api    http.Handler
	silent atomic.Bool
	over   chan struct{}
}

func (s *silentInTheMiddle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	isPolicy := r.Method == http.MethodPatch && strings.HasPrefix(r.URL.Path, "/apis/admissionregistration.k8s.io/")
	if isPolicy && s.silent.CompareAndSwap(false, true) {
		<-r.Context().Done()
		close(s.over)
		return
	}
	if s.silent.Load() {
		select {
		case <-s.over:
		case <-r.Context().Done():
			return
		}
	}
	s.api.ServeHTTP(w, r)
}

// inFrontOf returns a configuration for a proxy in front of an API server.
func inFrontOf(t *testing.T, hub *cluster.Cluster, front func(api http.Handler) http.Handler) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	api, err := url.Parse(hub.Config.Host)
	g.Expect(err).NotTo(HaveOccurred())
	transport, err := rest.TransportFor(hub.Config)
	g.Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(front(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(api) }}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}}
}

// anInstallationOutlivesASilence has the API server stop answering for longer than a hub holds the installation lock.
func anInstallationOutlivesASilence(t *testing.T, hub *cluster.Cluster) {
	t.Helper()
	g := NewWithT(t)
	silence := &silentInTheMiddle{over: make(chan struct{})}
	cfg := inFrontOf(t, hub, func(api http.Handler) http.Handler {
		silence.api = api
		return silence
	})

	g.Expect(Install(t.Context(), cfg, Options{Version: "v1.6.0"})).To(Succeed())

	g.Expect(silence.over).To(BeClosed(), "it was given up once")
	version, _, err := (&installer{hubClient: hub.Client(t)}).installed(t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(version).To(Equal("v1.6.0"))
}
