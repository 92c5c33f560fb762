package match

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/selector"
)

const beta, stable, next = "example.com/v1beta1", "example.com/v1", "example.com/v2"

// database returns a template in one version.
func database(apiVersion string) selector.Target {
	return selector.Target{APIVersion: apiVersion, Kind: "Database", Namespace: "shop", Name: "orders", Labels: map[string]string{"app": "orders"}}
}

// as selects it by name in a version; every selects any name.
func as(apiVersion string) policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: "Database", Name: "orders"}
}

func every(apiVersion string) policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: apiVersion, Kind: "Database"}
}

func TestVersions(t *testing.T) {
	t.Parallel()
	otherGroup, otherKind, otherName := as("example.org/v1"), as(stable), as(stable)
	otherKind.Kind, otherName.Name = "Table", "payments"
	labelled := every(beta)
	labelled.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "orders"}}
	elsewhere := policy("elsewhere", nil, as(stable))
	elsewhere.Namespace = "other"
	for name, tc := range map[string]struct {
		policy policyv1alpha1.Policy
		want   []string
	}{
		"each version once, the newest first": {policy("p", nil, as(beta), as(next), as(stable), every(stable), as("example.com/v1alpha1"), as("example.com/v10")), []string{
			"example.com/v10", next, stable, beta, "example.com/v1alpha1",
		}},
		"other selectors do not matter": {policy("p", nil, otherGroup, otherKind, otherName, as(beta)), []string{beta}},
		"by labels":                     {policy("p", nil, labelled), []string{beta}},
		"none":                          {policy("p", nil, otherName), nil},
		"none for another namespace":    {elsewhere, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Versions(tc.policy, database(stable))).To(Equal(tc.want))
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		selectors []policyv1alpha1.ResourceSelector
		current   string
		watched   []string
		want      string
	}{
		"the only version":                               {[]policyv1alpha1.ResourceSelector{as(beta)}, "", []string{beta}, beta},
		"the version that the policy selects":            {[]policyv1alpha1.ResourceSelector{as(beta)}, "", []string{beta, stable}, beta},
		"the version that the policy selects now":        {[]policyv1alpha1.ResourceSelector{as(stable)}, beta, []string{beta, stable}, stable},
		"the newest of two":                              {[]policyv1alpha1.ResourceSelector{as(beta), as(stable)}, "", []string{beta, stable}, stable},
		"the current one of two":                         {[]policyv1alpha1.ResourceSelector{as(stable), as(beta)}, beta, []string{beta, stable}, beta},
		"the served one of two":                          {[]policyv1alpha1.ResourceSelector{as(next), as(beta)}, next, []string{beta, stable}, beta},
		"the selected version although it is not served": {[]policyv1alpha1.ResourceSelector{as(beta)}, beta, []string{stable, next}, beta},
		"the current one of two that are not served":     {[]policyv1alpha1.ResourceSelector{as(next), as(beta)}, beta, []string{stable}, beta},
		"the newest of two that are not served":          {[]policyv1alpha1.ResourceSelector{as(beta), as(next)}, "", []string{stable}, next},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, read := range tc.watched { // the result is the same in whatever version it is read
				others := slices.DeleteFunc(slices.Clone(tc.watched), func(v string) bool { return v == read })
				NewWithT(t).Expect(Version(policy("p", nil, tc.selectors...), database(read), tc.current, others...)).To(Equal(tc.want), "read as %s", read)
			}
		})
	}
}

func TestPolicyAcrossVersions(t *testing.T) {
	t.Parallel()
	urgent := policy("urgent", ptr.To[int32](1), as(stable))
	urgent.Spec.Preemption = policyv1alpha1.PreemptAlways
	unserved := policy("unserved", ptr.To[int32](1), as(next))
	unserved.Spec.Preemption = policyv1alpha1.PreemptAlways
	wide := &policyv1alpha1.ClusterPropagationPolicy{Spec: policy("", ptr.To[int32](9), as(stable)).Spec}
	wide.Name = "wide"
	going := policy("going", nil, as(beta))
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, tc := range map[string]struct {
		holder         policyv1alpha1.Policy
		candidates     []policyv1alpha1.Policy
		winner, victim string
	}{
		"the holder keeps the template in its version":                                {holder: policy("old", nil, as(beta)), candidates: []policyv1alpha1.Policy{policy("a", nil, as(stable))}, winner: "old"},
		"the holder keeps the template in a version that is not served":               {holder: policy("old", nil, as(next)), candidates: []policyv1alpha1.Policy{policy("a", nil, as(stable))}, winner: "old"},
		"the holder keeps the template if it selects another version":                 {holder: policy("old", nil, as(stable)), candidates: []policyv1alpha1.Policy{policy("a", nil, as(beta))}, winner: "old"},
		"a holder that is being deleted loses the template":                           {holder: going, candidates: []policyv1alpha1.Policy{policy("a", nil, as(stable))}, winner: "a"},
		"a holder of another group loses the template":                                {holder: policy("old", nil, as("example.org/v1")), candidates: []policyv1alpha1.Policy{policy("a", nil, as(stable))}, winner: "a"},
		"a policy that preempts takes the template from another version":              {holder: policy("old", nil, as(beta)), candidates: []policyv1alpha1.Policy{urgent}, winner: "urgent", victim: "old"},
		"a policy that preempts takes the template from a version that is not served": {holder: policy("old", nil, as(next)), candidates: []policyv1alpha1.Policy{urgent}, winner: "urgent", victim: "old"},
		"a policy does not preempt in a version that is not served":                   {holder: policy("old", nil, as(beta)), candidates: []policyv1alpha1.Policy{unserved}, winner: "old"},
		"the more precise policy, in any version":                                     {candidates: []policyv1alpha1.Policy{policy("a", nil, every(stable)), policy("b", nil, as(beta))}, winner: "b"},
		"among equals the first name, in any version":                                 {candidates: []policyv1alpha1.Policy{policy("b", nil, as(stable)), policy("a", nil, as(beta))}, winner: "a"},
		"the policy of the namespace, in any version":                                 {candidates: []policyv1alpha1.Policy{wide, policy("near", nil, every(beta))}, winner: "near"},
		"a policy that selects an unserved version gets nothing":                      {candidates: []policyv1alpha1.Policy{unserved}},
		"a precise selector that is not served does not count":                        {candidates: []policyv1alpha1.Policy{policy("z", nil, every(stable), as(next)), policy("a", nil, every(beta))}, winner: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for _, read := range []string{stable, beta} {
				other := map[string]string{stable: beta, beta: stable}[read]
				for range 2 {
					winner, victim := Policy(tc.holder, tc.candidates, database(read), other)
					g.Expect(nameOf(winner)).To(Equal(tc.winner), "read as %s", read)
					g.Expect(nameOf(victim)).To(Equal(tc.victim), "read as %s", read)
					if winner != nil {
						again, none := Policy(winner, tc.candidates, database(other), read)
						g.Expect(nameOf(again)).To(Equal(tc.winner), "the result is stable")
						g.Expect(none).To(BeNil())
					}
				}
			}
		})
	}
}

func TestWhyNotAcrossVersions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	has, vague := policy("has", nil, as(beta)), policy("vague", nil, every(stable))
	g.Expect(WhyNot(vague, has, true, database(stable), beta)).To(Equal(LessPrecise))
	g.Expect(WhyNot(policy("same", nil, as(stable)), has, true, database(stable), beta)).To(Equal(ClaimedBefore))
}

func nameOf(p policyv1alpha1.Policy) string {
	if p == nil {
		return ""
	}
	return p.GetName()
}
