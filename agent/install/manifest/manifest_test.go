package manifest

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// rulesOf returns the rules of roles, by KIND NAMESPACE.
func rulesOf(objects []runtime.Object) map[string][]rbacv1.PolicyRule {
	out := map[string][]rbacv1.PolicyRule{}
	for _, obj := range objects {
		switch o := obj.(type) {
		case *rbacv1.ClusterRole:
			out["everywhere"] = o.Rules
		case *rbacv1.Role:
			out[o.Namespace] = o.Rules
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

func TestTheRightsOfAnAgent(t *testing.T) {
	t.Parallel()
	apply := []string{"get", "list", "watch", "create", "patch", "delete"}
	tests := map[string]struct {
		options Options
		want    map[string][]rbacv1.PolicyRule // those that write, by place
	}{
		"all kinds everywhere": {
			want: map[string][]rbacv1.PolicyRule{"everywhere": {{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: apply}}},
		},
		"some kinds everywhere": {
			options: Options{Kinds: []string{"deployments.apps", "configmaps", "secrets", "statefulsets.apps"}},
			want: map[string][]rbacv1.PolicyRule{"everywhere": {
				{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: apply},
				{APIGroups: []string{"apps"}, Resources: []string{"deployments", "statefulsets"}, Verbs: apply},
			}},
		},
		"some kinds in some namespaces": {
			options: Options{Kinds: []string{"configmaps"}, Namespaces: []string{"a", "b"}},
			want: map[string][]rbacv1.PolicyRule{
				"a": {{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: apply}},
				"b": {{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: apply}},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := map[string][]rbacv1.PolicyRule{}
			for place, rules := range rulesOf(Objects(tc.options)) {
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

func TestRolesCanBeAppliedOnlyWhereTheyAreAmongTheKinds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(applyRules([]string{"configmaps"})).NotTo(ContainElement(HaveField("Verbs", ContainElement("escalate"))))
	g.Expect(applyRules([]string{"roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io"})).To(ContainElement(
		rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"bind", "escalate"}}))
}

func TestTheTokenIsInASecretAndNotInTheDeployment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := Options{Image: "i", Token: "abcdef.0123456789abcdef", Arguments: []string{"hub:443"}, Proxy: map[string]string{"HTTPS_PROXY": "http://p:1"}, Namespaces: []string{"a"}}
	var found *appsv1.Deployment
	secrets := 0
	for _, obj := range Objects(o) {
		switch x := obj.(type) {
		case *appsv1.Deployment:
			found = x
		case *corev1.Secret:
			secrets++
		}
	}
	g.Expect(secrets).To(Equal(2))
	args := strings.Join(found.Spec.Template.Spec.Containers[0].Args, " ")
	g.Expect(args).To(And(ContainSubstring("hub:443"), ContainSubstring("--namespaces a"), Not(ContainSubstring(o.Token))))
	g.Expect(found.Spec.Template.Spec.Containers[0].Env).To(ConsistOf(corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://p:1"}))
	text, err := YAML(Objects(o))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).NotTo(Or(ContainSubstring("creationTimestamp"), ContainSubstring("status:"), ContainSubstring(o.Token)))
}

// Whoever configures webhooks on the hub must not have a confined agent call addresses.
func TestAnAgentOfSomeKindsCallsNoWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	arguments := func(o Options) []string { return deployment(o).Spec.Template.Spec.Containers[0].Args }
	g.Expect(arguments(Options{Kinds: []string{"configmaps"}})).To(ContainElement("--interpreter-webhooks=false"))
	g.Expect(arguments(Options{})).NotTo(ContainElement("--interpreter-webhooks=false"))
	g.Expect(arguments(Options{Namespaces: []string{"a"}})).To(ContainElement("--namespaces"), "such an agent never calls any")
}

func TestTheStateIsWhereItIsSaidToBe(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]func(corev1.VolumeSource) bool{
		"":               func(v corev1.VolumeSource) bool { return v.EmptyDir != nil },
		VolumeClaim:      func(v corev1.VolumeSource) bool { return v.PersistentVolumeClaim.ClaimName == Name },
		"/var/lib/agent": func(v corev1.VolumeSource) bool { return v.HostPath.Path == "/var/lib/agent" },
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			claims := 0
			for _, obj := range Objects(Options{Volume: where}) {
				switch o := obj.(type) {
				case *corev1.PersistentVolumeClaim:
					claims++
				case *appsv1.Deployment:
					g.Expect(o.Spec.Template.Spec.Volumes[0].VolumeSource).To(Satisfy(want))
				}
			}
			g.Expect(claims == 1).To(Equal(where == VolumeClaim))
		})
	}
}
