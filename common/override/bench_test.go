package override_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/override"
	"fairlead.dev/common/selector"
)

// many returns policies that select the template by labels, each with a patch for the clusters that its rule selects
// by a label, and clusters, each selected by one in a hundred of the policies.
func many(policies, clusters int, app string) (override.Policies, []*clusterv1alpha1.Cluster) {
	var out override.Policies
	for i := range policies {
		spec := about(everywhere(plain(policyv1alpha1.OverrideReplace, "/spec/replicas", fmt.Sprint(i))), policyv1alpha1.ResourceSelector{
			APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{app, "another"}},
			}},
		})
		spec.OverrideRules[0].TargetCluster = &policyv1alpha1.ClusterAffinity{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": fmt.Sprint(i % 100)}},
		}
		out.Namespaced = append(out.Namespaced, namespaced(fmt.Sprintf("p%04d", i), spec))
	}
	all := make([]*clusterv1alpha1.Cluster, clusters)
	for i := range all {
		all[i] = edge(fmt.Sprintf("edge-%d", i))
		all[i].Labels["site"] = fmt.Sprint(i % 100)
	}
	return out, all
}

// BenchmarkManyPolicies measures the selection among a thousand policies, none or all of which match the template,
// and their application for a thousand clusters.
func BenchmarkManyPolicies(b *testing.B) {
	for _, app := range []string{"none", "web"} {
		policies, clusters := many(1000, 1000, app)
		obj := deployment()
		plan := override.Select(policies, selector.TargetOf(obj))
		b.Run("select "+app, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				override.Select(policies, selector.TargetOf(obj))
			}
		})
		b.Run("apply "+app, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range clusters {
					if _, err := plan.Apply(obj.DeepCopy(), c); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkOneRule measures the application of a rule with a large value and a patch of a text for a thousand
// clusters.
func BenchmarkOneRule(b *testing.B) {
	value := "["
	for i := range 500 {
		value += fmt.Sprintf(`{"name":"V%d","value":"x"},`, i)
	}
	value = value[:len(value)-1] + "]"
	_, clusters := many(0, 1000, "")
	for name, o := range map[string]policyv1alpha1.Overriders{
		"plaintext": plain(policyv1alpha1.OverrideAdd, "/spec/template/spec/containers/0/env", value),
		"field": {FieldOverrider: []policyv1alpha1.FieldOverrider{{FieldPath: "/metadata/labels/app", JSON: []policyv1alpha1.JSONPatchOperation{
			{SubPath: "/a", Operator: policyv1alpha1.OverrideAdd, Value: raw(value)},
		}}}},
	} {
		obj := deployment()
		obj.SetLabels(map[string]string{"app": `{"b": 1}`})
		plan := override.Select(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("p", everywhere(o))}}, selector.TargetOf(obj))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, c := range clusters {
					if _, err := plan.Apply(obj.DeepCopy(), c); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
