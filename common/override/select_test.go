package override_test

import (
	"encoding/json"
	"math/rand"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/override"
	"fairlead.dev/common/selector"
)

func note(value string) policyv1alpha1.Overriders {
	return policyv1alpha1.Overriders{AnnotationsOverrider: []policyv1alpha1.LabelAnnotationOverrider{
		{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"note": value}},
	}}
}

func TestTheMorePreciseOverrideWinsThenTheLastName(t *testing.T) {
	t.Parallel()
	byName := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	byLabel := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}
	byKind := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}
	other := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "db"}
	elsewhere := namespaced("elsewhere", everywhere(note("elsewhere")))
	elsewhere.Namespace = "other"

	tests := map[string]struct {
		policies override.Policies
		want     any
		applied  []string
	}{
		"no policies, no change":                         {override.Policies{}, nil, nil},
		"a policy without selectors is about everything": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("a", everywhere(note("a")))}}, "a", []string{"a"}},
		"a policy about another object is not applied":   {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("a", about(everywhere(note("a")), other))}}, nil, nil},
		"a policy of another namespace is not applied":   {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{elsewhere}}, nil, nil},
		"the last name wins":                             {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("b", everywhere(note("b"))), namespaced("a", everywhere(note("a")))}}, "b", []string{"a", "b"}},
		"a name wins over labels": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{
			namespaced("a", about(everywhere(note("name")), byName)), namespaced("b", about(everywhere(note("label")), byLabel)),
		}}, "name", []string{"a", "b"}},
		"labels win over the kind": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{
			namespaced("a", about(everywhere(note("label")), byLabel)), namespaced("b", about(everywhere(note("kind")), byKind)),
		}}, "label", []string{"a", "b"}},
		"no selectors are as good as the kind": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{
			namespaced("a", about(everywhere(note("kind")), byKind)), namespaced("b", everywhere(note("none"))),
		}}, "none", []string{"a", "b"}},
		"a namespaced policy wins over a more precise cluster-wide one": {override.Policies{
			Cluster:    []policyv1alpha1.ClusterOverridePolicy{clusterWide("z", about(everywhere(note("cluster")), byName))},
			Namespaced: []policyv1alpha1.OverridePolicy{namespaced("a", everywhere(note("namespace")))},
		}, "namespace", []string{"z", "a"}},
		"the last rule of a policy wins": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("a", everywhere(note("1"), note("2")))}}, "2", []string{"a", "a"}},
		"the deprecated form is one rule": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{
			namespaced("a", policyv1alpha1.OverrideSpec{Overriders: note("old"), TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-1"}}}),
		}}, "old", []string{"a"}},
		"the deprecated form has a target too": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{
			namespaced("a", policyv1alpha1.OverrideSpec{Overriders: note("old"), TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}}),
		}}, nil, nil},
		"rules go before the deprecated form": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{
			namespaced("a", func() policyv1alpha1.OverrideSpec { s := everywhere(note("new")); s.Overriders = note("old"); return s }()),
		}}, "new", []string{"a"}},
		"a rule that says nothing is not listed": {override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("a", everywhere(policyv1alpha1.Overriders{}))}}, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for range 5 {
				rand.Shuffle(len(tt.policies.Namespaced), func(i, j int) {
					tt.policies.Namespaced[i], tt.policies.Namespaced[j] = tt.policies.Namespaced[j], tt.policies.Namespaced[i]
				})
				in := deployment()
				out, err := override.Apply(in, edge("edge-1"), tt.policies)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(at(g, out.Object, "metadata", "annotations", "note")).To(be(tt.want), "the order in which policies are listed does not matter")
				g.Expect(in).To(Equal(deployment()), "the object is not changed")
				var applied []string
				for _, a := range append(out.Cluster, out.Namespaced...) {
					applied = append(applied, a.PolicyName)
				}
				g.Expect(applied).To(Equal(tt.applied))

				kept, err := json.Marshal(override.Select(tt.policies, selector.TargetOf(in)).Rules())
				g.Expect(err).NotTo(HaveOccurred())
				var rules []override.Rule
				g.Expect(json.Unmarshal(kept, &rules)).To(Succeed())
				again, err := override.Of(rules).Apply(deployment(), edge("edge-1"))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(again).To(BeComparableTo(out), "rules that were kept do what they did")
			}
		})
	}
}

func TestRulesAreForTheirClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	spec := policyv1alpha1.OverrideSpec{OverrideRules: []policyv1alpha1.RuleWithCluster{
		{TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}, Overriders: note("two")},
		{TargetCluster: &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": "ship"}}}, Overriders: note("ship")},
	}}
	plan := override.Select(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("a", spec)}}, selector.TargetOf(deployment()))
	g.Expect(plan.Empty()).To(BeFalse())
	ship := edge("edge-3")
	ship.Labels["site"] = "ship"
	for cluster, want := range map[string]any{"edge-1": nil, "edge-2": "two", "edge-3": "ship"} {
		c := edge(cluster)
		if cluster == "edge-3" {
			c = ship
		}
		out, err := plan.Apply(deployment(), c)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(at(g, out.Object, "metadata", "annotations", "note")).To(be(want), cluster)
	}
}

func TestOnlyClusterWidePoliciesAreAboutClusterScopedTemplates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	template := deployment()
	template.SetNamespace("")
	atNowhere := namespaced("n", everywhere(note("n")))
	atNowhere.Namespace = ""
	out, err := override.Apply(template, edge("edge-1"), override.Policies{
		Cluster:    []policyv1alpha1.ClusterOverridePolicy{clusterWide("c", everywhere(note("c")))},
		Namespaced: []policyv1alpha1.OverridePolicy{atNowhere},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at(g, out.Object, "metadata", "annotations", "note")).To(Equal("c"))
}

func TestAnnotationsListWhatWasApplied(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	byName := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	out, err := override.Apply(deployment(), edge("edge-1"), override.Policies{
		Cluster: []policyv1alpha1.ClusterOverridePolicy{clusterWide("c", everywhere(plain(policyv1alpha1.OverrideReplace, "/spec/replicas", "2")))},
		Namespaced: []policyv1alpha1.OverridePolicy{
			namespaced("a", about(everywhere(note("1"), note("2")), byName)),
			namespaced("b", everywhere(note("3"))),
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	annotations, err := out.Annotations()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(annotations).To(Equal(map[string]string{
		contract.AppliedClusterOverridesAnnotation: `[{"policyName":"c","overriders":{"plaintext":[{"path":"/spec/replicas","operator":"replace","value":2}]}}]`,
		contract.AppliedOverridesAnnotation: `[{"policyName":"a","overriders":{"annotationsOverrider":[{"operator":"add","value":{"note":"1"}}]}},` +
			`{"policyName":"a","overriders":{"annotationsOverrider":[{"operator":"add","value":{"note":"2"}}]}},` +
			`{"policyName":"b","overriders":{"annotationsOverrider":[{"operator":"add","value":{"note":"3"}}]}}]`,
	}))
	nothing, err := override.Result{}.Annotations()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(nothing).To(BeEmpty())
}

func TestErrorsNameThePolicyAndTheRule(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	missing := everywhere(note("1"), plain(policyv1alpha1.OverrideReplace, "/spec/nowhere", "2"))
	_, err := override.Apply(deployment(), edge("edge-1"), override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("a", missing)}})
	for _, part := range []string{`overrideRules[1]`, `OverridePolicy "shop/a"`, `cluster "edge-1"`, `plaintext[0]`, `"/spec/nowhere"`, `use add`} {
		g.Expect(err).To(MatchError(ContainSubstring(part)))
	}
	g.Expect(err).To(MatchError(Not(ContainSubstring("overrideRules[0]"))))

	invalid := policyv1alpha1.OverrideSpec{Overriders: note("x"), TargetCluster: &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"not a key": ""}}}}
	_, err = override.Apply(deployment(), edge("edge-1"), override.Policies{Cluster: []policyv1alpha1.ClusterOverridePolicy{clusterWide("c", invalid)}})
	g.Expect(err).To(MatchError(And(ContainSubstring(`ClusterOverridePolicy "c"`), ContainSubstring("targetCluster"))))

	_, err = override.Apply(deployment(), nil, override.Policies{Cluster: []policyv1alpha1.ClusterOverridePolicy{clusterWide("c", everywhere(note("x")))}})
	g.Expect(err).To(HaveOccurred(), "policies apply, but the cluster is not known")
	_, err = override.Apply(deployment(), nil, override.Policies{})
	g.Expect(err).NotTo(HaveOccurred(), "without policies it need not be")
}
