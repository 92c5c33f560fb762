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
