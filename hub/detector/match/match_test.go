package match

import (
	"regexp"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		"no priority is zero and beats a negative one": {
			policies: []policyv1alpha1.Policy{policy("a", ptr.To[int32](-1), byName()), policy("b", nil, byKind())}, want: "b",
		},
		"between equals the first name wins": {
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
				slices.Reverse(tc.policies) // the order of the list does not matter
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

func TestReservedKind(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind schema.GroupVersionKind
		want bool
	}{
		"a Work":                           {schema.GroupVersionKind{Group: "work.karmada.io", Version: "v1alpha1", Kind: "Work"}, true},
		"a Cluster":                        {schema.GroupVersionKind{Group: "cluster.karmada.io", Version: "v1alpha1", Kind: "Cluster"}, true},
		"an event of the core group":       {schema.GroupVersionKind{Version: "v1", Kind: "Event"}, true},
		"an event":                         {schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, true},
		"a lease":                          {schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, true},
		"a Deployment is not":              {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, false},
		"a ConfigMap is not":               {schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, false},
		"another group's Event is not":     {schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Event"}, false},
		"a search registry is not, either": {schema.GroupVersionKind{Group: "search.karmada.io", Version: "v1alpha1", Kind: "R"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(ReservedKind(tc.kind)).To(Equal(tc.want))
		})
	}
}

func TestExcludes(t *testing.T) {
	t.Parallel()
	e := NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("kube-.*"), regexp.MustCompile("a|ab")})
	in := func(namespace string) selector.Target {
		return selector.Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "c"}
	}
	namespace := func(name string) selector.Target {
		return selector.Target{APIVersion: "v1", Kind: "Namespace", Name: name}
	}
	cases := map[string]struct {
		target selector.Target
		want   bool
	}{
		"the system namespace":                             {in("karmada-system"), true},
		"the namespace of leases":                          {in("karmada-cluster"), true},
		"an execution namespace":                           {in("karmada-es-edge-1"), true},
		"a namespace by expression":                        {in("kube-system"), true},
		"such a namespace itself":                          {namespace("kube-system"), true},
		"an execution namespace itself":                    {namespace("karmada-es-edge-1"), true},
		"an expression must match from the start":          {in("my-kube-system"), false},
		"any alternative of an expression":                 {in("ab"), true},
		"and to the end":                                   {in("abc"), false},
		"a user's namespace":                               {in("shop"), false},
		"a user's namespace itself":                        {namespace("shop"), false},
		"another cluster-scoped object of such a name":     {selector.Target{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "kube-system"}, false},
		"a Namespace of another group is no namespace":     {selector.Target{APIVersion: "example.com/v1", Kind: "Namespace", Name: "kube-system"}, false},
		"an object elsewhere whose name is a reserved one": {selector.Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "kube-system"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(e.Excludes(tc.target)).To(Equal(tc.want))
		})
	}
}
