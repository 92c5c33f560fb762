package webhook_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	path    string
	query   string

	accepted atomic.Int32
}

func serve(t *testing.T, reply func(w http.ResponseWriter, uid string)) *server {
	t.Helper()
	return serveOver(t, true, reply)
}

func serveOver(t *testing.T, http2 bool, reply func(w http.ResponseWriter, uid string)) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var question configv1alpha1.ResourceInterpreterContext
		if err := json.Unmarshal(body, &question); err != nil || question.Request == nil {
			http.Error(w, "not a question", http.StatusBadRequest)
			return
		}
		s.request, s.path, s.query = *question.Request, r.URL.Path, r.URL.RawQuery
		reply(w, string(question.Request.UID))
	}))
	s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate(t)}}
	s.EnableHTTP2 = http2
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.accepted.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// certificate returns one that is for a Service and for the address of a server.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	g := NewWithT(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	g.Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"mills.farm.svc"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	g.Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
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

// statusPatch sets status to {"turning":true}, and spec.stones to 7.
const statusPatch = `,"patchType":"JSONPatch","patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL3N0YXR1cyIsInZhbHVlIjp7InR1cm5pbmciOnRydWV9fSx7Im9wIjoicmVwbGFjZSIsInBhdGgiOiIvc3BlYy9zdG9uZXMiLCJ2YWx1ZSI6N31d"`

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
		interpreter.AggregateStatus: {statusPatch, func(ctx context.Context, g Gomega, kinds interpreter.Interpreter) error {
			template := mill()
			items := []workv1alpha2.AggregatedStatusItem{{ClusterName: "edge"}}
			obj, err := kinds.AggregateStatus(ctx, template, items)
			g.Expect(obj.Object).To(HaveKeyWithValue("status", map[string]any{"turning": true}))
			g.Expect(obj.Object).To(HaveKeyWithValue("spec", template.Object["spec"]), "only the status is taken over")
			g.Expect(template).To(Equal(mill()))
			g.Expect(kinds.AggregateStatus(ctx, obj, items)).To(BeIdenticalTo(obj), "nothing changes any more")
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
	g.Expect(revised).To(BeIdenticalTo(template))
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
			err:   "it answered 500 Internal Server Error; see its own log",
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
		"a status that is no object": { // the Work would be refused as a whole
			reply: saying(`,"rawStatus":"fine"`), err: "response.rawStatus is required, and must be an object",
			ask: func(kinds interpreter.Interpreter) error {
				_, err := kinds.ReflectStatus(context.Background(), mill())
				return err
			},
		},
		"a component of less than nothing": {
			reply: saying(`,"components":[{"name":"stone","replicas":-1}]`), err: `"stone" with -1 replicas`,
			ask: func(kinds interpreter.Interpreter) error {
				_, err := kinds.Components(context.Background(), mill())
				return err
			},
		},
		"an amount of too many digits": { // which take minutes to be read
			reply: saying(`,"replicas":1,"replicaRequirements":{"resourceRequest":{"cpu":"1e-999999999"}}`), err: "the exponent of a quantity is at most 30",
		},
		"an amount of too many digits of a component": {
			reply: saying(`,"components":[{"name":"x","replicaRequirements":{"resourceRequest":{"cpu":"1e999999999","cpu":"1"}}}]`), err: "the exponent of a quantity is at most 30",
		},
		"an amount of less than nothing": { // which would make room in a quota
			reply: saying(`,"replicas":1,"replicaRequirements":{"resourceRequest":{"cpu":"-1000"}}`), err: "an amount is not less than 0, but this is -1k",
		},
		"an amount of less than nothing of a component": {
			reply: saying(`,"components":[{"name":"x","replicaRequirements":{"resourceRequest":{"cpu":-1}}}]`), err: "an amount is not less than 0, but this is -1",
		},
		"requirements of another shape": {reply: saying(`,"replicaRequirements":[]`), err: "the answer is no ResourceInterpreterContext"},
		"replicas of less than nothing": {
			reply: saying(`,"replicas":-1`), err: "response.replicas is -1; it must not be negative",
			ask: func(kinds interpreter.Interpreter) error {
				_, _, err := kinds.Replicas(context.Background(), mill())
				return err
			},
		},
		"a huge header": {
			reply: func(w http.ResponseWriter, _ string) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, err: "no answer",
		},
		"an answer that ends too early": {
			reply: func(w http.ResponseWriter, _ string) {
				w.Header().Set("Content-Length", "100")
				_, _ = io.WriteString(w, "{")
			},
			err: "no answer",
		},
		"a patch that does not apply": { // replaces /spec/wheels
			reply: saying(`,"patchType":"JSONPatch","patch":"W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL3doZWVscyIsInZhbHVlIjo3fV0="`),
			ask:   retain, err: "response.patch: applying it",
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

// connections returns how many were made.
func (s *server) connections() int { return int(s.accepted.Load()) }

func TestAConnectionServesManyQuestions(t *testing.T) {
	t.Parallel()
	for name, http2 := range map[string]bool{"HTTP/2": true, "HTTP/1.1": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			calls := 0
			s := serveOver(t, http2, func(w http.ResponseWriter, uid string) {
				if calls++; calls == 2 { // an answer that is not wanted does not cost the connection
					http.Error(w, "out of grain", http.StatusInternalServerError)
					return
				}
				saying(`,"healthy":true`)(w, uid)
			})
			kinds := asking(s.hook(), nil)
			for i := range 5 {
				_, err := kinds.Health(t.Context(), mill())
				g.Expect(err != nil).To(Equal(i == 1))
			}
			g.Expect(s.connections()).To(Equal(1))
			kinds.Close()
			g.Expect(kinds.Health(t.Context(), mill())).To(Equal(workv1alpha1.Healthy), "also after the configuration changed")
		})
	}
}

func TestNoErrorTellsASecret(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const password = "open-sesame"
	s := serve(t, func(w http.ResponseWriter, _ string) {
		http.Error(w, "what to make of "+password+"?", http.StatusInternalServerError)
	})
	hook := s.hook()
	hook.Rules[0].APIGroups, hook.Rules[0].Kinds = []string{"*"}, []string{"*"}
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key", "namespace": "farm"}, "data": map[string]any{"password": password},
	}}
	_, err := asking(hook, nil).Retain(t.Context(), secret, secret)
	g.Expect(err).To(MatchError(And(ContainSubstring("it answered 500"), Not(ContainSubstring(password)))))

	s.Close()
	for _, url := range []string{s.URL + "/ask?token=" + password, "https://me:" + password + "@" + s.Listener.Addr().String(), "http://me:" + password + "@mills", "https://a b/?" + password} {
		hook.ClientConfig.URL = new(url)
		_, err = asking(hook, nil).Health(t.Context(), mill())
		g.Expect(err).To(MatchError(Not(ContainSubstring(password))))
	}
}

