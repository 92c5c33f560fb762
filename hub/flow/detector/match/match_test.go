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

func deployment() selector.Target {
	return selector.Target{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web",
		Labels: map[string]string{"app": "web"},
	}
}

func byName() policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
}

func byLabel() policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{
		APIVersion: "apps/v1", Kind: "Deployment",
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
}

func byKind() policyv1alpha1.ResourceSelector {
	return policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment"}
}

func policy(name string, priority *int32, selectors ...policyv1alpha1.ResourceSelector) *policyv1alpha1.PropagationPolicy {
	return &policyv1alpha1.PropagationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       policyv1alpha1.PropagationSpec{ResourceSelectors: selectors, Priority: priority},
	}
}

func TestBest(t *testing.T) {
	t.Parallel()
	deleting := policy("a", ptr.To[int32](9), byName())
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	service := byName()
	service.Kind = "Service"
	elsewhere := byName()
	elsewhere.Namespace = "other"

	cases := map[string]struct {
		policies []policyv1alpha1.Policy
		want     string
	}{
		"no policy, no winner": {},
		"a policy that selects something else does not win": {
			policies: []policyv1alpha1.Policy{policy("a", nil, service), policy("b", nil, elsewhere)},
		},
		"a name beats labels": {
			policies: []policyv1alpha1.Policy{policy("a", nil, byLabel()), policy("b", nil, byName())}, want: "b",
		},
		"labels beat the kind alone": {
			policies: []policyv1alpha1.Policy{policy("a", nil, byKind()), policy("b", nil, byLabel())}, want: "b",
		},
		"the best selector of a policy counts": {
			policies: []policyv1alpha1.Policy{policy("a", nil, byLabel()), policy("b", nil, byKind(), byName())}, want: "b",
		},
		"an explicit priority beats a precise selector": {
			policies: []policyv1alpha1.Policy{policy("a", nil, byName()), policy("b", ptr.To[int32](1), byKind())}, want: "b",
		},
		"a missing priority counts as zero and beats a negative one": {
			policies: []policyv1alpha1.Policy{policy("a", ptr.To[int32](-1), byName()), policy("b", nil, byKind())}, want: "b",
		},
		"among equals the first name wins": {
			policies: []policyv1alpha1.Policy{policy("b", nil, byName()), policy("a", ptr.To[int32](0), byName())}, want: "a",
		},
		"a policy that is being deleted does not win": {
			policies: []policyv1alpha1.Policy{deleting, policy("b", nil, byKind())}, want: "b",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for range 2 {
				got := Best(tc.policies, deployment())
				if tc.want == "" {
					g.Expect(got).To(BeNil())
				} else {
					g.Expect(got).NotTo(BeNil())
					g.Expect(got.GetName()).To(Equal(tc.want))
				}
				slices.Reverse(tc.policies) // the order of the list must not matter
			}
		})
	}
}

func TestSelects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Selects(policy("a", nil, byKind()), deployment())).To(BeTrue())
	other := policy("a", nil, byKind())
	other.Namespace = "other"
	g.Expect(Selects(other, deployment())).To(BeFalse(), "a namespaced policy does not reach into another namespace")
	wide := &policyv1alpha1.ClusterPropagationPolicy{
		Spec: policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{byKind()}},
	}
	g.Expect(Selects(wide, deployment())).To(BeTrue())
	clusterScoped := selector.Target{APIVersion: "v1", Kind: "Namespace", Name: "shop"}
	ns := policyv1alpha1.ResourceSelector{APIVersion: "v1", Kind: "Namespace"}
	g.Expect(Selects(policy("a", nil, ns), clusterScoped)).To(BeFalse(), "a namespaced policy selects nothing that is cluster-scoped")
}
