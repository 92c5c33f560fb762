package selector

import (
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/contract"
)

func TestReservedKind(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind schema.GroupVersionKind
		want bool
	}{
		"a Work":                           {schema.GroupVersionKind{Group: "work.karmada.io", Version: "v1alpha1", Kind: "Work"}, true},
		"a Cluster":                        {schema.GroupVersionKind{Group: "cluster.karmada.io", Version: "v1alpha1", Kind: "Cluster"}, true},
		"a StagedRollout":                  {schema.GroupVersionKind{Group: "fairlead.dev", Version: "v1alpha1", Kind: "StagedRollout"}, true},
		"lines into members":               {schema.GroupVersionKind{Group: "connect.fairlead.dev", Version: "v1alpha1", Kind: "Line"}, true},
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
	e := NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("kube-.*"), regexp.MustCompile("a|ab")}, SkippedKinds{})
	in := func(namespace string) Target {
		return Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: "c"}
	}
	namespace := func(name string) Target {
		return Target{APIVersion: "v1", Kind: "Namespace", Name: name}
	}
	cases := map[string]struct {
		target Target
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
		"what every API server publishes":                  {Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "kube-root-ca.crt"}, true},
		"a Secret of that name":                            {Target{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "kube-root-ca.crt"}, false},
		"a Secret that the hub made for itself":            {Target{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "rollout-web-r1", Labels: map[string]string{contract.SystemLabel: "true"}}, true},
		"a user's ConfigMap of the other name":             {Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "extension-apiserver-authentication"}, false},
		"another cluster-scoped object of such a name":     {Target{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "kube-system"}, false},
		"a Namespace of another group is no namespace":     {Target{APIVersion: "example.com/v1", Kind: "Namespace", Name: "kube-system"}, false},
		"an object elsewhere whose name is a reserved one": {Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "kube-system"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(e.Excludes(tc.target)).To(Equal(tc.want))
		})
	}
}

// TestPublishedExclusionsExcludeTheSame checks that the exclusions survive publishing and reading.
func TestPublishedExclusionsExcludeTheSame(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kinds, err := ParseSkippedKinds("batch;apps/v1/StatefulSet")
	g.Expect(err).NotTo(HaveOccurred())
	for _, published := range []Exclusions{
		NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("kube-.*"), regexp.MustCompile("a|ab"), regexp.MustCompile("x ")}, kinds),
		NewExclusions("p-", nil, SkippedKinds{}),
	} {
		read, err := ReadExclusions(published.Data())
		g.Expect(err).NotTo(HaveOccurred())
		joined := regexp.MustCompile(published.Expression())
		for _, name := range []string{"karmada-system", "karmada-es-edge-1", "p-edge-1", "kube-x", "my-kube-x", "a", "ab", "abc", "shop", "x "} {
			g.Expect(read.WhyNamespace(name)).To(Equal(published.WhyNamespace(name)), name)
			own := name == contract.SystemNamespace || strings.HasPrefix(name, read.Prefix())
			g.Expect(own || joined.MatchString(name)).To(Equal(published.WhyNamespace(name) != ""), name)
		}
		for _, kind := range []schema.GroupVersionKind{
			{Group: "batch", Version: "v1", Kind: "Job"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "Deployment"},
		} {
			g.Expect(read.WhyKind(kind)).To(Equal(published.WhyKind(kind)), kind.Kind)
		}
	}
	for _, bad := range []map[string]string{nil, {"executionNamespacePrefix": "p-", "skippedNamespaces": "("}, {"executionNamespacePrefix": "p-", "skippedAPIs": "a/b/c/d"}} {
		_, err := ReadExclusions(bad)
		g.Expect(err).To(HaveOccurred())
	}
}

func TestATemplateThatStaysOnTheHubIsToldWhy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	e := NewExclusions("karmada-es-", []*regexp.Regexp{regexp.MustCompile("kube-.*")}, SkippedKinds{})
	g.Expect(e.Why(Target{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "kube-x", Name: "web"})).To(Equal(
		"namespace kube-x is one of those that --skipped-propagating-namespaces of the hub keeps there (kube-.*)"))
	g.Expect(e.Why(Target{APIVersion: "v1", Kind: "Namespace", Name: "karmada-es-edge-1"})).To(Equal("in namespaces like karmada-es-edge-1 the hub keeps what it sends to a cluster"))
	g.Expect(e.WhyKind(schema.GroupVersionKind{Group: "work.karmada.io", Version: "v1alpha1", Kind: "Work"})).To(Equal("Work of work.karmada.io/v1alpha1 is part of how the hub works"))
}

func TestTheHubsOwnCertificatesStayWithoutExpressions(t *testing.T) {
	t.Parallel()
	e := NewExclusions("karmada-es-", nil, SkippedKinds{})
	g := NewWithT(t)
	g.Expect(e.Excludes(Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "extension-apiserver-authentication"})).To(BeTrue())
	g.Expect(e.Excludes(Target{APIVersion: "v1", Kind: "ConfigMap", Namespace: "kube-system", Name: "mine"})).To(BeFalse())
}
