package manifest

import (
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestSettingsAreWhatTheAgentWasMadeOf checks that the settings read from an installed agent produce the same agent.
func TestSettingsAreWhatTheAgentWasMadeOf(t *testing.T) {
	t.Parallel()
	none := ""
	for name, o := range map[string]Options{
		"nothing was said":               {Image: "r.example/agent:v1", UpgradeImages: []string{"r.example/agent"}},
		"the hub upgrades nothing":       {Image: "r.example/agent:v1"},
		"kinds everywhere":               {Image: "agent:v1", Kinds: []string{"configmaps", "deployments.apps", "roles.rbac.authorization.k8s.io"}},
		"namespaces, of which one is it": {Image: "agent:v1", Namespaces: []string{"karmada-system", "shop"}, Kinds: []string{"configmaps"}, UpgradeImages: []string{"a", "b/"}},
		"its namespace, and a kind that is said to be safe": {
			Image: "agent:v1", Namespaces: []string{"karmada-system"}, Kinds: []string{"configmaps", "widgets.example.com"}, SafeKinds: []string{"widgets.example.com"},
			UpgradeImages: []string{"a"},
		},
		"its namespace, as an account": {Image: "agent:v1", Namespaces: []string{"karmada-system"}, Account: "tenant", UpgradeImages: []string{"a"}},
		"kinds in namespaces, as an account": {
			Image: "agent:v1", Namespaces: []string{"shop", "till"}, Kinds: []string{"configmaps", "deployments.apps"}, Account: "tenant",
			Proxy: map[string]string{"HTTPS_PROXY": "http://p.example:3128", "NO_PROXY": "10.0.0.0/8"}, PriorityClass: &none,
		},
		"how its pods run": {Image: "agent:v1", UpgradeImages: []string{"agent"}, Pod: Pod{
			PullPolicy: "Always", PullSecrets: []string{"pull", "another"}, RunAs: RunAsAssigned,
			NodeSelector: map[string]string{"kubernetes.io/arch": "amd64"},
			Tolerations:  []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(3000000))}},
			Affinity: map[string]any{"podAntiAffinity": map[string]any{
				"requiredDuringSchedulingIgnoredDuringExecution": []any{map[string]any{"topologyKey": "a"}},
			}},
			Requests: corev1.ResourceList{"cpu": resource.MustParse("0"), "memory": resource.MustParse("100Mi")},
			Limits:   corev1.ResourceList{"memory": resource.MustParse("0"), "cpu": resource.MustParse("1")},
		}},
		"that joins by itself": {
			Image: "agent:v1", Namespaces: []string{"shop"}, UpgradeImages: []string{"agent"},
			Join: &Join{Addresses: []string{"hub.example:6443"}, Hashes: []string{"sha256:" + "00"}, Cluster: "edge-1", Token: "abcdef.0123456789abcdef", OnRetire: "keep"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			objects := objectsOf(t, o)
			all := rulesOf(t, objects)
			var agent, guard *appsv1.Deployment
			for _, obj := range objects {
				switch {
				case obj.GetKind() != "Deployment":
				case obj.GetName() == Name:
					agent = as[appsv1.Deployment](t, obj)
				default:
					guard = as[appsv1.Deployment](t, obj)
				}
			}
			got, err := SettingsOf(agent, guard, func(namespaces []string) ([][]rbacv1.PolicyRule, error) {
				if len(namespaces) == 0 {
					return [][]rbacv1.PolicyRule{all["everywhere"]}, nil
				}
				var out [][]rbacv1.PolicyRule
				for _, namespace := range namespaces {
					out = append(out, all[namespace])
				}
				return out, nil
			}, true)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Image).To(Equal(o.Image))
			g.Expect(got.Namespaces).To(Equal(o.Namespaces))
			g.Expect(got.Kinds).To(Equal(o.Kinds))
			g.Expect(got.SafeKinds).To(ConsistOf(o.SafeKinds))
			g.Expect(got.Account).To(Equal(o.Account))
			g.Expect(got.UpgradeImages).To(Equal(o.UpgradeImages))
			g.Expect(got.Other).To(BeEmpty())
			g.Expect(apiequality.Semantic.DeepEqual(got.Pod, o.Pod)).To(BeTrue(), "%+v", got.Pod)
			g.Expect(got.IsConfined()).To(Equal(name != "nothing was said" && name != "how its pods run"))
			if o.Proxy != nil {
				g.Expect(got.Proxy).To(Equal(o.Proxy))
			}
			if o.PriorityClass != nil {
				g.Expect(got.PriorityClass).To(Equal(*o.PriorityClass))
			}
		})
	}
}

