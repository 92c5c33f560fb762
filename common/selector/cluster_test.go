package selector_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

func edge(change func(*clusterv1alpha1.Cluster)) *clusterv1alpha1.Cluster {
	c := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Labels: map[string]string{"site": "shop"}},
		Spec:       clusterv1alpha1.ClusterSpec{Provider: "acme", Region: "north", Zones: []string{"n1", "n2"}},
	}
	if change != nil {
		change(c)
	}
	return c
}

func byField(key string, op corev1.NodeSelectorOperator, values ...string) *policyv1alpha1.ClusterAffinity {
	return &policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}},
	}}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	shops := &metav1.LabelSelector{MatchLabels: map[string]string{"site": "shop"}}
	ships := &metav1.LabelSelector{MatchLabels: map[string]string{"site": "ship"}}
	oldZone := edge(func(c *clusterv1alpha1.Cluster) { c.Spec.Zone, c.Spec.Zones = "n1", nil })
	bothZones := edge(func(c *clusterv1alpha1.Cluster) { c.Spec.Zone = "old" })
	bare := edge(func(c *clusterv1alpha1.Cluster) { c.Labels, c.Spec = nil, clusterv1alpha1.ClusterSpec{} })
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf("edge-%d", i)
	}

	tests := map[string]struct {
		affinity *policyv1alpha1.ClusterAffinity
		cluster  *clusterv1alpha1.Cluster
		want     bool
	}{
		"no affinity picks every cluster":             {nil, edge(nil), true},
		"an empty affinity picks every cluster":       {&policyv1alpha1.ClusterAffinity{}, edge(nil), true},
		"empty parts pick every cluster":              {&policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{}, FieldSelector: &policyv1alpha1.FieldSelector{}, ClusterNames: []string{}}, edge(nil), true},
		"a listed name is picked":                     {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2", "edge-1"}}, edge(nil), true},
		"a name that is not listed is not":            {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-2"}}, edge(nil), false},
		"a long list is searched":                     {&policyv1alpha1.ClusterAffinity{ClusterNames: many}, edge(nil), true},
		"a long list that has it not":                 {&policyv1alpha1.ClusterAffinity{ClusterNames: many[2:]}, edge(nil), false},
		"an excluded name is never picked":            {&policyv1alpha1.ClusterAffinity{ClusterNames: []string{"edge-1"}, ExcludeClusters: []string{"edge-1"}}, edge(nil), false},
		"exclusion of others does no harm":            {&policyv1alpha1.ClusterAffinity{ExcludeClusters: many[2:]}, edge(nil), true},
		"labels that hold":                            {&policyv1alpha1.ClusterAffinity{LabelSelector: shops}, edge(nil), true},
		"labels that do not hold":                     {&policyv1alpha1.ClusterAffinity{LabelSelector: ships}, edge(nil), false},
		"all parts must hold":                         {&policyv1alpha1.ClusterAffinity{LabelSelector: ships, ClusterNames: []string{"edge-1"}}, edge(nil), false},
		"an invalid label selector picks nothing":     {&policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}}}}, edge(nil), false},
		"its provider is listed":                      {byField("provider", corev1.NodeSelectorOpIn, "acme", "x"), edge(nil), true},
		"its provider is excluded":                    {byField("provider", corev1.NodeSelectorOpNotIn, "acme"), edge(nil), false},
		"a cluster without provider is not excluded":  {byField("provider", corev1.NodeSelectorOpNotIn, "acme"), bare, true},
		"a cluster without provider is not listed":    {byField("provider", corev1.NodeSelectorOpIn, "acme"), bare, false},
		"its region is listed":                        {byField("region", corev1.NodeSelectorOpIn, "north"), edge(nil), true},
		"its region is not listed":                    {byField("region", corev1.NodeSelectorOpIn, "south"), edge(nil), false},
		"any of its zones suffices to be in":          {byField("zone", corev1.NodeSelectorOpIn, "n2", "n9"), edge(nil), true},
		"none of its zones is in":                     {byField("zone", corev1.NodeSelectorOpIn, "n9"), edge(nil), false},
		"any of its zones suffices not to be outside": {byField("zone", corev1.NodeSelectorOpNotIn, "n2"), edge(nil), false},
		"none of its zones is excluded":               {byField("zone", corev1.NodeSelectorOpNotIn, "n9"), edge(nil), true},
		"a cluster without zones is in none":          {byField("zone", corev1.NodeSelectorOpIn, "n1", ""), bare, false},
		"a cluster without zones is outside all":      {byField("zone", corev1.NodeSelectorOpNotIn, "n1"), bare, true},
		"the deprecated zone is read":                 {byField("zone", corev1.NodeSelectorOpIn, "n1"), oldZone, true},
		"the deprecated zone can exclude":             {byField("zone", corev1.NodeSelectorOpNotIn, "n1"), oldZone, false},
		"zones go before the deprecated zone":         {byField("zone", corev1.NodeSelectorOpIn, "old"), bothZones, false},
		"a field that does not exist picks nothing":   {byField("planet", corev1.NodeSelectorOpNotIn, "mars"), edge(nil), false},
		"an operator that is not offered":             {byField("region", corev1.NodeSelectorOpExists), edge(nil), false},
		"two expressions must both hold":              {&policyv1alpha1.ClusterAffinity{FieldSelector: &policyv1alpha1.FieldSelector{MatchExpressions: append(byField("region", corev1.NodeSelectorOpIn, "north").FieldSelector.MatchExpressions, byField("provider", corev1.NodeSelectorOpIn, "x").FieldSelector.MatchExpressions...)}}, edge(nil), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(selector.Cluster(tt.affinity, tt.cluster)).To(Equal(tt.want))
		})
	}
}

func TestCompileClusterSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := selector.CompileCluster(byField("planet", corev1.NodeSelectorOpIn, "mars"))
	g.Expect(err).To(MatchError(ContainSubstring("fieldSelector.matchExpressions[0]")))
	_, err = selector.CompileCluster(byField("zone", corev1.NodeSelectorOpGt, "1"))
	g.Expect(err).To(MatchError(ContainSubstring(`"Gt"`)))
	_, err = selector.CompileCluster(&policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"not a key": ""}}})
	g.Expect(err).To(MatchError(ContainSubstring("labelSelector")))
}

// FuzzCluster checks that an exclusion wins over everything else in an affinity, and that names narrow and never
// widen.
func FuzzCluster(f *testing.F) {
	f.Add("edge-1", "edge-1", "site", "shop", "zone", "In", "n1")
	f.Add("edge-1", "", "", "", "region", "NotIn", "north")
	f.Add("", "edge-1", "not a key", "", "planet", "Exists", "")
	f.Fuzz(func(t *testing.T, name, listed, key, value, field, operator, fieldValue string) {
		g := NewWithT(t)
		c := edge(func(c *clusterv1alpha1.Cluster) { c.Name = name })
		a := byField(field, corev1.NodeSelectorOperator(operator), fieldValue)
		if key != "" {
			a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
		}
		wide := selector.Cluster(a, c)
		a.ClusterNames = []string{listed}
		g.Expect(selector.Cluster(a, c)).To(Equal(wide && name == listed))
		a.ExcludeClusters = []string{name}
		g.Expect(selector.Cluster(a, c)).To(BeFalse())
	})
}

func BenchmarkClusterMatcher(b *testing.B) {
	clusters := make([]*clusterv1alpha1.Cluster, 100)
	for i := range clusters {
		clusters[i] = edge(func(c *clusterv1alpha1.Cluster) { c.Name = fmt.Sprintf("edge-%d", i) })
	}
	a := byField("region", corev1.NodeSelectorOpIn, "north")
	a.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"site": "shop"}}
	b.ReportAllocs()
	for b.Loop() {
		m, err := selector.CompileCluster(a)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range clusters {
			m.Matches(c)
		}
	}
}

func BenchmarkResource(b *testing.B) {
	selectors := []policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}), deployment(nil)}
	target := selector.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", Labels: map[string]string{"app": "web"}}
	b.ReportAllocs()
	for b.Loop() {
		selector.Resource(selectors, target)
	}
}
