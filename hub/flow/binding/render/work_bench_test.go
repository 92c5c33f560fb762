package render_test

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/override"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/render"
)

func BenchmarkWork(b *testing.B) {
	in := input(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := render.Work(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWorkWithOverride(b *testing.B) {
	in := input(nil)
	in.Overrides = override.Select(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{relabel()}}, selector.TargetOf(in.Template))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := render.Work(in); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWorkOf20kB renders a large template with three override rules.
func BenchmarkWorkOf20kB(b *testing.B) {
	in := input(nil)
	containers, _, err := unstructured.NestedSlice(in.Template.Object, "spec", "template", "spec", "containers")
	if err != nil || len(containers) == 0 {
		b.Fatal("the template has no containers", err)
	}
	var env []any
	for i := range 250 {
		env = append(env, map[string]any{"name": fmt.Sprintf("VARIABLE_%03d", i), "value": strings.Repeat("v", 40)})
	}
	container, ok := containers[0].(map[string]any)
	if !ok {
		b.Fatal("a container is no object")
	}
	container["env"] = env
	if err := unstructured.SetNestedSlice(in.Template.Object, containers, "spec", "template", "spec", "containers"); err != nil {
		b.Fatal(err)
	}
	data, err := in.Template.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	in.Overrides = override.Select(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{{
		ObjectMeta: metav1.ObjectMeta{Namespace: in.Template.GetNamespace(), Name: "three"},
		Spec: policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{
			{Overriders: policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{
				{Component: policyv1alpha1.ImageRegistry, Operator: policyv1alpha1.OverrideReplace, Value: "mirror.local"},
			}}},
			{Overriders: policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{
				{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"site": "edge-1"}},
			}}},
			{Overriders: policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{
				{Path: "/spec/replicas", Operator: policyv1alpha1.OverrideReplace, Value: apiextensionsv1.JSON{Raw: []byte("7")}},
			}}},
		}},
	}}}, selector.TargetOf(in.Template))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := render.Work(in); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(data)), "template-bytes")
}

// BenchmarkWorkOfMany measures the rendering of one of many Works while the application leaves another cluster.
func BenchmarkWorkOfMany(b *testing.B) {
	for _, n := range []int{100, 5000} {
		in := input(func(in *render.Input) {
			spec := in.Binding.BindingSpec()
			spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: "edge-0", PurgeMode: policyv1alpha1.PurgeGracefully}}
			for i := range n {
				spec.Clusters = append(spec.Clusters, workv1alpha2.TargetCluster{Name: fmt.Sprintf("edge-%05d", i), Replicas: 1})
			}
		})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := render.Work(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
