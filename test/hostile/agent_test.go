package hostile

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
)

// The rights of an agent are listed here independently of how they are granted: design section 6. {resource,
// subresource included: verbs}, by place.
func allowedInOwnNamespace() map[string]string {
	return map[string]string{
		"work.karmada.io/works": "get list watch patch update", "work.karmada.io/works/status": "get patch update",
		"events.k8s.io/events": "create patch",
	}
}

func allowedEverywhere() map[string]string {
	return map[string]string{
		"config.karmada.io/resourceinterpretercustomizations":        "get list watch",
		"config.karmada.io/resourceinterpreterwebhookconfigurations": "get list watch",
		// It may create a certificate request only under its own name, which an admission policy enforces.
		"certificates.k8s.io/certificatesigningrequests": "create",
		// Every authenticated user may ask for its identity and its rights.
		"authentication.k8s.io/selfsubjectreviews":      "create",
		"authorization.k8s.io/selfsubjectaccessreviews": "create", "authorization.k8s.io/selfsubjectrulesreviews": "create",
	}
}

// everyPlace are the namespaces that matter to the agent of edge-1.
func everyPlace() []string {
	return []string{"karmada-es-edge-1", "karmada-es-edge-2", "karmada-cluster", "kube-system", "kube-public", "default", ""}
}

// TestAHostileAgentIsRefused tries everything that the hub's API offers with a stolen agent certificate.
func TestAHostileAgentIsRefused(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	hostile := newIntruder(t, w.agent(t, "edge-1"))
	work := builder.MakeWork("edge-1", "web").Obj()
	g.Expect(w.Create(t.Context(), work)).To(Succeed())
	neighbour := w.cluster(t, "edge-2")

	t.Run("every verb on every resource in every place", func(t *testing.T) {
		hostile.tryAll(t, w.api.Config, "karmada-es-edge-1", everyPlace(), allowedInOwnNamespace(), allowedEverywhere())
	})
	t.Run("what RBAC cannot hold", func(t *testing.T) {
		hostile.tryWhatPoliciesHold(t, work.Name)
	})
	t.Run("to be somebody else", func(t *testing.T) {
		hostile.tryToBeSomebodyElse(t)
	})
	t.Run("certificates of others", func(t *testing.T) {
		hostile.tryCertificates(t, w)
	})
	t.Run("paths that are no resources", func(t *testing.T) {
		for _, path := range []string{"/metrics", "/metrics/slis", "/logs/", "/debug/pprof/", "/debug/flags/v", "/configz", "/statusz", "/flagz"} {
			hostile.refused(t, http.MethodGet, path, "", nil)
		}
	})
	t.Run("what it may do", func(t *testing.T) {
		hostile.allowedAll(t, agentsOwn("edge-1", work.Name))
	})
	t.Run("more events, and larger", func(t *testing.T) {
		hostile.tryEvents(t)
	})
	g.Expect(w.Get(t.Context(), client.ObjectKeyFromObject(work), work)).To(Succeed())
	g.Expect(work.DeletionTimestamp).To(BeNil())
	after := w.cluster(t, "edge-2")
	for _, c := range []*clusterv1alpha1.Cluster{neighbour, after} {
		// No agent of it runs, so the hub taints it after a while.
		c.Spec.Taints = slices.DeleteFunc(c.Spec.Taints, func(t corev1.Taint) bool {
			return t.Key == contract.TaintClusterNotReady || t.Key == contract.TaintClusterUnreachable
		})
	}
	g.Expect(after.Spec).To(Equal(neighbour.Spec))
	g.Expect(after.Labels).To(Equal(neighbour.Labels))
	g.Expect(after.Annotations).To(Equal(neighbour.Annotations))
	t.Logf("a hostile agent made %d attempts; every one was refused", hostile.attempts)
	g.Expect(hostile.attempts).To(BeNumerically(">", 300))
}

