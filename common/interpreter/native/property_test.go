package native_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
)

// chance generates almost valid values.
type chance struct{ *rand.Rand }

func (c chance) one(of ...any) any { return of[c.IntN(len(of))] }

// almost returns a value with parts of it replaced, omitted or duplicated.
func (c chance) almost(value any) any {
	if c.IntN(12) == 0 {
		return c.one(nil, "", "x", int64(0), int64(-1), int64(3), 1.5, true, []any{}, []any{"x", nil, object{}}, object{}, object{"name": "x"})
	}
	switch v := value.(type) {
	case object:
		out := object{}
		for _, key := range slices.Sorted(func(yield func(string) bool) {
			for key := range v {
				if !yield(key) {
					return
				}
			}
		}) {
			if c.IntN(8) > 0 {
				out[key] = c.almost(v[key])
			}
		}
		return out
	case []any:
		var out []any
		for _, entry := range v {
			for range c.one(0, 1, 1, 1, 2).(int) { //nolint:errcheck,forcetypeassert // They are.
				out = append(out, c.almost(entry))
			}
		}
		return out
	case int64:
		return c.one(v, v, v+1, int64(c.IntN(5)))
	case string:
		return c.one(v, v, v, v, c.one(
			"2026-01-01T00:00:00Z", "2026-01-02T00:00:00+02:00", "Failed", "Pending", "Running", "Succeeded", "Bound", "Lost",
			"Complete", "FailureTarget", "SuccessCriteriaMet", "True", "False", "kubernetes.io/service-account-token",
		))
	default:
		return v
	}
}

// object returns an almost valid object of a kind.
func (c chance) object(k ofAll) *unstructured.Unstructured {
	obj := parsed(usual(k.apiVersion, k.kind, k.spec, k.status))
	for _, field := range []string{"spec", "status", "metadata"} {
		if c.IntN(3) > 0 {
			obj.Object[field] = c.almost(obj.Object[field])
		}
	}
	for _, field := range []string{"secrets", "imagePullSecrets"} {
		obj.Object[field] = c.almost([]any{object{"name": "x"}, object{"name": "y"}, object{}})
	}
	return obj
}

// reports returns the status items of some clusters, for randomly varied objects.
func (c chance) reports(g *WithT, k ofAll) []workv1alpha2.AggregatedStatusItem {
	var items []workv1alpha2.AggregatedStatusItem
	for i := range c.IntN(4) {
		status, ok := c.object(k).Object["status"]
		if !ok || c.IntN(5) == 0 {
			items = append(items, item(fmt.Sprintf("edge-%d", i), ""))
			continue
		}
		raw, err := json.Marshal(status)
		g.Expect(err).NotTo(HaveOccurred())
		items = append(items, item(fmt.Sprintf("edge-%d", i), string(raw)))
	}
	return items
}

// TestPropertiesHold runs the operations on almost valid objects. Each has a seed to reproduce it.
func TestPropertiesHold(t *testing.T) {
	t.Parallel()
	for _, k := range ofKinds() {
		t.Run(k.kind, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(50) {
				propertiesHold(t, k, seed)
			}
		})
	}
}

func FuzzProperties(f *testing.F) {
	f.Add(uint8(0), uint64(0))
	f.Fuzz(func(t *testing.T, kind uint8, seed uint64) {
		propertiesHold(t, ofKinds()[int(kind)%len(ofKinds())], seed)
	})
}

func propertiesHold(t *testing.T, k ofAll, seed uint64) {
	t.Helper()
	g := NewWithT(t)
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	template, live, items := c.object(k), c.object(k), c.reports(g, k)
	before, liveBefore := template.DeepCopy(), live.DeepCopy()
	kinds := native.New()
	at := fmt.Sprintf("%s, seed %d", k.kind, seed)
	has := func(op interpreter.Operation) bool { return kinds.Has(template.GroupVersionKind(), op) }

	if has(interpreter.Retain) {
		if once, err := kinds.Retain(t.Context(), template, live); err == nil {
			twice, err := kinds.Retain(t.Context(), once, live)
			g.Expect(err).NotTo(HaveOccurred(), at)
			g.Expect(twice).To(Equal(once), "%s: retained twice is retained once", at)
		}
	}
	if has(interpreter.AggregateStatus) {
		out, err := kinds.AggregateStatus(t.Context(), template, items)
		turned := slices.Clone(items)
		slices.Reverse(turned)
		again, againErr := kinds.AggregateStatus(t.Context(), template, turned)
		g.Expect(againErr != nil).To(Equal(err != nil), at)
		if err == nil {
			g.Expect(again.Object).To(BeComparableTo(out.Object), "%s: the order of the clusters does not matter", at)
			settled, err := kinds.AggregateStatus(t.Context(), out, items)
			g.Expect(err).NotTo(HaveOccurred(), at)
			g.Expect(settled).To(BeIdenticalTo(out), "%s: nothing changes any more: %v", at, settled.Object["status"])
		}
	}
	for _, op := range []interpreter.Operation{
		interpreter.InterpretReplica, interpreter.ReviseReplica, interpreter.InterpretStatus, interpreter.InterpretHealth, interpreter.InterpretDependency,
	} {
		if has(op) {
			_ = operate(t, kinds, op, template, nil, nil) // an error is an answer
		}
	}
	g.Expect(template).To(Equal(before), "%s: arguments are not changed", at)
	g.Expect(live).To(Equal(liveBefore), "%s: arguments are not changed", at)
}
