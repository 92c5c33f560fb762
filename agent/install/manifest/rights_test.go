package manifest

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// rulesOf returns the rules of roles, by namespace.
func rulesOf(t *testing.T, objects []*unstructured.Unstructured) map[string][]rbacv1.PolicyRule {
	t.Helper()
	out := map[string][]rbacv1.PolicyRule{}
	for _, obj := range objects {
		switch obj.GetKind() {
		case "ClusterRole":
			out["everywhere"] = as[rbacv1.ClusterRole](t, obj).Rules
		case "Role":
			out[obj.GetNamespace()] = as[rbacv1.Role](t, obj).Rules
		}
	}
	return out
}

func writes(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			if verb == "create" || verb == "delete" {
				out = append(out, rule)
				break
			}
		}
	}
	return out
}

func TestAnAgentMayNotChangeItsOwnImage(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := Options{Image: "r.example:5000/mirror/agent:v1", UpgradeImages: []string{"r.example:5000/mirror/agent"}, Kinds: []string{"configmaps"}}
	var guard *appsv1.Deployment
	for _, obj := range objectsOf(t, o) {
		switch {
		case obj.GetKind() == "Role" && obj.GetName() == Name:
			for _, rule := range as[rbacv1.Role](t, obj).Rules {
				g.Expect(rule.Resources).NotTo(And(ContainElement("deployments"), WithTransform(func([]string) []string { return rule.Verbs }, ContainElement("patch"))))
				g.Expect(rule.ResourceNames).NotTo(BeEmpty())
			}
		case obj.GetKind() == "Deployment" && obj.GetName() == GuardName:
			guard = as[appsv1.Deployment](t, obj)
		}
	}
	g.Expect(guard).NotTo(BeNil())
	g.Expect(*guard.Spec.Replicas).To(BeZero())
	g.Expect(guard.Spec.Template.Labels).NotTo(HaveKeyWithValue(NameLabel, Name), "its pod would be one of the agent's")
	g.Expect(guard.Spec.Template.Spec.Containers[0].Args).To(ContainElements("--images", "r.example:5000/mirror/agent"))
	agent := deployment(t, o).Spec.Template.Spec.Containers[0]
	g.Expect(agent.Image).To(Equal(o.Image))
	g.Expect(agent.Args).To(ContainElements("--upgrade-deployment", "karmada-system/fairlead-agent"))
	g.Expect(agent.Env).To(ContainElement(And(HaveField("Name", contract.AgentStartVariable),
		HaveField("ValueFrom.FieldRef.FieldPath", "metadata.annotations['"+contract.AgentUpgradeAnnotation+"']"))))

	o.UpgradeImages = nil
	for _, obj := range objectsOf(t, o) {
		g.Expect(obj.GetName()).NotTo(Equal(GuardName))
	}
	g.Expect(deployment(t, o).Spec.Template.Spec.Containers[0].Args).NotTo(ContainElement("--upgrade-deployment"))
}

func TestTheRightsOfAnAgent(t *testing.T) {
	t.Parallel()
	apply := []string{"get", "list", "watch", "create", "patch", "delete"}
	rule := func(group, resource string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: apply}
	}
	tests := map[string]struct {
		options Options
		want    map[string][]rbacv1.PolicyRule // those that write, by place
	}{
		"all kinds everywhere": {
			want: map[string][]rbacv1.PolicyRule{"everywhere": {rule("*", "*")}},
		},
		"some kinds everywhere": {
			options: Options{Kinds: []string{"deployments.apps", "configmaps", "roles.rbac.authorization.k8s.io"}},
			want: map[string][]rbacv1.PolicyRule{"everywhere": {
				rule("apps", "deployments"), rule("", "configmaps"), rule("rbac.authorization.k8s.io", "roles"),
			}},
		},
		"some kinds in some namespaces, of which one is its own": {
			options: Options{Kinds: []string{"configmaps"}, Namespaces: []string{"a", "karmada-system"}},
			want:    map[string][]rbacv1.PolicyRule{"a": {rule("", "configmaps")}, "karmada-system": {rule("", "configmaps")}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := map[string][]rbacv1.PolicyRule{}
			objects := objectsOf(t, tc.options)
			all := rulesOf(t, objects)
			g.Expect(all).To(HaveKey("karmada-system"), "its Secret")
			names := map[string]bool{}
			for _, obj := range objects {
				id := obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
				g.Expect(names).NotTo(HaveKey(id))
				names[id] = true
			}
			for place, rules := range all {
				if w := writes(rules); w != nil {
					got[place] = w
				}
				for _, rule := range rules {
					g.Expect(rule.Verbs).NotTo(ContainElements("impersonate"))
					g.Expect(rule.Verbs).NotTo(ContainElements("deletecollection"))
					g.Expect(rule.Verbs).NotTo(ContainElement("*"))
				}
			}
			g.Expect(got).To(Equal(tc.want))
		})
	}
}

