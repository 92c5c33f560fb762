package thirdparty

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
)

// clusters is how many report in these tests.
const clusters = 5000

// many returns the reports of many clusters, with conditions that differ in everything that can differ.
func many(tb testing.TB, message string, reasons int) []workv1alpha2.AggregatedStatusItem {
	tb.Helper()
	out := make([]workv1alpha2.AggregatedStatusItem, clusters)
	for i := range out {
		conditions := []map[string]any{
			{"type": "Ready", "status": "False", "reason": fmt.Sprintf("Reason%d", i%reasons), "message": message, "lastTransitionTime": "2026-01-01T10:00:00Z", "observedGeneration": 4},
			{"type": "Reconciling", "status": "True", "reason": "Progressing", "message": message, "lastTransitionTime": "2026-01-01T10:00:00Z", "observedGeneration": 4},
			{"type": fmt.Sprintf("Own%d", i%reasons), "status": "True", "reason": "Own", "lastTransitionTime": "2026-01-01T10:00:00Z"},
		}
		raw, err := json.Marshal(map[string]any{"observedGeneration": 4, "generation": 4, "resourceTemplateGeneration": 2, "conditions": conditions})
		if err != nil {
			tb.Fatal(err)
		}
		out[i] = workv1alpha2.AggregatedStatusItem{ClusterName: fmt.Sprintf("edge-%d", i), Applied: true, Status: &runtime.RawExtension{Raw: raw}}
	}
	return out
}

// merging are a kind that lists the conditions of all clusters, and one that has one per type.
func merging() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
	}
}

// TestManyClustersFitIntoAStatus has 5,000 clusters report long messages: for every kind the aggregated status must
// be one that the API accepts, with messages of up to 32 KiB.
func TestManyClustersFitIntoAStatus(t *testing.T) {
	t.Parallel()
	rules, err := New(vm.Options{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, items := range map[string][]workv1alpha2.AggregatedStatusItem{
		"a reason for each":  many(t, strings.Repeat("é", 200), clusters),
		"one reason for all": many(t, strings.Repeat("é", 200), 1),
		"very long messages": many(t, strings.Repeat("é", 20000), 1)[:400],
	} {
		for _, kind := range merging() {
			t.Run(kind.Kind+", "+name, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				out, err := rules.AggregateStatus(t.Context(), object(kind, map[string]any{"metadata": map[string]any{"name": "x", "generation": 2}}), items)
				g.Expect(err).NotTo(HaveOccurred())
				status, ok := out.Object["status"].(map[string]any)
				g.Expect(ok).To(BeTrue())
				conditions, ok := status["conditions"].([]any)
				g.Expect(ok).To(BeTrue())
				g.Expect(len(conditions)).To(And(BeNumerically(">", 0), BeNumerically("<=", 50)))
				for _, entry := range conditions {
					condition, _ := entry.(map[string]any)
					message, _ := condition["message"].(string)
					g.Expect(len(message)).To(BeNumerically("<", 10_000))
					g.Expect(strings.ToValidUTF8(message, "?")).To(Equal(message))
				}
			})
		}
	}
}

// BenchmarkManyClusters measures the aggregation of 5,000 clusters' reports: decoding them, running the rule and
// building the status.
func BenchmarkManyClusters(b *testing.B) {
	rules, err := New(vm.Options{})
	if err != nil {
		b.Fatal(err)
	}
	items := many(b, "applied revision 1.2.3", 1)
	for _, kind := range merging() {
		b.Run(kind.Kind, func(b *testing.B) {
			q := interpreter.Question{Operation: interpreter.AggregateStatus, Object: object(kind, map[string]any{"metadata": map[string]any{"name": "x", "generation": 2}}), Items: items}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := q.Ask(context.Background(), rules); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
