package manifest

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/version"
)

// objectsOf returns the objects that Options produce.
func objectsOf(t *testing.T, o Options) []*unstructured.Unstructured {
	t.Helper()
	out, err := Objects(o)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return out
}

// as decodes an object, strictly.
func as[T any](t *testing.T, obj *unstructured.Unstructured) *T {
	t.Helper()
	out := new(T)
	NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, out, true)).To(Succeed())
	return out
}

func deployment(t *testing.T, o Options) *appsv1.Deployment {
	t.Helper()
	objects := objectsOf(t, o)
	NewWithT(t).Expect(objects[0].GetKind()).To(Equal("Namespace"))
	return as[appsv1.Deployment](t, objects[len(objects)-1])
}

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

func TestTheTokenIsInASecretAndNotInTheDeployment(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := Options{
		Image: "i", Proxy: map[string]string{"HTTPS_PROXY": "http://p:1"}, Namespaces: []string{"a"},
		Join: &Join{Addresses: []string{"hub:443", "hub-2:443"}, Hashes: []string{"sha256:0"}, Cluster: "edge", Token: "abcdef.0123456789abcdef", OnRetire: "remove"},
	}
	objects := objectsOf(t, o)
	secrets := 0
	for _, obj := range objects {
		if obj.GetKind() == "Secret" {
			secrets++
		}
	}
	g.Expect(secrets).To(Equal(2))
	container := deployment(t, o).Spec.Template.Spec.Containers[0]
	args := strings.Join(container.Args, " ")
	g.Expect(args).To(And(ContainSubstring("hub:443,hub-2:443 --cluster-name edge"), ContainSubstring("--on-retire remove"),
		ContainSubstring("--namespaces a"), Not(ContainSubstring(o.Join.Token))))
	g.Expect(container.Env).To(ConsistOf(corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://p:1"}))
	text, err := YAML(objects)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).NotTo(Or(ContainSubstring("creationTimestamp"), ContainSubstring("status:"), ContainSubstring(o.Join.Token)))
}

func TestAnAgentThatHasJoinedHasItsStateAndNoToken(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := Options{State: map[string][]byte{"client.key": []byte("key")}}
	var secrets []string
	for _, obj := range objectsOf(t, o) {
		if obj.GetKind() == "Secret" {
			secrets = append(secrets, obj.GetName())
			g.Expect(as[corev1.Secret](t, obj).Data).To(Equal(o.State))
		}
	}
	g.Expect(secrets).To(Equal([]string{Name}))
	pod := deployment(t, o).Spec.Template.Spec
	g.Expect(pod.Volumes).To(HaveLen(1))
	g.Expect(pod.Containers[0].Args).NotTo(ContainElement("--token-file"))
}

// TestAnAgentOfSomeKindsCallsNoWebhooks checks that those who configure interpreter webhooks on the hub cannot make a
// confined agent call addresses.
func TestAnAgentOfSomeKindsCallsNoWebhooks(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	arguments := func(o Options) []string { return deployment(t, o).Spec.Template.Spec.Containers[0].Args }
	g.Expect(arguments(Options{Kinds: []string{"configmaps"}})).To(ContainElement("--interpreter-webhooks=false"))
	g.Expect(arguments(Options{})).NotTo(ContainElement("--interpreter-webhooks=false"))
	g.Expect(arguments(Options{Namespaces: []string{"a"}})).To(ContainElement("--namespaces"), "such an agent never calls any")
}

func TestTheStateIsWhereItIsSaidToBe(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{"": VolumeClaim, VolumeClaim: VolumeClaim, VolumeNone: VolumeNone, "/var/lib/agent": "/var/lib/agent"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			claims := 0
			for _, obj := range objectsOf(t, Options{Volume: where}) {
				if obj.GetKind() == "PersistentVolumeClaim" {
					claims++
				}
			}
			g.Expect(claims == 1).To(Equal(want == VolumeClaim))
			got, ok := StateVolume(deployment(t, Options{Volume: where}))
			g.Expect(ok).To(BeTrue())
			g.Expect(got).To(Equal(want))
		})
	}
}

func TestAnImageStaysAsItIsNamed(t *testing.T) {
	t.Parallel()
	const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for given, want := range map[string]string{
		"":                                     "docker.io/fairlead/agent:" + version.Of().ImageTag,
		"agent":                                "agent:latest",
		"registry.example.com:5000/team/agent": "registry.example.com:5000/team/agent:latest",
		"localhost/agent:v1.2.3":               "localhost/agent:v1.2.3",
		"example.com/agent" + digest:           "example.com/agent" + digest,
		"example.com/agent:v1" + digest:        "example.com/agent:v1" + digest,
	} {
		t.Run(given, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(deployment(t, Options{Image: given}).Spec.Template.Spec.Containers[0].Image).To(Equal(want))
		})
	}
}

func TestThePriorityOfThePod(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(deployment(t, Options{}).Spec.Template.Spec.PriorityClassName).To(Equal("system-cluster-critical"))
	g.Expect(deployment(t, Options{PriorityClass: new("")}).Spec.Template.Spec.PriorityClassName).To(BeEmpty())
}

// TestAnAgentMayActAsTheAccountsOfOneName checks that an agent that impersonates accounts may impersonate only those
// of that name, and that one without other rights in the member writes nothing as itself.
func TestAnAgentMayActAsTheAccountsOfOneName(t *testing.T) {
	t.Parallel()
	impersonate := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{"tenant"}, Verbs: []string{"impersonate"}}
	t.Run("everywhere", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		o := Options{Account: "tenant"}
		rules := rulesOf(t, objectsOf(t, o))
		g.Expect(rules["everywhere"]).To(ContainElement(impersonate))
		g.Expect(writes(rules["everywhere"])).NotTo(BeEmpty(), "what is in no namespace the agent applies by itself")
		g.Expect(deployment(t, o).Spec.Template.Spec.Containers[0].Args).To(ContainElements("--as-service-account", "tenant"))
	})
	t.Run("in some namespaces", func(t *testing.T) {
		t.Parallel()
		g := NewWithT(t)
		rules := rulesOf(t, objectsOf(t, Options{Account: "tenant", Namespaces: []string{"a"}, Kinds: []string{"configmaps", "roles.rbac.authorization.k8s.io"}}))
		g.Expect(rules["everywhere"]).NotTo(ContainElement(impersonate))
		g.Expect(rules["a"]).To(ConsistOf(
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}},
			rbacv1.PolicyRule{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}, Verbs: []string{"get", "list", "watch"}},
			impersonate,
		))
	})
}
