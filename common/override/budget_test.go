package override_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/override"
)

// TestWorkIsBounded is the attack of a tenant with policies and objects of the largest size that the API accepts,
// crafted to take minutes. All rules share the budget, and the error names the rule that exceeds it.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	const add, remove, replace = policyv1alpha1.OverrideAdd, policyv1alpha1.OverrideRemove, policyv1alpha1.OverrideReplace
	many := func(n int) (out []any) {
		for range n {
			out = append(out, object{"name": "web", "image": "nginx:1"})
		}
		return out
	}
	pod := func(containers []any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: object{
			"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "web", "namespace": "shop"}, "spec": object{"containers": containers},
		}}
	}
	repeated := func(n int, o policyv1alpha1.Overriders) (out policyv1alpha1.Overriders) {
		for range n {
			out.ImageOverrider = append(out.ImageOverrider, o.ImageOverrider...)
			out.CommandOverrider = append(out.CommandOverrider, o.CommandOverrider...)
			out.ArgsOverrider = append(out.ArgsOverrider, o.ArgsOverrider...)
			out.FieldOverrider = append(out.FieldOverrider, o.FieldOverrider...)
			out.Plaintext = append(out.Plaintext, o.Plaintext...)
		}
		return out
	}
	words := make([]string, 50_000)
	for i := range words {
		words[i] = "w"
	}
	list := "[" + strings.TrimSuffix(strings.Repeat("1,", 100_000), ",") + "]"
	text := pod(nil)
	text.SetAnnotations(map[string]string{"a": `{"x":` + list + `}`})
	long := &unstructured.Unstructured{Object: object{
		"apiVersion": "example.com/v1", "kind": "Long", "metadata": object{"name": "web", "namespace": "shop"}, "spec": make([]any, 500_000),
	}}
	owned := pod(nil)
	owned.SetFinalizers(words)
	rules := make([]policyv1alpha1.Overriders, 2_000)
	for i := range rules {
		rules[i] = note("x")
	}

	tests := map[string]struct {
		of    *unstructured.Unstructured
		rules []policyv1alpha1.Overriders
		want  string
	}{
		"images": {pod(many(1000)), []policyv1alpha1.Overriders{repeated(1000, policyv1alpha1.Overriders{
			ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: policyv1alpha1.ImageTag, Operator: replace, Value: "2"}},
		})}, "overrideRules[0]"},
		"containers of another name": {pod(many(1000)), []policyv1alpha1.Overriders{repeated(1000, policyv1alpha1.Overriders{
			CommandOverrider: []policyv1alpha1.CommandArgsOverrider{{ContainerName: "none", Operator: add, Value: []string{"a"}}},
		})}, "commandOverrider["},
		"arguments": {pod(many(1)), []policyv1alpha1.Overriders{repeated(50, policyv1alpha1.Overriders{
			ArgsOverrider: []policyv1alpha1.CommandArgsOverrider{{ContainerName: "web", Operator: add, Value: words}},
		})}, "argsOverrider["},
		"texts": {text, []policyv1alpha1.Overriders{repeated(30, policyv1alpha1.Overriders{
			FieldOverrider: []policyv1alpha1.FieldOverrider{{FieldPath: "/metadata/annotations/a", YAML: []policyv1alpha1.YAMLPatchOperation{
				{SubPath: "/x/0", Operator: remove},
			}}},
		})}, "fieldOverrider["},
		"elements of a list in a text": {text, []policyv1alpha1.Overriders{{FieldOverrider: []policyv1alpha1.FieldOverrider{{
			FieldPath: "/metadata/annotations/a", JSON: make([]policyv1alpha1.JSONPatchOperation, 10_000),
		}}}}, "fieldOverrider[0]"},
		"elements of a list":         {long, []policyv1alpha1.Overriders{repeated(1000, plain(remove, "/spec/0", ""))}, "plaintext["},
		"operations of two rules":    {pod(nil), []policyv1alpha1.Overriders{repeated(60_000, plain(add, "/spec/x", "1")), repeated(60_000, plain(add, "/spec/x", "1"))}, "overrideRules[1]"},
		"what no rule may change":    {owned, rules, "overrideRules["},
		"what people may well write": {pod(many(20)), []policyv1alpha1.Overriders{repeated(1000, plain(add, "/spec/x", "1"))}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			_, err := override.Apply(tt.of, edge("edge-1"), override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("p", everywhere(tt.rules...))}})
			if tt.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring("more than 100000 steps"), ContainSubstring(`OverridePolicy "shop/p"`), ContainSubstring(tt.want))))
		})
	}
}

// TestTheOperationThatFailsIsFound checks that the error names the failing one of thousands of operations on a text,
// without applying all earlier ones again for each. It is not parallel, since it measures the allocations of the
// process.
func TestTheOperationThatFailsIsFound(t *testing.T) {
	const count = 5_000
	for _, failing := range []int{0, 1, 1234, count - 2, count - 1} {
		g := NewWithT(t)
		in := deployment()
		in.SetAnnotations(map[string]string{"a": `{"x":1,"y":[]}`})
		field := policyv1alpha1.FieldOverrider{FieldPath: "/metadata/annotations/a"}
		for i := range count {
			o := policyv1alpha1.JSONPatchOperation{SubPath: "/x", Operator: policyv1alpha1.OverrideReplace, Value: raw("1")}
			if i >= failing && i%2 == failing%2 {
				o.SubPath = "/none"
			}
			field.JSON = append(field.JSON, o)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := with(in, policyv1alpha1.Overriders{FieldOverrider: []policyv1alpha1.FieldOverrider{field}})
		runtime.ReadMemStats(&after)
		g.Expect(err).To(MatchError(And(ContainSubstring(fmt.Sprintf("json[%d], ", failing)), ContainSubstring("there is nothing at this path"))))
		g.Expect((after.TotalAlloc-before.TotalAlloc)>>20).To(BeNumerically("<", 128), "MiB")
	}
}
