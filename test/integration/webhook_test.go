package integration

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	certutil "k8s.io/client-go/util/cert"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/test/builder"
)

// millServer is an interpreter webhook for windmills: stones are their replicas, the miller is retained from the
// member, and those that turn are healthy.
type millServer struct {
	port      int32
	authority []byte
	// hangs makes it leave requests to retain unanswered.
	hangs atomic.Bool
}

// newMillServer serves the webhook by TLS, as a Service of a namespace.
func newMillServer(t *testing.T, service, namespace string) *millServer {
	t.Helper()
	g := NewWithT(t)
	host := service + "." + namespace + ".svc"
	certificate, key, err := certutil.GenerateSelfSignedCertKey(host, nil, []string{host})
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(certificate, key)
	g.Expect(err).NotTo(HaveOccurred())
	s := &millServer{authority: certificate}
	server := httptest.NewUnstartedServer(http.HandlerFunc(s.answer))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	n, err := strconv.ParseInt(port, 10, 32)
	g.Expect(err).NotTo(HaveOccurred())
	s.port = int32(n)
	return s
}

func (s *millServer) answer(w http.ResponseWriter, r *http.Request) {
	var question configv1alpha1.ResourceInterpreterContext
	if err := json.NewDecoder(r.Body).Decode(&question); err != nil || question.Request == nil {
		http.Error(w, "not a question", http.StatusBadRequest)
		return
	}
	in, out := question.Request, &configv1alpha1.ResourceInterpreterResponse{UID: question.Request.UID, Successful: true}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(in.Object.Raw); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	patch := func(format string, args ...any) {
		out.Patch, out.PatchType = fmt.Appendf(nil, format, args...), new(configv1alpha1.PatchTypeJSONPatch)
	}
	turns, _, _ := unstructured.NestedBool(object.Object, "status", "turns")
	switch in.Operation {
	case configv1alpha1.InterpreterOperationInterpretReplica:
		out.Replicas = new(int32(integer(object, "spec", "stones")))
	case configv1alpha1.InterpreterOperationReviseReplica:
		patch(`[{"op":"replace","path":"/spec/stones","value":%d}]`, *in.DesiredReplicas)
	case configv1alpha1.InterpreterOperationRetain:
		if s.hangs.Load() {
			<-r.Context().Done()
			return
		}
		var live unstructured.Unstructured
		_ = live.UnmarshalJSON(in.ObservedObject.Raw) // without one there is no miller
		if miller, ok, _ := unstructured.NestedString(live.Object, "spec", "miller"); ok {
			patch(`[{"op":"add","path":"/spec/miller","value":%q}]`, miller)
		}
	case configv1alpha1.InterpreterOperationInterpretHealth:
		out.Healthy = new(turns)
	case configv1alpha1.InterpreterOperationInterpretStatus:
		out.RawStatus = &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"turns":%t}`, turns)}
	default:
		out.Successful = false // not in the rules
	}
	reply, err := json.Marshal(configv1alpha1.ResourceInterpreterContext{TypeMeta: question.TypeMeta, Response: out})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(reply) // the caller gets no answer then
}

// TestAWebhookIsAskedByTheHubAndInsideTheMembers registers a webhook for a kind: the hub calls its Service there, and
// each agent that of its member. Then the webhook stops answering for a while.
func TestAWebhookIsAskedByTheHubAndInsideTheMembers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	server := newMillServer(t, "mills", ns)
	definition := builder.MakeDefinition("power.example.com", "v1", "Windmill")
	for _, c := range append(s.members, s.hub) {
		g.Expect(c.Client(t).Create(t.Context(), definition.DeepCopy())).To(Succeed())
	}
	service := builder.MakeTemplate("v1", "Service", ns, "mills").Set("ExternalName", "spec", "type").Set("localhost", "spec", "externalName").Obj()
	configuration := &configv1alpha1.ResourceInterpreterWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: ns}}
	configuration.Webhooks = []configv1alpha1.ResourceInterpreterWebhook{{
		Name: "windmills.power.example.com", TimeoutSeconds: new(int32(5)), InterpreterContextVersions: []string{"v1alpha1"},
		ClientConfig: configv1alpha1.WebhookClientConfig{
			Service: &configv1alpha1.ServiceReference{Namespace: ns, Name: "mills", Port: new(server.port)}, CABundle: server.authority,
		},
		Rules: []configv1alpha1.RuleWithOperations{{
			Operations: []configv1alpha1.InterpreterOperation{
				configv1alpha1.InterpreterOperationInterpretReplica, configv1alpha1.InterpreterOperationReviseReplica,
				configv1alpha1.InterpreterOperationRetain, configv1alpha1.InterpreterOperationInterpretHealth, configv1alpha1.InterpreterOperationInterpretStatus,
			},
			Rule: configv1alpha1.Rule{APIGroups: []string{"power.example.com"}, APIVersions: []string{"v1"}, Kinds: []string{"Windmill"}},
		}},
	}}
	s.create(t, service, builder.MakePolicy(ns, "mills").Select("v1", "Service", "mills").Clusters("edge-1", "edge-2").Obj(), configuration)
	t.Cleanup(func() { _ = s.hub.Client(t).Delete(context.WithoutCancel(t.Context()), configuration) })
	eventually(t, func(g Gomega) {
		for _, member := range []string{"edge-1", "edge-2"} {
			s.inMember(t, g, member, service)
			cluster := &clusterv1alpha1.Cluster{}
			g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Name: member}, cluster)).To(Succeed())
			g.Expect(cluster.Status.APIEnablements).To(ContainElement(HaveField("GroupVersion", "power.example.com/v1")))
		}
	})

	template := builder.MakeTemplate("power.example.com/v1", "Windmill", ns, "old").Set(int64(4), "spec", "stones").Set(int64(1), "spec", "height").Obj()
	s.create(t, template, builder.MakePolicy(ns, "windmills").Select("power.example.com/v1", "Windmill", "old").Weight("edge-1", 1).Weight("edge-2", 1).Obj())
	eventually(t, func(g Gomega) {
		g.Expect(s.binding(t, g, template).Spec.Replicas).To(BeEquivalentTo(4))
		for _, member := range []string{"edge-1", "edge-2"} {
			g.Expect(integer(s.inMember(t, g, member, template), "spec", "stones")).To(BeEquivalentTo(2), "it divides them")
		}
	})

	member := s.member("edge-1").Client(t)
	merge := func(patch string) {
		g.Expect(member.Patch(t.Context(), template.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
	}
	merge(`{"spec":{"miller":"Ann"}}`)
	merge(`{"status":{"turns":true}}`)
	rise := func(height int64) {
		s.update(t, template, func(obj *unstructured.Unstructured) {
			g.Expect(unstructured.SetNestedField(obj.Object, height, "spec", "height")).To(Succeed())
		})
	}
	has := func(height int) func(g Gomega) {
		return func(g Gomega) {
			live := s.inMember(t, g, "edge-1", template)
			g.Expect(integer(live, "spec", "height")).To(BeEquivalentTo(height))
			miller, _, _ := unstructured.NestedString(live.Object, "spec", "miller")
			g.Expect(miller).To(Equal("Ann"))
			g.Expect(byCluster(s.binding(t, g, template))["edge-1"].Health).To(Equal(workv1alpha1.Healthy))
			g.Expect(byCluster(s.binding(t, g, template))["edge-2"].Health).To(Equal(workv1alpha1.Unhealthy))
		}
	}
	rise(2)
	eventually(t, has(2))

	server.hangs.Store(true)
	rise(3)
	eventually(t, func(g Gomega) {
		applied := meta.FindStatusCondition(s.work(t, g, "edge-1", template).Status.Conditions, workv1alpha1.WorkApplied)
		g.Expect(applied).NotTo(BeNil())
		g.Expect(applied.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(applied.Message).To(And(ContainSubstring("windmills.power.example.com"), ContainSubstring("no answer")), "it names who hangs")
	})
	g.Expect(integer(s.inMember(t, g, "edge-1", template), "spec", "height")).To(BeEquivalentTo(2))
	server.hangs.Store(false)
	eventually(t, has(3))
}
