package webhook_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/webhook"
)

// mill is an object that webhooks are asked about.
func mill() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "farm.example.com/v1", "kind": "Mill",
		"metadata": map[string]any{"name": "old", "namespace": "farm"},
		"spec":     map[string]any{"stones": int64(2)},
	}}
}

// server answers with a response, whose uid it fills in, and remembers the last question.
type server struct {
	*httptest.Server

	request configv1alpha1.ResourceInterpreterRequest
	query   string
}

func serve(t *testing.T, reply func(w http.ResponseWriter, uid string)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var question configv1alpha1.ResourceInterpreterContext
		if err := json.Unmarshal(body, &question); err != nil || question.Request == nil {
			http.Error(w, "not a question", http.StatusBadRequest)
			return
		}
		s.request, s.query = *question.Request, r.URL.RawQuery
		reply(w, string(question.Request.UID))
	}))
	t.Cleanup(s.Close)
	return s
}

// saying answers with the fields of a successful response.
func saying(fields string) func(http.ResponseWriter, string) {
	return func(w http.ResponseWriter, uid string) {
		_, _ = fmt.Fprintf(w, `{"response":{"uid":%q,"successful":true%s}}`, uid, fields)
	}
}

func (s *server) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// hook is about every operation of Mills.
func (s *server) hook() configv1alpha1.ResourceInterpreterWebhook {
	return configv1alpha1.ResourceInterpreterWebhook{
		Name:         "mills.example.com",
		ClientConfig: configv1alpha1.WebhookClientConfig{URL: new(s.URL + "/ask"), CABundle: s.ca()},
		Rules: []configv1alpha1.RuleWithOperations{{
			Operations: []configv1alpha1.InterpreterOperation{configv1alpha1.InterpreterOperationAll},
			Rule:       configv1alpha1.Rule{APIGroups: []string{"farm.example.com"}, APIVersions: []string{"*"}, Kinds: []string{"Mill"}},
		}},
		InterpreterContextVersions: []string{"v1alpha1"},
	}
}

func asking(hook configv1alpha1.ResourceInterpreterWebhook, services client.Reader) *webhook.Interpreter {
	return webhook.New([]configv1alpha1.ResourceInterpreterWebhookConfiguration{{
		ObjectMeta: metav1.ObjectMeta{Name: "farm"}, Webhooks: []configv1alpha1.ResourceInterpreterWebhook{hook},
	}}, services)
}

// jsonPatch sets spec.stones to 7.
const jsonPatch = `,"patchType":"JSONPatch","patch":"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3N0b25lcyIsInZhbHVlIjo3fV0="`

func TestEveryOperationIsAsked(t *testing.T) {
	t.Parallel()
	stones := func(g Gomega, obj *unstructured.Unstructured) {
		g.Expect(obj.Object["spec"]).To(Equal(map[string]any{"stones": int64(7)}))
	}
	cases := map[interpreter.Operation]struct {
		fields string
		ask    func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error
	}{
		interpreter.InterpretReplica: {`,"replicas":3,"replicaRequirements":{"resourceRequest":{"cpu":"1"}}`, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			n, need, err := kinds.Replicas(ctx, mill())
			g.Expect(n).To(BeEquivalentTo(3))
			g.Expect(need.ResourceRequest.Cpu().String()).To(Equal("1"))
			return err
		}},
		interpreter.InterpretComponent: {`,"components":[{"name":"stone","replicas":2}]`, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			components, err := kinds.Components(ctx, mill())
			g.Expect(components).To(HaveExactElements(HaveField("Name", "stone")))
			return err
		}},
		interpreter.InterpretDependency: {`,"dependencies":[{"apiVersion":"v1","kind":"Secret","name":"key"}]`, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			refs, err := kinds.Dependencies(ctx, mill())
			g.Expect(refs).To(HaveExactElements(HaveField("Name", "key")))
			return err
		}},
		interpreter.ReviseReplica: {jsonPatch, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			obj, err := kinds.ReviseReplicas(ctx, mill(), 7)
			stones(g, obj)
			return err
		}},
		interpreter.Retain: {jsonPatch, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			obj, err := kinds.Retain(ctx, mill(), mill())
			stones(g, obj)
			return err
		}},
		interpreter.AggregateStatus: {jsonPatch, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			obj, err := kinds.AggregateStatus(ctx, mill(), []workv1alpha2.AggregatedStatusItem{{ClusterName: "edge"}})
			stones(g, obj)
			return err
		}},
		interpreter.InterpretStatus: {`,"rawStatus":{"turning":true}`, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			status, err := kinds.ReflectStatus(ctx, mill())
			g.Expect(string(status.Raw)).To(MatchJSON(`{"turning":true}`))
			return err
		}},
		interpreter.InterpretHealth: {`,"healthy":false`, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			health, err := kinds.Health(ctx, mill())
			g.Expect(health).To(Equal(workv1alpha1.Unhealthy))
			return err
		}},
	}
	for op, tc := range cases {
		t.Run(string(op), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := serve(t, saying(tc.fields))
			kinds := asking(s.hook(), nil)
			g.Expect(kinds.Has(mill().GroupVersionKind(), op)).To(BeTrue())
			g.Expect(tc.ask(t.Context(), g, kinds)).To(Succeed())
			g.Expect(s.query).To(Equal("timeout=10s"))
			g.Expect(s.request.Operation).To(BeEquivalentTo(op))
			g.Expect(s.request.Name).To(Equal("old"))
			g.Expect(s.request.Namespace).To(Equal("farm"))
			g.Expect(s.request.Kind).To(Equal(metav1.GroupVersionKind{Group: "farm.example.com", Version: "v1", Kind: "Mill"}))
			g.Expect(s.request.DesiredReplicas).NotTo(BeNil(), "replicas are always there")
			g.Expect(s.request.ObservedObject != nil).To(Equal(op == interpreter.Retain))
			g.Expect(s.request.AggregatedStatus != nil).To(Equal(op == interpreter.AggregateStatus))
		})
	}
}

