package override_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/override"
	"fairlead.dev/common/selector"
)

func TestPlaintext(t *testing.T) {
	t.Parallel()
	const add, replace, remove = policyv1alpha1.OverrideAdd, policyv1alpha1.OverrideReplace, policyv1alpha1.OverrideRemove
	tests := map[string]struct {
		operator    policyv1alpha1.OverriderOperator
		path, value string
		at          []string
		want        any
		wantError   string
	}{
		"a number is replaced":                       {replace, "/spec/replicas", "2", []string{"spec", "replicas"}, int64(2), ""},
		"a large number keeps its value":             {replace, "/spec/replicas", "9007199254740993", []string{"spec", "replicas"}, int64(9007199254740993), ""},
		"add to what exists replaces it":             {add, "/spec/replicas", "3", []string{"spec", "replicas"}, int64(3), ""},
		"add makes a field":                          {add, "/spec/paused", "true", []string{"spec", "paused"}, true, ""},
		"a whole object is added":                    {add, "/metadata/annotations", `{"a":"b"}`, []string{"metadata", "annotations"}, object{"a": "b"}, ""},
		"a slash in a key is written ~1":             {add, "/metadata/labels/a~1b", `"c"`, []string{"metadata", "labels", "a/b"}, "c", ""},
		"a field is removed":                         {remove, "/spec/replicas", "", []string{"spec", "replicas"}, nil, ""},
		"add without a value is refused":             {add, "/spec/paused", "", nil, nil, `plaintext[0], path "/spec/paused": it has no value to set`},
		"replace without a value is refused":         {replace, "/spec/replicas", "", nil, nil, "use remove to take the field away"},
		"null is no value, either":                   {replace, "/spec/replicas", "null", nil, nil, "it has no value to set"},
		"replace of what is missing fails":           {replace, "/spec/none", "1", nil, nil, "use add"},
		"remove of what is missing fails":            {remove, "/spec/none", "", nil, nil, "nothing at this path"},
		"add below what is missing fails":            {add, "/spec/none/deeper", "1", nil, nil, "parent"},
		"an element beyond the list fails":           {replace, "/spec/template/spec/containers/7/image", `"x"`, nil, nil, "nothing at this path"},
		"a path that is no pointer fails":            {replace, "spec/replicas", "1", nil, nil, "spec/replicas"},
		"the object cannot become something else":    {replace, "/kind", `"Pod"`, nil, nil, "apiVersion and kind"},
		"the object cannot become a number":          {replace, "", "1", nil, nil, "plaintext"},
		"the metadata cannot go":                     {remove, "/metadata", "", nil, nil, "metadata"},
		"an operator that does not exist is refused": {"copy", "/spec/replicas", "1", nil, nil, "plaintext[0]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out, err := with(deployment(), plain(tt.operator, tt.path, tt.value))
			if tt.wantError != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tt.wantError)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at(g, out, tt.at...)).To(be(tt.want))
		})
	}
}

func TestPlaintextIsOnePatch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{
		{Path: "/spec/template/spec/containers/-", Operator: policyv1alpha1.OverrideAdd, Value: raw(`{"name":"new"}`)},
		{Path: "/spec/template/spec/containers/2/image", Operator: policyv1alpha1.OverrideAdd, Value: raw(`"redis"`)},
	}}
	out, err := with(deployment(), o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(container(g, out, 2)).To(Equal(object{"name": "new", "image": "redis"}), "each operation sees those before it")

	o.Plaintext = append(o.Plaintext, policyv1alpha1.PlaintextOverrider{Path: "/none", Operator: policyv1alpha1.OverrideRemove})
	_, err = with(deployment(), o)
	g.Expect(err).To(MatchError(ContainSubstring("plaintext[2]")))
}

// TestClustersDoNotShareValues checks that a change to one cluster's object does not affect the others'.
func TestClustersDoNotShareValues(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{
		{Path: "/spec/strategy", Operator: policyv1alpha1.OverrideAdd, Value: raw(`{"list":[1]}`)},
		{Path: "/spec/strategy/list/-", Operator: policyv1alpha1.OverrideAdd, Value: raw("2")},
		{Path: "/spec/strategy/type", Operator: policyv1alpha1.OverrideAdd, Value: raw(`"Recreate"`)},
	}}
	plan := override.Select(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("p", everywhere(o))}}, selector.TargetOf(deployment()))
	for _, name := range []string{"edge-1", "edge-2", "edge-3"} {
		out, err := plan.Apply(deployment(), edge(name))
		g.Expect(err).NotTo(HaveOccurred())
		strategy, ok := at(g, out.Object, "spec", "strategy").(object)
		g.Expect(ok).To(BeTrue())
		g.Expect(strategy).To(Equal(object{"list": []any{int64(1), int64(2)}, "type": "Recreate"}), name)
		strategy["of"] = name
	}
}