// agentsOwn are the requests that an agent needs.
func agentsOwn(cluster, work string) map[string]row {
	own := "/apis/cluster.karmada.io/v1alpha1/clusters/" + cluster
	lease := "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/" + cluster
	return map[string]row{
		"it reads its Works":                {method: http.MethodGet, path: worksOf(cluster)},
		"it reads one of them":              {method: http.MethodGet, path: worksOf(cluster) + "/" + work},
		"it puts its finalizer on":          {method: http.MethodPatch, path: worksOf(cluster) + "/" + work, body: `{"metadata":{"finalizers":["karmada.io/execution-controller"]}}`},
		"it takes its finalizer off":        {method: http.MethodPatch, path: worksOf(cluster) + "/" + work, body: `{"metadata":{"finalizers":null}}`},
		"it reports on a Work":              {method: http.MethodPatch, path: worksOf(cluster) + "/" + work + "/status", body: `{"status":{"conditions":[]}}`},
		"it reads its Cluster":              {method: http.MethodGet, path: own},
		"it watches its Cluster alone":      {method: http.MethodGet, path: "/apis/cluster.karmada.io/v1alpha1/clusters?fieldSelector=metadata.name%3D" + cluster},
		"it reports on its Cluster":         {method: http.MethodPatch, path: own + "/status", body: `{"status":{"kubernetesVersion":"v1.36.3"}}`},
		"it reads its lease":                {method: http.MethodGet, path: lease},
		"it renews its lease":               {method: http.MethodPatch, path: lease, body: `{"metadata":{"annotations":{"fairlead.dev/session":"s"}},"spec":{"renewTime":"2026-05-01T12:00:00.000000Z"}}`},
		"it reads what kinds mean":          {method: http.MethodGet, path: "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations"},
		"it tells what it did in an event":  {method: http.MethodPost, path: eventsOf(cluster), body: event("agent-007", `"note":"It did."`)},
		"it asks who it is":                 {method: http.MethodPost, path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`},
		"it sees what kinds the API serves": {method: http.MethodGet, path: "/apis"},
	}
}

func eventsOf(cluster string) string {
	return "/apis/events.k8s.io/v1/namespaces/karmada-es-" + cluster + "/events"
}

// event returns an event of the agent of edge-1, with additional fields.
func event(name, fields string) string {
	return `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"` + name + `"},"eventTime":"2026-05-01T12:00:00.000000Z","type":"Normal",` +
		`"reason":"Told","action":"Tell","reportingController":"fairlead.dev/agent","reportingInstance":"a",` +
		`"regarding":{"apiVersion":"work.karmada.io/v1alpha1","kind":"Work","namespace":"karmada-es-edge-1","name":"web"},` + fields + `}`
}

// tryEvents tries to store more in the hub's database than an agent needs.
func (i *intruder) tryEvents(t *testing.T) {
	t.Helper()
	long := strings.Repeat("x", 100_000)
	for what, body := range map[string]string{
		"under a name of its choice":  event("web.17a", `"note":"It did."`),
		"under any name":              strings.Replace(event("", `"note":"It did."`), `"name":""`, `"generateName":"agent-"`, 1),
		"with a long note":            event("agent-001", `"note":"`+long+`"`),
		"with a long annotation":      strings.Replace(event("agent-001", `"note":"a"`), `"metadata":{`, `"metadata":{"annotations":{"a":"`+long+`"},`, 1),
		"with a label":                strings.Replace(event("agent-001", `"note":"a"`), `"metadata":{`, `"metadata":{"labels":{"a":"b"},`, 1),
		"with a finalizer":            strings.Replace(event("agent-001", `"note":"a"`), `"metadata":{`, `"metadata":{"finalizers":["a.b/c"],`, 1),
		"with an owner":               strings.Replace(event("agent-001", `"note":"a"`), `"metadata":{`, `"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"x"}],`, 1),
		"about a long name":           event("agent-001", `"related":{"kind":"Work","name":"`+long+`"}`),
		"about a long path":           event("agent-001", `"related":{"kind":"Work","fieldPath":"`+long+`"}`),
		"from a long source":          event("agent-001", `"deprecatedSource":{"component":"`+long+`"}`),
		"a second time":               event("agent-007", `"note":"It did again."`),
		"in the namespace of another": event("agent-001", `"note":"a"`),
	} {
		t.Run(what, func(t *testing.T) {
			cluster := "edge-1"
			if what == "in the namespace of another" {
				cluster = "edge-2"
			}
			// The API rejects long notes and existing names by itself; Fairlead's own policy rejects events that are
			// large as a whole.
			i.refused(t, http.MethodPost, eventsOf(cluster), body, nil, http.StatusUnprocessableEntity, http.StatusConflict, http.StatusRequestEntityTooLarge)
		})
	}
	old := `{"apiVersion":"v1","kind":"Event","metadata":{"name":"agent-001"},"involvedObject":{"namespace":"karmada-es-edge-1"},"message":"a"}`
	i.refused(t, http.MethodPost, "/api/v1/namespaces/karmada-es-edge-1/events", old, nil)
	patched := map[string]string{"Content-Type": "application/merge-patch+json"}
	for _, body := range []string{`{"metadata":{"annotations":{"a":"b"}}}`, `{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"finalizers":["a.b/c"]}}`} {
		i.refused(t, http.MethodPatch, eventsOf("edge-1")+"/agent-007", body, patched)
	}
	i.refused(t, http.MethodDelete, eventsOf("edge-1")+"/agent-007", "", nil)
	owned := `"metadata":{` + fieldsOwned("events.k8s.io/v1", len(long))
	large := strings.Replace(event("agent-001", `"note":"a"`), `"metadata":{`, owned+`,`, 1)
	i.refused(t, http.MethodPost, eventsOf("edge-1"), large, nil, http.StatusRequestEntityTooLarge)
	i.refused(t, http.MethodPatch, eventsOf("edge-1")+"/agent-007", `{`+owned+`}}`, patched, http.StatusRequestEntityTooLarge)
	i.tryManyManagers(t, eventsOf("edge-1")+"/agent-007", event("agent-007", `"note":"It did."`))
}

// fieldsOwned is metadata.managedFields with so many bytes of fields that the object does not have.
func fieldsOwned(apiVersion string, bytes int) string {
	return `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"` + apiVersion + `","time":"2026-05-01T12:00:00Z","fieldsType":"FieldsV1",` +
		`"fieldsV1":{"f:metadata":{"f:annotations":{"f:` + repeat("x", bytes) + `":{}}}}}]`
}

// tryManyManagers applies an object as more and more field managers, each of which is recorded in the object, until
// that is refused.
func (i *intruder) tryManyManagers(t *testing.T, path, body string) {
	t.Helper()
	const far = 30
	for n := range far {
		code := i.do(t, http.MethodPatch, fmt.Sprintf("%s?force=true&fieldManager=manager-%d", path, n), body, map[string]string{"Content-Type": "application/apply-patch+yaml"})
		if code == http.StatusForbidden {
			i.attempts++
			return
		}
		if code != http.StatusOK {
			t.Fatalf("applying %s was answered with %d", path, code)
		}
	}
	t.Errorf("an agent put %d field managers on %s, and nobody stopped it", far, path)
}

// tryWhatPoliciesHold tries requests that RBAC allows and admission policies restrict.
func (i *intruder) tryWhatPoliciesHold(t *testing.T, work string) {
	t.Helper()
	const merge = "application/merge-patch+json"
	works := "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-edge-1/works"
	own := "/apis/cluster.karmada.io/v1alpha1/clusters/edge-1"
	lease := "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases/"
	csrs := "/apis/certificates.k8s.io/v1/certificatesigningrequests"
	for _, attempt := range []struct{ path, body string }{
		{works + "/" + work, `{"spec":{"workload":{"manifests":[]}}}`},
		{works + "/" + work, `{"spec":{"suspendDispatching":true}}`},
		{works + "/" + work, `{"spec":{"preserveResourcesOnDeletion":true}}`},
		{works + "/" + work, `{"metadata":{"labels":{"a":"b"}}}`},
		{works + "/" + work, `{"metadata":{"annotations":{"a":"b"}}}`},
		{works + "/" + work, `{"metadata":{"finalizers":["a.b/c"]}}`},
		{works + "/" + work, `{"metadata":{"finalizers":["karmada.io/execution-controller","karmada.io/execution-controller"]}}`},
		{works + "/" + work, `{"metadata":{"generateName":"` + repeat("x", 100_000) + `"}}`},
		{works + "/" + work, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"default","uid":"x"}]}}`},
		{own, `{"metadata":{"labels":{"tier":"gold"}}}`},
		{own, `{"metadata":{"annotations":{"fairlead.dev/execution-namespace":"karmada-es-edge-2"}}}`},
		{own, `{"metadata":{"finalizers":null}}`},
		{own, `{"metadata":{"generateName":"x"}}`},
		{own, `{"spec":{"taints":[]}}`},
		{own, `{"spec":{"region":"elsewhere"}}`},
		{own, `{"spec":{"id":"another"}}`},
		{own + "/status", conditionsOf("Ready", "Unknown", "ClusterStatusUnknown")},
		{own + "/status", conditionsOf("Ready", "Unknown", "ClusterStatusNeverUpdated")},
		{own + "/status", conditionsOf("EvictionSuspended", "True", "HubSuspectsItself")},
		{own + "/status", conditionsOf("CapacityJumped", "False", "CapacityUsual")},
		{own + "/status", conditionsOf("SeveralAgents", "False", "OneSession")},
		{own + "/status", conditionsOf("RightsWithheld", "True", "NameKept")},
		{lease + "edge-1", `{"metadata":{"finalizers":["a.b/c"]}}`},
		{lease + "edge-1", `{"metadata":{"labels":{"a":"b"}}}`},
		{lease + "edge-1", `{"metadata":{"annotations":{"a":"b"}}}`},
		{lease + "edge-1", `{"metadata":{"ownerReferences":null}}`},
		{lease + "edge-1", `{"metadata":{"generateName":"x"}}`},
		{lease + "edge-1", `{"metadata":{"annotations":{"fairlead.dev/agent-version":"` + strings.Repeat("v", 65) + `"}}}`},
		{lease + "edge-2", `{"spec":{"renewTime":"2026-05-01T12:00:00.000000Z"}}`},
		{"/apis/cluster.karmada.io/v1alpha1/clusters/edge-2/status", `{"status":{"conditions":[]}}`},
		{works + "/" + work, `{"metadata":{` + fieldsOwned("work.karmada.io/v1alpha1", 100_000) + `}}`},
		{lease + "edge-1", `{"metadata":{` + fieldsOwned("coordination.k8s.io/v1", 100_000) + `}}`},
		{lease + "edge-1", `{"spec":{"holderIdentity":"` + repeat("h", 100_000) + `"}}`},
	} {
		i.refused(t, http.MethodPatch, attempt.path, attempt.body, map[string]string{"Content-Type": merge}, http.StatusRequestEntityTooLarge)
	}
	for _, path := range []string{
		"/apis/cluster.karmada.io/v1alpha1/clusters",
		"/apis/cluster.karmada.io/v1alpha1/clusters?fieldSelector=metadata.name%3Dedge-2",
		"/apis/cluster.karmada.io/v1alpha1/clusters?watch=true&fieldSelector=metadata.name%3Dedge-2",
		"/apis/cluster.karmada.io/v1alpha1/watch/clusters/edge-2",
		"/apis/work.karmada.io/v1alpha1/works?fieldSelector=metadata.namespace%3Dkarmada-es-edge-1",
		"/api/v1/namespaces/kube-public/configmaps",
	} {
		i.refused(t, http.MethodGet, path, "", nil)
	}
	// It may create only the one object that it may read, without any of the hub's marks.
	for _, metadata := range []string{
		`{"name":"edge-2.renewal"}`, `{"name":"edge-1"}`, `{"generateName":"edge-1"}`,
		`{"name":"edge-1.renewal","annotations":{"fairlead.dev/accepted":"me"}}`,
		`{"name":"edge-1.renewal","finalizers":["a.b/c"]}`, `{"name":"edge-1.renewal","generateName":"` + strings.Repeat("x", 100) + `"}`,
	} {
		i.refused(t, http.MethodPost, csrs, fmt.Sprintf(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":%s,
			"spec":{"request":%q,"signerName":"kubernetes.io/kube-apiserver-client","usages":["client auth"]}}`, metadata, asJSON(t, requestFor(t, "system:karmada:agent:edge-1", contract.AgentGroup))), nil)
	}
	for _, signer := range []string{"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet", "example.com/mine"} {
		i.refused(t, http.MethodPost, csrs, fmt.Sprintf(`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{"name":"edge-1.renewal"},
			"spec":{"request":%q,"signerName":%q,"usages":["client auth"]}}`, asJSON(t, requestFor(t, "system:karmada:agent:edge-1", contract.AgentGroup)), signer), nil)
	}
}

// conditionsOf returns a Cluster status with one condition, whose transition time the agent chose.
func conditionsOf(conditionType, status, reason string) string {
	return fmt.Sprintf(`{"status":{"conditions":[{"type":%q,"status":%q,"reason":%q,"message":"","lastTransitionTime":"2026-05-01T12:00:00Z"}]}}`,
		conditionType, status, reason)
}

// asJSON returns bytes in their JSON encoding.
func asJSON(t *testing.T, raw []byte) string {
	t.Helper()
	out, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(out), `"`)
}
