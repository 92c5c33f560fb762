package explain_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/hub/people/explain"
)

func TestNearMisses(t *testing.T) {
	t.Parallel()
	target := web()
	target.Labels = map[string]string{"app": "shop"}
	selecting := func(s policyv1alpha1.ResourceSelector) policyv1alpha1.ResourceSelector {
		if s.APIVersion == "" {
			s.APIVersion = "apps/v1"
		}
		if s.Kind == "" {
			s.Kind = "Deployment"
		}
		return s
	}
	app := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": value}}
	}
	for name, tc := range map[string]struct {
		selector policyv1alpha1.ResourceSelector
		// why is what does not match, empty if the policy is not listed; beside says that it is listed even if another
		// policy selects the object.
		why    string
		beside bool
	}{
		"it selects it":                     {policyv1alpha1.ResourceSelector{Name: "web"}, "", false},
		"another kind":                      {policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "ConfigMap", Name: "web"}, "", false},
		"the kind as kubectl takes it":      {policyv1alpha1.ResourceSelector{Kind: "deployments", Name: "web"}, "says the kind deployments, which is written Deployment", true},
		"a version that is not there":       {policyv1alpha1.ResourceSelector{APIVersion: "apps/v1beta1", Name: "web"}, "says apps/v1beta1, which the hub does not serve: write apps/v1", true},
		"a group that it was of once":       {policyv1alpha1.ResourceSelector{APIVersion: "extensions/v1beta1", Name: "web"}, "says extensions/v1beta1, but this object is of apps/v1", true},
		"another value of a label":          {policyv1alpha1.ResourceSelector{LabelSelector: app("web")}, "requires the label app=web, but this object has app=shop", true},
		"a label that it has not":           {policyv1alpha1.ResourceSelector{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "a"}}}, "requires the label tier=a, but this object has no tier", true},
		"labels that cannot be read":        {policyv1alpha1.ResourceSelector{LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Is"}}}}, "has a labelSelector that cannot be read", true},
		"a slip in the name":                {policyv1alpha1.ResourceSelector{Name: "wbe"}, "says the name wbe", true},
		"a name that begins like that":      {policyv1alpha1.ResourceSelector{Name: "web-server"}, "says the name web-server", true},
		"another name":                      {policyv1alpha1.ResourceSelector{Name: "checkout"}, "says the name checkout", false},
		"another name, of another version":  {policyv1alpha1.ResourceSelector{APIVersion: "apps/v1beta1", Name: "checkout"}, "", false},
		"a slip in the name and in a label": {policyv1alpha1.ResourceSelector{Kind: "deployment", Name: "wep"}, "says the kind deployment, which is written Deployment, and says the name wep", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			p := policy("shop", "p", 0, "")
			p.PropagationSpec().ResourceSelectors = []policyv1alpha1.ResourceSelector{selecting(policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "Secret"}), selecting(tc.selector)}
			all := []policyv1alpha1.Policy{p, policy("shop", "has", 0, "web")}
			for _, listed := range [][]explain.Policy{explain.Policies(all[:1], nil, false, target), explain.Policies(all, all[1], true, target)} {
				got := explain.NearMisses(all[:1], listed, target)
				if tc.why == "" || len(listed) > 0 && !tc.beside {
					g.Expect(got).To(BeEmpty())
					continue
				}
				g.Expect(got).To(ConsistOf(And(HaveField("Name", "p"), HaveField("Why", HavePrefix("resourceSelectors[1] "+tc.why)))))
			}
		})
	}
}

func TestTheNearestMissesComeFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	all := []policyv1alpha1.Policy{policy("", "wide", 0, "wep"), policy("shop", "slip", 0, "wep")}
	for i := range 9 {
		all = append(all, policy("shop", fmt.Sprint("other-", i), 0, fmt.Sprint("checkout-", i)))
	}
	namespaced := policy("", "elsewhere", 0, "web")
	namespaced.PropagationSpec().ResourceSelectors[0].Namespace = "stage"
	all = append(all, namespaced)
	var names []string
	for _, miss := range explain.NearMisses(all, nil, web()) {
		names = append(names, miss.Name)
	}
	g.Expect(names).To(Equal([]string{"slip", "elsewhere", "wide", "other-0", "other-1"}))
}