func TestOrderWithinARule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := plain(policyv1alpha1.OverrideReplace, "/metadata/labels/app", `"plaintext"`)
	o.LabelsOverrider = []policyv1alpha1.LabelAnnotationOverrider{{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"app": "labels"}}}
	out, err := with(deployment(), o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.GetLabels()).To(HaveKeyWithValue("app", "plaintext"))
}

func TestCommandAndArgs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		o             policyv1alpha1.CommandArgsOverrider
		command, args any
	}{
		"values are appended, a list is made":   {policyv1alpha1.CommandArgsOverrider{ContainerName: "web", Operator: policyv1alpha1.OverrideAdd, Value: []string{"x", "y"}}, []any{"run", "fast", "x", "y"}, []any{"x", "y"}},
		"every equal value is removed":          {policyv1alpha1.CommandArgsOverrider{ContainerName: "web", Operator: policyv1alpha1.OverrideRemove, Value: []string{"fast", "z"}}, []any{"run"}, []any{}},
		"another container is left alone":       {policyv1alpha1.CommandArgsOverrider{ContainerName: "log", Operator: policyv1alpha1.OverrideAdd, Value: []string{"x"}}, []any{"run", "fast"}, nil},
		"a container that is not there is fine": {policyv1alpha1.CommandArgsOverrider{ContainerName: "none", Operator: policyv1alpha1.OverrideAdd, Value: []string{"x"}}, []any{"run", "fast"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			both := []policyv1alpha1.CommandArgsOverrider{tt.o}
			out, err := with(deployment(), policyv1alpha1.Overriders{CommandOverrider: both, ArgsOverrider: both})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(container(g, out, 0)["command"]).To(be(tt.command))
			g.Expect(container(g, out, 0)["args"]).To(be(tt.args))
		})
	}
}

func TestCommandAndArgsOfAnInitContainer(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	both := []policyv1alpha1.CommandArgsOverrider{{ContainerName: "init", Operator: policyv1alpha1.OverrideAdd, Value: []string{"x"}}}
	out, err := with(deployment(), policyv1alpha1.Overriders{CommandOverrider: both, ArgsOverrider: both})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at(g, out, "spec", "template", "spec", "initContainers")).To(Equal([]any{
		object{"name": "init", "image": "busybox:1", "command": []any{"x"}, "args": []any{"x"}},
	}))
	g.Expect(at(g, out, "spec", "template", "spec", "containers")).To(Equal(at(g, deployment(), "spec", "template", "spec", "containers")))
}

func TestLabelsAndAnnotations(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		operator policyv1alpha1.OverriderOperator
		value    map[string]string
		labels   map[string]string
		notes    map[string]string
	}{
		"add sets and overwrites":                {policyv1alpha1.OverrideAdd, map[string]string{"app": "x", "new": "y"}, map[string]string{"app": "x", "new": "y"}, map[string]string{"app": "x", "new": "y"}},
		"replace touches only what is there":     {policyv1alpha1.OverrideReplace, map[string]string{"app": "x", "new": "y"}, map[string]string{"app": "x"}, nil},
		"remove takes away whatever value it is": {policyv1alpha1.OverrideRemove, map[string]string{"app": "z", "new": "y"}, map[string]string{}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			both := []policyv1alpha1.LabelAnnotationOverrider{{Operator: tt.operator, Value: tt.value}}
			out, err := with(deployment(), policyv1alpha1.Overriders{LabelsOverrider: both, AnnotationsOverrider: both})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.GetLabels()).To(Equal(tt.labels))
			g.Expect(out.GetAnnotations()).To(Equal(tt.notes))
			g.Expect(at(g, out, "spec", "template", "metadata")).To(BeNil(), "pod templates are left alone")
		})
	}
}

