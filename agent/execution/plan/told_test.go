package plan_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/agent/execution/plan"
)

func TestTold(t *testing.T) {
	t.Parallel()
	applied, refused := plan.Applied, plan.Refused
	a, b, c := outcome(0, "a", applied, ""), outcome(1, "b", applied, ""), outcome(2, "c", applied, "")
	failed := func(o plan.Outcome, why string) plan.Outcome {
		o.Result, o.Message = refused, why
		return o
	}
	nameless := plan.Outcome{Ordinal: 1, Result: refused, Message: "the manifest has no kind"}
	long := strings.Repeat("no ", 1000)
	told := func(outcomes ...plan.Outcome) *metav1.Condition {
		condition := plan.Condition(outcomes)
		return &condition
	}
	for name, tc := range map[string]struct {
		told *metav1.Condition
		of   []plan.Outcome
		want []plan.Outcome
	}{
		"nothing":                         {of: []plan.Outcome{a, b}},
		"all applied":                     {told: told(a, b, c), of: []plan.Outcome{a, b, c}, want: []plan.Outcome{a, b, c}},
		"one refused":                     {told: told(a, failed(b, "no"), c), of: []plan.Outcome{a, b, c}, want: []plan.Outcome{a, failed(b, "no"), c}},
		"two, with what parts them":       {told: told(failed(a, "no; not: at all"), b, failed(c, "no; no")), of: []plan.Outcome{a, b, c}, want: []plan.Outcome{failed(a, "no; not: at all"), b, failed(c, "no; no")}},
		"one that names one before":       {told: told(a, b, failed(c, "no; ConfigMap shop/a: it is there")), of: []plan.Outcome{a, b, c}, want: []plan.Outcome{a, b, failed(c, "no; ConfigMap shop/a: it is there")}},
		"one that names one behind":       {told: told(a, failed(b, "no; ConfigMap shop/c: it is there"), c), of: []plan.Outcome{a, b, c}},
		"one without a name":              {told: told(a, nameless, c), of: []plan.Outcome{a, nameless, c}, want: []plan.Outcome{a, nameless, c}},
		"of as many as there are not":     {told: told(a, failed(b, "no")), of: []plan.Outcome{a, b, c}},
		"of others":                       {told: told(failed(c, "no")), of: []plan.Outcome{a}},
		"cut at the only one that failed": {told: told(a, failed(b, long), c), of: []plan.Outcome{a, b, c}, want: []plan.Outcome{a, failed(b, cut(a, failed(b, long), c)), c}},
		"cut at one of several":           {told: told(a, failed(b, long), failed(c, "no")), of: []plan.Outcome{a, b, c}, want: []plan.Outcome{a}},
		"by somebody else":                {told: &metav1.Condition{Status: metav1.ConditionFalse, Message: "It does not work"}, of: []plan.Outcome{a, b}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var manifests []plan.Manifest
			for _, o := range tc.of {
				manifests = append(manifests, plan.Manifest{Ordinal: o.Ordinal, Object: o.Object})
			}
			got := plan.Told(tc.told, manifests)
			g.Expect(got).To(HaveLen(len(tc.want)))
			for _, want := range tc.want {
				g.Expect(got).To(HaveKeyWithValue(want.Ordinal, want))
			}
		})
	}
}

// cut returns the rest of Condition's message after "shop/b: ", the one that failed.
func cut(outcomes ...plan.Outcome) string {
	_, message, _ := strings.Cut(plan.Condition(outcomes).Message, "shop/b: ")
	return message
}

// TestToldReadsWhatIsReleased parses the messages of released agents, which the hub keeps while the agent is
// upgraded. If the message of Condition is reworded, Told must still parse the old wording.
func TestToldReadsWhatIsReleased(t *testing.T) {
	t.Parallel()
	object := func(ordinal int, kind, namespace, name string) plan.Manifest {
		m := plan.Manifest{Ordinal: ordinal}
		m.Object.Kind, m.Object.Namespace, m.Object.Name = kind, namespace, name
		return m
	}
	manifests := []plan.Manifest{object(0, "Namespace", "", "shop"), object(1, "ConfigMap", "shop", "settings"), {Ordinal: 2}, object(3, "Deployment", "shop", "web")}
	const cut = "Failed to apply all manifests (1/4): ConfigMap shop/settings: no; manifest 2: the manifest has …"
	for name, tc := range map[string]struct {
		status  metav1.ConditionStatus
		message string
		// refused has the reasons by ordinal, and unknown the ordinals of which nothing is known.
		refused map[int]string
		unknown []int
	}{
		"all applied": {status: metav1.ConditionTrue, message: "Manifest has been successfully applied"},
		"some refused": {
			status:  metav1.ConditionFalse,
			message: "Failed to apply all manifests (1/4): Namespace shop: it is held; ConfigMap shop/settings: no; not: at all; manifest 2: the manifest has no kind",
			refused: map[int]string{0: "it is held", 1: "no; not: at all", 2: "the manifest has no kind"},
		},
		"cut": {status: metav1.ConditionFalse, message: cut, refused: map[int]string{1: "no"}, unknown: []int{2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := plan.Told(&metav1.Condition{Status: tc.status, Message: tc.message}, manifests)
			g.Expect(got).To(HaveLen(len(manifests) - len(tc.unknown)))
			for _, m := range manifests {
				want := plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}
				if why, ok := tc.refused[m.Ordinal]; ok {
					want.Result, want.Message = plan.Refused, why
				}
				if !slices.Contains(tc.unknown, m.Ordinal) {
					g.Expect(got).To(HaveKeyWithValue(m.Ordinal, want))
				}
			}
		})
	}
}
