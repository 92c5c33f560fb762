package selector_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

func deployment(change func(*policyv1alpha1.ResourceSelector)) policyv1alpha1.ResourceSelector {
	s := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}
	if change != nil {
		change(&s)
	}
	return s
}

func byLabels(s *metav1.LabelSelector) policyv1alpha1.ResourceSelector {
	return deployment(func(r *policyv1alpha1.ResourceSelector) { r.LabelSelector = s })
}

func TestResource(t *testing.T) {
	t.Parallel()
	web := selector.Target{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web",
		Labels: map[string]string{"app": "web", "tier": ""},
	}
	all := deployment(nil)
	byName := deployment(func(r *policyv1alpha1.ResourceSelector) { r.Name = "web" })
	byApp := byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}})
	invalid := byLabels(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like", Values: []string{"w"}}}})

	tests := map[string]struct {
		selectors []policyv1alpha1.ResourceSelector
		target    selector.Target
		want      selector.Priority
	}{
		"no selectors pick nothing":                     {nil, web, selector.NoMatch},
		"a bare selector picks all of the kind":         {[]policyv1alpha1.ResourceSelector{all}, web, selector.MatchAll},
		"a name is the most precise":                    {[]policyv1alpha1.ResourceSelector{byName}, web, selector.MatchName},
		"labels are more precise than all":              {[]policyv1alpha1.ResourceSelector{all, byApp}, web, selector.MatchLabelSelector},
		"the most precise of several counts":            {[]policyv1alpha1.ResourceSelector{all, byName, byApp}, web, selector.MatchName},
		"an invalid one does not hide a valid one":      {[]policyv1alpha1.ResourceSelector{invalid, all}, web, selector.MatchAll},
		"an invalid label selector picks nothing":       {[]policyv1alpha1.ResourceSelector{invalid}, web, selector.NoMatch},
		"an empty label selector picks everything":      {[]policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{})}, web, selector.MatchLabelSelector},
		"an empty label selector picks without labels":  {[]policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{})}, selector.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "x"}, selector.MatchLabelSelector},
		"a label that has another value is no match":    {[]policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}})}, web, selector.NoMatch},
		"an empty value is not an absent label":         {[]policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"none": ""}})}, web, selector.NoMatch},
		"an empty value equals an empty value":          {[]policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"tier": ""}})}, web, selector.MatchLabelSelector},
		"expressions are evaluated":                     {[]policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"web", "db"}}, {Key: "gone", Operator: metav1.LabelSelectorOpDoesNotExist}}})}, web, selector.MatchLabelSelector},
		"expressions and labels must both hold":         {[]policyv1alpha1.ResourceSelector{byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}, MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}})}, web, selector.NoMatch},
		"with a name the label selector does not count": {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.Name, r.LabelSelector = "web", invalid.LabelSelector })}, web, selector.MatchName},
		"with another name labels do not count either":  {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.Name, r.LabelSelector = "db", byApp.LabelSelector })}, web, selector.NoMatch},
		"another kind is no match":                      {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.Kind = "StatefulSet" })}, web, selector.NoMatch},
		"the kind is compared with its case":            {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.Kind = "deployment" })}, web, selector.NoMatch},
		"another version of the group is no match":      {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.APIVersion = "apps/v1beta1" })}, web, selector.NoMatch},
		"its own namespace is a match":                  {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.Namespace = "shop" })}, web, selector.MatchAll},
		"another namespace is no match":                 {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.Namespace, r.Name = "other", "web" })}, web, selector.NoMatch},
		"a namespace never picks a cluster-scoped one":  {[]policyv1alpha1.ResourceSelector{deployment(func(r *policyv1alpha1.ResourceSelector) { r.Namespace = "shop" })}, selector.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, selector.NoMatch},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(selector.Resource(tt.selectors, tt.target)).To(Equal(tt.want))

			backwards := slices.Clone(tt.selectors)
			slices.Reverse(backwards)
			g.Expect(selector.Resource(backwards, tt.target)).To(Equal(tt.want), "the order of selectors does not matter")
		})
	}
}

// TestExpressionsAreEvaluatedAsTheAPIDoes compares with apimachinery's selectors; a selector that those reject
// matches nothing.
func TestExpressionsAreEvaluatedAsTheAPIDoes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for _, key := range []string{"app", "gone", "not a key", ""} {
		for _, op := range []metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Like", ""} {
			for _, values := range [][]string{nil, {""}, {"web"}, {"db", "web"}, {"db"}, {"not a value!"}} {
				s := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: op, Values: values}}}
				for _, set := range []map[string]string{nil, {"app": "web"}, {"app": "", "gone": "x"}} {
					want := selector.NoMatch
					if parsed, err := metav1.LabelSelectorAsSelector(s); err == nil && parsed.Matches(labels.Set(set)) {
						want = selector.MatchLabelSelector
					}
					got := selector.Resource([]policyv1alpha1.ResourceSelector{byLabels(s)}, selector.Target{APIVersion: "apps/v1", Kind: "Deployment", Labels: set})
					g.Expect(got).To(Equal(want), "%v of %v", s, set)
				}
			}
		}
	}
}

func TestTargetOfReadsTheTemplate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	obj.SetNamespace("shop")
	obj.SetName("settings")
	obj.SetLabels(map[string]string{"a": "b"})
	g.Expect(selector.TargetOf(obj)).To(Equal(selector.Target{
		APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings", Labels: map[string]string{"a": "b"},
	}))
}

func TestValidateResourceNamesTheSelector(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(selector.ValidateResource(nil)).To(Succeed())
	good := byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}})
	bad := byLabels(&metav1.LabelSelector{MatchLabels: map[string]string{"not a key": "b"}})
	g.Expect(selector.ValidateResource([]policyv1alpha1.ResourceSelector{good})).To(Succeed())
	g.Expect(selector.ValidateResource([]policyv1alpha1.ResourceSelector{good, bad})).To(MatchError(ContainSubstring("resourceSelectors[1].labelSelector")))
}

// FuzzResource compares the fast path for label selectors with Kubernetes'.
func FuzzResource(f *testing.F) {
	f.Add("app", "web", "app", "web", "In", "web")
	f.Add("app", "web", "app", "db", "NotIn", "web")
	f.Add("app", "web", "", "", "Exists", "")
	f.Add("not a key", "x", "not a key", "x", "Like", "y")
	f.Add("a", "", "a", "", "", "")
	f.Fuzz(func(t *testing.T, key, value, wantKey, wantValue, operator, listed string) {
		s := &metav1.LabelSelector{}
		if wantKey != "" {
			s.MatchLabels = map[string]string{wantKey: wantValue}
		}
		if operator != "" {
			s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOperator(operator)}}
			if listed != "" {
				s.MatchExpressions[0].Values = []string{listed}
			}
		}
		target := selector.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "x", Labels: map[string]string{key: value}}
		got := selector.Resource([]policyv1alpha1.ResourceSelector{byLabels(s)}, target)

		parsed, err := metav1.LabelSelectorAsSelector(s)
		switch {
		case err != nil && (operator != "" || wantKey != key):
			// If the selector is invalid only because no object can have a label of that form, the fast path may
			// match an object that has the label nevertheless.
			NewWithT(t).Expect(got).To(Equal(selector.NoMatch))
		case err == nil && parsed.Matches(labels.Set(target.Labels)):
			NewWithT(t).Expect(got).To(Equal(selector.MatchLabelSelector))
		case err == nil:
			NewWithT(t).Expect(got).To(Equal(selector.NoMatch))
		}
	})
}
