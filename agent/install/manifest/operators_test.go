package manifest_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/agent/install/manifest"
)

// operatorRules returns the rules of each role that lets operators in, by KIND NAMESPACE/NAME.
func operatorRules(t *testing.T, o manifest.Operators) map[string][]rbacv1.PolicyRule {
	t.Helper()
	g := NewWithT(t)
	objects, err := manifest.OperatorObjects(o)
	g.Expect(err).NotTo(HaveOccurred())
	out := map[string][]rbacv1.PolicyRule{}
	for _, obj := range objects {
		if obj.GetKind() != "Role" && obj.GetKind() != "ClusterRole" {
			continue
		}
		var role rbacv1.Role
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role)).To(Succeed())
		out[obj.GetKind()+" "+obj.GetNamespace()+"/"+obj.GetName()] = role.Rules
	}
	return out
}

// allows returns whether rules allow a verb on a resource.
func allows(rules []rbacv1.PolicyRule, verb, group, resource, name string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Verbs, verb) && slices.Contains(r.APIGroups, group) && (slices.Contains(r.Resources, resource) || slices.Contains(r.Resources, "*")) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
	})
}

func TestNobodyIsLetInUnlessSomebodyIsNamed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	objects, err := manifest.OperatorObjects(manifest.Operators{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(objects).To(HaveLen(1), "the namespace")
}

func TestTheAccountOfOperatorsMayOnlyImpersonate(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const clusterWide = "ClusterRole /fairlead-connect"
	for name, o := range map[string]manifest.Operators{
		"constrained": {Who: []string{"group:ops", "user:alice"}, May: []string{"exec", "write", "secrets", "nodes/proxy"}},
		"in shop":     {Who: []string{"user:alice", "user:system:serviceaccount:ci:argo"}, In: []string{"shop"}, Identity: "same"},
		"legacy":      {Who: []string{"group:ops"}, Legacy: true},
	} {
		for role, rules := range operatorRules(t, o) {
			if role == "Role karmada-system/fairlead-connect-agent" {
				continue
			}
			for _, rule := range rules {
				g.Expect(rule.Verbs).To(HaveEach(HavePrefix("impersonate")), name+" "+role)
			}
		}
	}
	rules := operatorRules(t, manifest.Operators{Who: []string{"user:alice", "group:ops"}})[clusterWide]
	g.Expect(allows(rules, "impersonate", "", "users", "fairlead:alice")).To(BeFalse(), "the verb of old would suffice alone")
	g.Expect(allows(rules, "impersonate:user-info", "authentication.k8s.io", "groups", "fairlead:ops")).To(BeTrue())
	g.Expect(allows(rules, "impersonate:user-info", "authentication.k8s.io", "groups", "fairlead:dev")).To(BeFalse())
	g.Expect(allows(rules, "impersonate-on:user-info:get", "", "pods/log", "")).To(BeTrue())
	for _, resource := range []string{"pods/exec", "pods/portforward", "secrets", "pods/proxy", "nodes/proxy", "serviceaccounts/token"} {
		g.Expect(allows(rules, "impersonate-on:user-info:get", "", resource, "")).To(BeFalse(), resource)
		g.Expect(allows(rules, "impersonate-on:user-info:create", "", resource, "")).To(BeFalse(), resource)
	}

	within := operatorRules(t, manifest.Operators{Who: []string{"user:alice"}, In: []string{"shop"}})
	g.Expect(allows(within[clusterWide], "impersonate-on:user-info:get", "", "pods", "")).To(BeFalse())
	g.Expect(allows(within["Role shop/fairlead-connect"], "impersonate-on:user-info:get", "", "pods", "")).To(BeTrue())
	g.Expect(allows(within[clusterWide], "impersonate:user-info", "authentication.k8s.io", "users", "fairlead:bob")).To(BeFalse())

	same := operatorRules(t, manifest.Operators{Who: []string{"user:system:serviceaccount:ci:argo"}, Identity: "same"})
	g.Expect(allows(same["Role ci/fairlead-connect-as-argo"], "impersonate:serviceaccount", "authentication.k8s.io", "serviceaccounts", "argo")).To(BeTrue())
	g.Expect(allows(same[clusterWide], "impersonate:user-info", "authentication.k8s.io", "users", "system:serviceaccount:ci:argo")).To(BeFalse())
}

func TestAConfinedAgentOfOldNamesUsers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := manifest.Options{Namespaces: []string{"shop"}, Operators: manifest.Operators{Who: []string{"group:ops"}, Legacy: true}}
	_, err := manifest.Objects(o)
	g.Expect(err).To(MatchError(ContainSubstring("name each user")))
	o.Operators.Who = []string{"user:alice"}
	_, err = manifest.Objects(o)
	g.Expect(err).NotTo(HaveOccurred())
}