func TestAURLKeepsItsQuery(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := serve(t, saying(`,"healthy":true`))
	hook := s.hook()
	hook.ClientConfig.URL = new(s.URL + "/ask?key=a%26b")
	g.Expect(asking(hook, nil).Health(t.Context(), mill())).To(Equal(workv1alpha1.Healthy))
	g.Expect(s.query).To(Equal("key=a%26b&timeout=10s"))
}

func TestAWebhookThatHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	asked, release := make(chan struct{}), make(chan struct{})
	s := serve(t, func(http.ResponseWriter, string) {
		close(asked)
		<-release
	})
	t.Cleanup(func() { close(release) })
	hook := s.hook()
	hook.TimeoutSeconds = new(int32(1))
	health, err := asking(hook, nil).Health(t.Context(), mill())
	g.Expect(err).To(MatchError(ContainSubstring("no answer within 1s; check that it runs, or set a longer timeoutSeconds")))
	g.Expect(health).To(Equal(workv1alpha1.Unknown))
	<-asked
	g.Expect(s.query).To(Equal("timeout=1s"))
}

func TestABodyThatNeverEndsIsGivenUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	release := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, _ string) {
		_, _ = io.WriteString(w, "{")
		_ = http.NewResponseController(w).Flush()
		<-release
	})
	t.Cleanup(func() { close(release) })
	hook := s.hook()
	hook.TimeoutSeconds = new(int32(1))
	_, err := asking(hook, nil).Health(t.Context(), mill())
	g.Expect(err).To(MatchError(ContainSubstring("no answer within 1s")))
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
		name string // mills if empty
		err  string // none if empty
	}{
		"by its cluster IP": {
			spec: func(ip string, port int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: 80}, {Port: port}}}
			},
		},
		"and must be the one that the certificate is for": {
			spec: func(ip string, port int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{ClusterIP: ip, Ports: []corev1.ServicePort{{Port: port}}}
			},
			name: "barns", err: "not barns.farm.svc",
		},
		"by its external name": {
			spec: func(ip string, _ int32) *corev1.ServiceSpec {
				return &corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: ip}
			},
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
				Namespace: "farm", Name: cmp.Or(tc.name, "mills"), Path: new("ask/all"), Port: new(int32(port)),
			}}
			_, err = asking(hook, services{spec: tc.spec(ip, int32(port))}).Health(t.Context(), mill())
			if tc.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(s.path).To(Equal("/ask/all"))
				return
			}
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
