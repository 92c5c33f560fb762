package webhook_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
)

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
