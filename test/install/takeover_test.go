package install

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
)

func TestHelmTakesAnAgentOverAsItIs(t *testing.T) { //nolint:paralleltest // There is one agent in a member.
	w := newOwned(t)
	shop := w.Namespace(t)
	w.g.Expect(w.installer.Apply(t.Context(), manifest.Options{
		Image: "registry.example:5000/x/agent:v1", Namespaces: []string{shop}, Kinds: []string{"configmaps", "deployments.apps"}, Account: "tenant", JoinHash: "0123456789",
		Volume: manifest.VolumeNone, Proxy: map[string]string{"HTTPS_PROXY": "http://p.example:1"}, State: map[string][]byte{"agent.json": []byte("{}")},
		Operators: manifest.Operators{Who: []string{"group:ops"}, In: []string{shop}, Identity: "same", Said: true},
		Pod: manifest.Pod{
			PullPolicy: "Always", PullSecrets: []string{"pull"}, NodeSelector: map[string]string{"a": "b"}, Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("0")}, RunAs: manifest.RunAsAssigned,
		},
	}, nil, func(string) {})).To(Succeed())
	type agentThere struct {
		pod               corev1.PodSpec
		everywhere, there []rbacv1.PolicyRule
		operators         map[string]string
		state             map[string][]byte
	}
	look := func() agentThere {
		deployment, all, role, secret, guard := &appsv1.Deployment{}, &rbacv1.ClusterRole{}, &rbacv1.Role{}, &corev1.Secret{}, &appsv1.DeploymentList{}
		key := client.ObjectKey{Namespace: agentNamespace, Name: manifest.Name}
		w.g.Expect(w.Get(t.Context(), key, deployment)).To(Succeed())
		w.g.Expect(w.Get(t.Context(), key, secret)).To(Succeed())
		w.g.Expect(w.Get(t.Context(), client.ObjectKey{Name: manifest.Name}, all)).To(Succeed())
		w.g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: manifest.Name}, role)).To(Succeed())
		w.g.Expect(w.List(t.Context(), guard, client.InNamespace(agentNamespace))).To(Succeed())
		w.g.Expect(guard.Items).To(HaveLen(1), "the hub upgrades nothing here")
		operators, err := w.installer.Operators(t.Context())
		w.g.Expect(err).NotTo(HaveOccurred())
		return agentThere{pod: deployment.Spec.Template.Spec, everywhere: all.Rules, there: role.Rules, operators: operators, state: secret.Data}
	}
	before := look()
	path := filepath.Join(t.TempDir(), "values.yaml")
	w.g.Expect(os.WriteFile(path, []byte(succeed(t, "agent", "join", "--print", "values", "--kubeconfig", w.Kubeconfig)), 0o600)).To(Succeed())
	w.helm("install", manifest.Name, file(t, "..", "charts", "agent"), "--take-ownership", "--force-conflicts", "--values", path)
	w.g.Expect(look()).To(Equal(before))
	w.helm("upgrade", manifest.Name, file(t, "..", "charts", "agent"), "--force-conflicts", "--values", path, "--set", "image.tag=v2")
	w.g.Expect(look().pod.Containers[0].Image).To(Equal("registry.example:5000/x/agent:v2"), "it is Helm's")
	w.away()
	_, diagnosis, err := run(t, "agent", "join", "--print", "values", "--kubeconfig", w.Kubeconfig)
	w.g.Expect(err).To(HaveOccurred())
	w.g.Expect(diagnosis).To(ContainSubstring("whose values could be printed"))
}