// TestAnAgentThatIsConfinedCannotChangeItsOwnDeployment confines the agent to namespaces that include its own.
func TestAnAgentThatIsConfinedCannotChangeItsOwnDeployment(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options Options
		refused bool
	}{
		"all kinds":                     {options: Options{}, refused: true},
		"Deployments":                   {options: Options{Kinds: []string{"configmaps", "deployments.apps"}}, refused: true},
		"pods, which have accounts":     {options: Options{Kinds: []string{"pods"}}, refused: true},
		"Secrets, which have tokens":    {options: Options{Kinds: []string{"secrets"}}, refused: true},
		"rights":                        {options: Options{Kinds: []string{"rolebindings.rbac.authorization.k8s.io"}}, refused: true},
		"a kind that nobody here knows": {options: Options{Kinds: []string{"configmaps", "rollouts.argoproj.io"}}, refused: true},
		"all kinds of a group":          {options: Options{Kinds: []string{"*.apps"}}, refused: true},
		"all kinds by name":             {options: Options{Kinds: []string{"*"}}, refused: true},
		"a kind that makes tokens":      {options: Options{Kinds: []string{"serviceaccounts/token"}}, refused: true},
		"Deployments that are said to be safe": {
			options: Options{Kinds: []string{"deployments.apps"}, SafeKinds: []string{"deployments.apps"}}, refused: true,
		},
		"another kind than the one that is said to be safe": {
			options: Options{Kinds: []string{"widgets.example.com", "gadgets.example.com"}, SafeKinds: []string{"widgets.example.com"}}, refused: true,
		},
		"a kind that is said to be safe":      {options: Options{Kinds: []string{"widgets.example.com"}, SafeKinds: []string{"widgets.example.com"}}},
		"what is of no use for that":          {options: Options{Kinds: []string{"configmaps", "services"}}},
		"all kinds, as an account that may":   {options: Options{Account: "tenant"}},
		"Deployments, as an account that may": {options: Options{Account: "tenant", Kinds: []string{"deployments.apps"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			tc.options.Namespaces = []string{"shop", contract.SystemNamespace}
			objects, err := Objects(tc.options)
			if tc.refused {
				g.Expect(err).To(MatchError(Or(ContainSubstring("could change its own Deployment"), ContainSubstring("whatever is said of it"))))
				is, advice, _ := strings.Cut(Refusal(tc.options), ": ")
				g.Expect(is).NotTo(ContainSubstring("templates/"))
				g.Expect(advice).To(ContainSubstring("of agent join"))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(Refusal(tc.options)).To(BeEmpty())
			for _, rule := range rulesOf(t, objects)[contract.SystemNamespace] {
				for _, resource := range rule.Resources {
					if resource == "*" || resource == "deployments" {
						g.Expect(rule.Verbs).NotTo(ContainElements("patch"))
						g.Expect(rule.Verbs).NotTo(ContainElements("create"))
					}
				}
			}
		})
	}
}

func TestRolesCanBeAppliedOnlyWhereTheyAreAmongTheKinds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rules := func(kinds ...string) []rbacv1.PolicyRule {
		return rulesOf(t, objectsOf(t, Options{Kinds: kinds}))["everywhere"]
	}
	grants := func(resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: resources, Verbs: []string{"bind", "escalate"}}
	}
	g.Expect(rules("configmaps")).NotTo(ContainElement(HaveField("Verbs", ContainElement("escalate"))))
	g.Expect(rules("roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io")).To(And(
		ContainElement(grants("roles")), Not(ContainElement(grants("rolebindings")))))
	g.Expect(rules()).To(ContainElement(grants("roles", "clusterroles")))
}