func TestAnObjectWithoutAPatchStaysAsItIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kinds := asking(serve(t, saying("")).hook(), nil)
	template := mill()
	aggregated, err := kinds.AggregateStatus(t.Context(), template, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(aggregated).To(BeIdenticalTo(template))
	revised, err := kinds.ReviseReplicas(t.Context(), template, 3)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(revised).To(Equal(template))
	g.Expect(revised).NotTo(BeIdenticalTo(template), "whoever gets it may change it")
}

func TestABadAnswerIsAnErrorAndTheNextCallWorks(t *testing.T) {
	t.Parallel()
	say := func(body string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, uid string) {
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "UID", uid))
		}
	}
	retain := func(kinds interpreter.Interpreter) error {
		_, err := kinds.Retain(context.Background(), mill(), mill())
		return err
	}
	cases := map[string]struct {
		reply func(http.ResponseWriter, string)
		ask   func(interpreter.Interpreter) error // Health if nil
		err   string
	}{
		"garbage":    {reply: say("<html>"), err: "the answer is no ResourceInterpreterContext"},
		"nothing":    {reply: say("{}"), err: "the answer has no response"},
		"other kind": {reply: say(`{"apiVersion":"config.karmada.io/v1alpha1","kind":"Pod"}`), err: `has kind "Pod"`},
		"other uid":  {reply: say(`{"response":{"uid":"u","successful":true,"healthy":true}}`), err: `response.uid is "u"`},
		"a refusal":  {reply: say(`{"response":{"uid":"UID","status":{"code":403,"message":"no"}}}`), err: "webhook call failed, get status code: 403, msg: no"},
		"a refusal without a reason": {
			reply: say(`{"response":{"uid":"UID","successful":false}}`), err: "response.status does not say why",
		},
		"an error of the server": {
			reply: func(w http.ResponseWriter, _ string) { http.Error(w, "out of grain", http.StatusInternalServerError) },
			err:   "it answered 500 Internal Server Error: \"out of grain\\n\"",
		},
		"a redirect": {
			reply: func(w http.ResponseWriter, _ string) {
				w.Header().Set("Location", "https://elsewhere.example.com")
				w.WriteHeader(http.StatusFound)
			},
			err: "it redirects (302 Found), which is not followed",
		},
		"a huge body": {
			reply: func(w http.ResponseWriter, _ string) {
				block := []byte(strings.Repeat("x", 1<<20))
				for range 64 {
					if _, err := w.Write(block); err != nil {
						return
					}
				}
			},
			err: "its answer is larger than 3145728 bytes",
		},
		"health without an answer": {reply: saying(`,"replicas":1`), err: "response.healthy is required"},
		"replicas without an answer": {
			reply: saying(`,"healthy":true`), err: "response.replicas is required",
			ask: func(kinds interpreter.Interpreter) error {
				_, _, err := kinds.Replicas(context.Background(), mill())
				return err
			},
		},
		"status without an answer": {
			reply: saying(`,"healthy":true`), err: "response.rawStatus is required",
			ask: func(kinds interpreter.Interpreter) error {
				_, err := kinds.ReflectStatus(context.Background(), mill())
				return err
			},
		},
		"a dependency without a kind": {
			reply: saying(`,"dependencies":[{"apiVersion":"v1","name":"x"}]`), err: "it has no kind",
			ask: func(kinds interpreter.Interpreter) error {
				_, err := kinds.Dependencies(context.Background(), mill())
				return err
			},
		},
		"a patch without a type": {reply: saying(`,"patch":"W10="`), ask: retain, err: "there is no patchType with it"},
		"a type without a patch": {reply: saying(`,"patchType":"JSONPatch"`), ask: retain, err: "there is a patchType without a patch"},
		"a patch of another type": {
			reply: saying(`,"patch":"W10=","patchType":"MergePatch"`), ask: retain, err: `patchType is "MergePatch"; it must be JSONPatch`,
		},
		"a patch that is none": {reply: saying(`,"patch":"e30=","patchType":"JSONPatch"`), ask: retain, err: "it is no JSON patch"},
		"a patch that makes another object": { // replaces /kind by Pod
			reply: saying(`,"patchType":"JSONPatch","patch":"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9raW5kIiwidmFsdWUiOiJQb2QifV0="`),
			ask:   retain, err: "it makes another object of it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			calls := 0
			s := serve(t, func(w http.ResponseWriter, uid string) {
				if calls++; calls == 1 {
					tc.reply(w, uid)
					return
				}
				saying(`,"healthy":true`)(w, uid)
			})
			kinds := asking(s.hook(), nil)
			ask := tc.ask
			if ask == nil {
				ask = func(kinds interpreter.Interpreter) error {
					_, err := kinds.Health(t.Context(), mill())
					return err
				}
			}
			g.Expect(ask(kinds)).To(MatchError(And(
				HavePrefix(`asking webhook "farm/mills.example.com" for `), ContainSubstring(`of Mill "farm/old": `), ContainSubstring(tc.err),
			)))
			g.Expect(kinds.Health(t.Context(), mill())).To(Equal(workv1alpha1.Healthy))
		})
	}
}

func TestAWebhookThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	release := make(chan struct{})
	s := serve(t, func(http.ResponseWriter, string) { <-release })
	t.Cleanup(func() { close(release) })
	hook := s.hook()
	hook.TimeoutSeconds = new(int32(1))
	health, err := asking(hook, nil).Health(t.Context(), mill())
	g.Expect(err).To(MatchError(ContainSubstring("no answer within 1s; check that it runs, or set a longer timeoutSeconds")))
	g.Expect(health).To(Equal(workv1alpha1.Unknown))
	g.Expect(s.query).To(Equal("timeout=1s"))
}

func TestACertificateOfAnotherAuthorityIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hook := serve(t, saying(`,"healthy":true`)).hook()
	hook.ClientConfig.CABundle = nil
	_, err := asking(hook, nil).Health(t.Context(), mill())
	g.Expect(err).To(MatchError(ContainSubstring("certificate")))
}

// services holds at most one Service.
type services struct {
	client.Reader

	spec *corev1.ServiceSpec
}

func (s services) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.spec == nil {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	if service, ok := obj.(*corev1.Service); ok {
		service.Spec = *s.spec
	}
	return nil
}

func TestAServiceIsResolved(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spec func(ip string, port int32) *corev1.ServiceSpec
		err  string // of the connection; the certificate of the server is for example.com
	}{
		"by its cluster IP": {
			spec: func(ip string, port int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: port}}}
			},
			err: "not mills.farm.svc",
		},
		"by its external name": {
			spec: func(ip string, _ int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: ip}
			},
			err: "not mills.farm.svc",
		},
		"without the port": {
			spec: func(ip string, _ int32) *corev1.ServiceSpec { return &corev1.ServiceSpec{ClusterIP: ip} },
			err:  `service "farm/mills" has no port`,
		},
		"headless": {
			spec: func(_ string, port int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: port}}}
			},
			err: "is headless",
		},
		"by DNS if there is none": {
			spec: func(string, int32) *corev1.ServiceSpec { return nil },
			err:  "lookup mills.farm.svc",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := serve(t, saying(`,"healthy":true`))
			ip, text, err := net.SplitHostPort(s.Listener.Addr().String())
			g.Expect(err).NotTo(HaveOccurred())
			port, err := strconv.ParseInt(text, 10, 32)
			g.Expect(err).NotTo(HaveOccurred())
			hook := s.hook()
			hook.ClientConfig = configv1alpha1.WebhookClientConfig{CABundle: s.ca(), Service: &configv1alpha1.ServiceReference{
				Namespace: "farm", Name: "mills", Path: new("/ask"), Port: new(int32(port)),
			}}
			_, err = asking(hook, services{spec: tc.spec(ip, int32(port))}).Health(t.Context(), mill())
			g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
		})
	}
}

func FuzzPatchedAnswers(f *testing.F) {
	f.Add([]byte(`{"response":{}}`))
	f.Add([]byte(`{"response":{"uid":"UID","successful":true` + jsonPatch + `}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		s := serve(t, func(w http.ResponseWriter, uid string) {
			_, _ = io.WriteString(w, strings.ReplaceAll(string(body), "UID", uid))
		})
		kinds := asking(s.hook(), nil)
		if obj, err := kinds.Retain(t.Context(), mill(), mill()); err == nil && obj.GetKind() != "Mill" {
			t.Fatalf("the answer %q made a %q", body, obj.GetKind())
		}
		kinds.Close()
	})
}