func TestField(t *testing.T) {
	t.Parallel()
	config := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c"}, "data": object{
			"j.json": `{"db": {"host": "a", "port": 9007199254740993}}`,
			"y/aml":  "db:\n  port: 1 # the port\n  host: a\n",
			"text":   "neither: [",
		}}}
	}
	change := func(op policyv1alpha1.OverriderOperator, path string, value apiextensionsv1.JSON) []policyv1alpha1.JSONPatchOperation {
		return []policyv1alpha1.JSONPatchOperation{{SubPath: path, Operator: op, Value: value}}
	}
	yamlOf := func(list []policyv1alpha1.JSONPatchOperation) []policyv1alpha1.YAMLPatchOperation {
		out := make([]policyv1alpha1.YAMLPatchOperation, len(list))
		for i := range list {
			out[i] = policyv1alpha1.YAMLPatchOperation(list[i])
		}
		return out
	}
	host := change(policyv1alpha1.OverrideReplace, "/db/host", raw(`"b"`))
	none := change(policyv1alpha1.OverrideReplace, "/db/none", raw(`"b"`))
	tests := map[string]struct {
		o         policyv1alpha1.FieldOverrider
		key, want string
		wantError string
	}{
		"JSON is patched and written compactly":   {policyv1alpha1.FieldOverrider{FieldPath: "/data/j.json", JSON: host}, "j.json", `{"db":{"host":"b","port":9007199254740993}}`, ""},
		"YAML is patched":                         {policyv1alpha1.FieldOverrider{FieldPath: "/data/y~1aml", YAML: yamlOf(host)}, "y/aml", "db:\n  host: b\n  port: 1\n", ""},
		"YAML wins over JSON":                     {policyv1alpha1.FieldOverrider{FieldPath: "/data/y~1aml", YAML: yamlOf(host), JSON: none}, "y/aml", "db:\n  host: b\n  port: 1\n", ""},
		"neither changes nothing":                 {policyv1alpha1.FieldOverrider{FieldPath: "/data/text"}, "text", "neither: [", ""},
		"a string that is no JSON is an error":    {policyv1alpha1.FieldOverrider{FieldPath: "/data/y~1aml", JSON: host}, "", "", "not JSON"},
		"a string that is no YAML is an error":    {policyv1alpha1.FieldOverrider{FieldPath: "/data/text", YAML: yamlOf(host)}, "", "", "not YAML"},
		"a path that is missing in it is one too": {policyv1alpha1.FieldOverrider{FieldPath: "/data/j.json", JSON: none}, "", "", `"/db/none"`},
		"so is one that is missing in the YAML":   {policyv1alpha1.FieldOverrider{FieldPath: "/data/y~1aml", YAML: yamlOf(none)}, "", "", `"/db/none"`},
		"and a field that is missing":             {policyv1alpha1.FieldOverrider{FieldPath: "/data/none", JSON: host}, "", "", "fieldPath"},
		"and a field that is no string":           {policyv1alpha1.FieldOverrider{FieldPath: "/data", JSON: host}, "", "", "not a string"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out, err := with(config(), policyv1alpha1.Overriders{FieldOverrider: []policyv1alpha1.FieldOverrider{tt.o}})
			if tt.wantError != "" {
				g.Expect(err).To(MatchError(And(ContainSubstring("fieldOverrider[0]"), ContainSubstring(tt.wantError))))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at(g, out, "data", tt.key)).To(Equal(tt.want))
		})
	}
}

// FuzzApply checks that no override panics, modifies its input, or gives different results for the same input, and
// that replacing is idempotent.
func FuzzApply(f *testing.F) {
	f.Add("/spec/replicas", "replace", "2", "Tag", "replace", "1.28", "/spec/template/spec/containers/0/image")
	f.Add("/metadata/annotations", "add", `{"a":"b"}`, "Registry", "add", "mirror.local", "")
	f.Add("/spec/template/spec/containers/-", "add", "{}", "Repository", "remove", "", "/spec/template/spec/containers/1/image")
	f.Add("", "remove", "", "Tag", "add", "@", "/")
	f.Add("/spec/template/spec/containers/-1", "remove", "[", "Registry", "replace", "a b", "/spec/template/~/0")
	f.Fuzz(func(t *testing.T, path, operator, value, component, imageOperator, imageValue, predicate string) {
		g := NewWithT(t)
		o := plain(policyv1alpha1.OverriderOperator(operator), path, value)
		o.ImageOverrider = []policyv1alpha1.ImageOverrider{{
			Component: policyv1alpha1.ImageComponent(component), Operator: policyv1alpha1.OverriderOperator(imageOperator), Value: imageValue,
		}}
		if predicate != "" {
			o.ImageOverrider[0].Predicate = &policyv1alpha1.ImagePredicate{Path: predicate}
		}
		in := deployment()
		first, err := with(in, o)
		g.Expect(in).To(Equal(deployment()))
		again, errAgain := with(in, o)
		g.Expect(errAgain == nil).To(Equal(err == nil))
		if err != nil {
			g.Expect(err.Error()).To(ContainSubstring(`ClusterOverridePolicy "p"`))
			return
		}
		g.Expect(again).To(Equal(first))
		if operator != "replace" || imageOperator != "replace" || strings.Contains(path, "containers") {
			return
		}
		twice, err := with(first, o)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(twice).To(Equal(first))
	})
}

func BenchmarkSelectNothing(b *testing.B) {
	policies := override.Policies{}
	for range 100 {
		p := namespaced("p", everywhere(note("x")))
		p.Namespace = "other"
		policies.Namespaced = append(policies.Namespaced, p)
	}
	obj, cluster := deployment(), edge("edge-1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := override.Apply(obj, cluster, policies); err != nil {
			b.Fatal(err)
		}
	}
}