func TestArgumentsThatWeDoNotMakeAreTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	agent := deployment(t, Options{})
	c := containerOf(agent)
	c.Args = append(c.Args, "--journal-key-file", "/key", "--v=2", "--interpreter-webhooks=false", "--metrics-bind-address", ":8080")
	got, err := SettingsOf(agent, nil, always(rulesOf(t, objectsOf(t, Options{}))["everywhere"]), true)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Other).To(Equal([]string{"--journal-key-file", "--v=2", "--interpreter-webhooks=false", "--metrics-bind-address"}))
}

// always are the rules of places, whichever they are.
func always(places ...[]rbacv1.PolicyRule) func([]string) ([][]rbacv1.PolicyRule, error) {
	return func([]string) ([][]rbacv1.PolicyRule, error) { return places, nil }
}

// changedByHand returns rules that the chart produces for no list of kinds.
func changedByHand() map[string][]rbacv1.PolicyRule {
	rule := func(groups, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: groups, Resources: resources, Verbs: verbs}
	}
	return map[string][]rbacv1.PolicyRule{
		"all of some groups":       {rule([]string{"apps", "batch"}, []string{"*"}, "get", "list", "watch", "create", "patch", "delete")},
		"some of all groups":       {rule([]string{"*"}, []string{"deployments"}, "get", "list", "watch", "create", "patch", "delete")},
		"all verbs of a kind":      {rule([]string{"apps"}, []string{"deployments"}, "*")},
		"a part of kinds":          {rule([]string{"apps"}, []string{"deployments", "deployments/scale"}, "get", "list", "watch", "create", "patch", "delete")},
		"no deletion":              {rule([]string{"apps"}, []string{"deployments"}, "get", "list", "watch", "create", "patch")},
		"no deletion, of anything": {rule([]string{"*"}, []string{"*"}, "get", "list", "watch", "create", "patch")},
		"reading alone":            {rule([]string{"*"}, []string{"*"}, "get", "list", "watch")},
		"nothing":                  {},
	}
}

// TestRightsThatWereChangedByHandAreNoListOfKinds covers rules edited by the owner: regenerated from a list of kinds,
// they would give back rights that the owner had withdrawn.
func TestRightsThatWereChangedByHandAreNoListOfKinds(t *testing.T) {
	t.Parallel()
	for name, rules := range changedByHand() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for _, o := range []Options{{}, {Namespaces: []string{"shop"}}} {
				_, err := SettingsOf(deployment(t, o), nil, always(rules), true)
				g.Expect(err).To(MatchError(errByHand))
			}
			got, err := SettingsOf(deployment(t, Options{Kinds: []string{"deployments.apps"}}), nil, always(rules), false)
			g.Expect(err).NotTo(HaveOccurred(), "the kinds are said")
			g.Expect(got.Other).To(BeEmpty(), "it may have been confined to kinds before")
		})
	}
	g := NewWithT(t)
	whole := rulesOf(t, objectsOf(t, Options{Namespaces: []string{"shop"}}))["shop"]
	narrow := rulesOf(t, objectsOf(t, Options{Namespaces: []string{"shop"}, Kinds: []string{"configmaps"}}))["shop"]
	_, err := SettingsOf(deployment(t, Options{Namespaces: []string{"shop", "till"}}), nil, always(narrow, whole), true)
	g.Expect(err).To(MatchError(errByHand), "in one of its namespaces")
}
