package join

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	testcluster "fairlead.dev/test/cluster"
)

// installedName is the name of the cluster whose agent is installed.
const installedName = "is-made-anew"

// installs runs `agent join --install`, where no pod runs: it ends when the hub has not heard from the agent in time.
func (h *hub) installs(ctx context.Context, more ...string) {
	h.t.Helper()
	out, err := agent(ctx, h.installing(more...)...)
	h.t.Log(out)
	h.g.Expect(err).To(MatchError(ContainSubstring("pod")), "nothing makes one here")
}

// installing returns the arguments of installs.
func (h *hub) installing(more ...string) []string {
	return append([]string{
		"join", h.address, "--install", "--cluster-name", installedName, "--discovery-token-ca-cert-hash", h.hashes[0],
		"--kubeconfig", testcluster.Shared(h.t, testcluster.Options{Profile: testcluster.Hub}).Kubeconfig,
		"--ready-timeout", "100ms", "--image", "registry.example/agent:v1", "--state-volume", "none",
	}, more...)
}

// TestAnInstalledAgentIsMadeAnewToTakeOverALaterJoin runs alone, because a member has one installed agent.
func TestAnInstalledAgentIsMadeAnewToTakeOverALaterJoin(t *testing.T) {
	h, ctx := newHub(t), t.Context()
	h.serve()
	installer, err := install.New(h.config)
	h.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		h.g.Expect(installer.Remove(context.Background())).To(Succeed())
	})
	member, err := client.New(h.config, client.Options{})
	h.g.Expect(err).NotTo(HaveOccurred())
	template := func() *corev1.PodTemplateSpec {
		deployment := &appsv1.Deployment{}
		h.g.Expect(member.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}, deployment)).To(Succeed())
		return &deployment.Spec.Template
	}

	first := h.created(ctx, "--cluster", installedName)
	h.installs(ctx, "--token", first)
	before := template()
	h.installs(ctx, "--token", first)
	h.g.Expect(template()).To(Equal(before), "the pod stays")

	// The pod of this join runs, and has not saved everything yet.
	state, err := installer.State(ctx)
	h.g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	h.g.Expect(registration.WriteFiles(dir, state)).To(Succeed())
	store, err := registration.OpenSecretStore(h.config, contract.SystemNamespace+"/"+manifest.Name)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(store.Restore(ctx, dir, "")).To(Succeed())
	h.g.Expect(registration.WriteFiles(dir, map[string][]byte{"renewal.key": []byte("k")})).To(Succeed())

	h.installs(ctx, "--token", first, "--on-retire", registration.Remove)
	after := template()
	h.g.Expect(after).NotTo(Equal(before), "who runs goes by what was said before")
	h.g.Expect(store.Save(ctx, dir)).To(Succeed())
	said, err := registration.Files(dir)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(string(said["agent.json"])).To(ContainSubstring(registration.Remove), "it takes over what was said, and does not undo it")
	h.g.Expect(registration.WriteFiles(dir, map[string][]byte{"renewal.key": []byte("another")})).To(Succeed())

	h.must(ctx, "forget", installedName, "--force")
	// Certificates are told apart by the second in which they begin.
	now := time.Now().Unix()
	h.g.Eventually(func() int64 { return time.Now().Unix() }).Should(BeNumerically(">", now))
	h.g.Eventually(func() error {
		_, err := h.command(ctx, "token", "create", "--cluster", installedName)
		return err
	}).WithTimeout(time.Minute).Should(Succeed())
	h.installs(ctx, "--token", h.created(ctx, "--cluster", installedName))
	h.g.Expect(template()).NotTo(Equal(after), "what runs was revoked")

	joined, err := installer.State(ctx)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(store.Save(ctx, dir)).To(MatchError(registration.ErrJoinedAgain))
	h.g.Expect(store.Superseded(ctx, dir)).To(MatchError(registration.ErrJoinedAgain))
	h.g.Expect(installer.State(ctx)).To(Equal(joined), "the pod of before does not undo it")
	h.g.Expect(store.Restore(ctx, dir, "")).To(Succeed())
	h.g.Expect(registration.Files(dir)).To(Equal(joined))
	h.g.Expect(store.Superseded(ctx, dir)).To(Succeed())

	// Other tests join with the same member.
	h.must(ctx, "forget", installedName, "--force")
	h.g.Eventually(func() error {
		return h.Get(ctx, client.ObjectKey{Name: installedName}, &clusterv1alpha1.Cluster{})
	}).WithTimeout(time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

// TestAnInstalledAgentStaysConfinedWhenItJoinsAgain runs alone, as above. The join command printed by the hub does not
// repeat the member owner's settings.
func TestAnInstalledAgentStaysConfinedWhenItJoinsAgain(t *testing.T) {
	h, ctx := newHub(t), t.Context()
	h.serve()
	installer, err := install.New(h.config)
	h.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		h.g.Expect(installer.Remove(context.Background())).To(Succeed())
	})
	member, err := client.New(h.config, client.Options{Scheme: scheme.Scheme})
	h.g.Expect(err).NotTo(HaveOccurred())
	tills := testcluster.Shared(h.t, testcluster.Options{Profile: testcluster.Hub}).Namespace(t)
	type agentThere struct {
		args       []string
		env        []corev1.EnvVar
		everywhere []rbacv1.PolicyRule
		there      []rbacv1.PolicyRule
		guarded    bool
		operators  map[string]string
		lastWord   string
		pod        corev1.PodSpec
	}
	look := func() agentThere {
		var out agentThere
		deployment, all, role := &appsv1.Deployment{}, &rbacv1.ClusterRole{}, &rbacv1.Role{}
		h.g.Expect(member.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}, deployment)).To(Succeed())
		h.g.Expect(member.Get(ctx, client.ObjectKey{Name: manifest.Name}, all)).To(Succeed())
		h.g.Expect(client.IgnoreNotFound(member.Get(ctx, client.ObjectKey{Namespace: tills, Name: manifest.Name}, role))).To(Succeed())
		err := member.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.GuardName}, &appsv1.Deployment{})
		h.g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		c := deployment.Spec.Template.Spec.Containers[0]
		out.args, out.env, out.everywhere, out.there, out.guarded, out.pod = c.Args, c.Env, all.Rules, role.Rules, err == nil, deployment.Spec.Template.Spec
		out.operators, err = installer.Operators(ctx)
		h.g.Expect(err).NotTo(HaveOccurred())
		out.lastWord, err = installer.OperatorsLastWord(ctx)
		h.g.Expect(err).NotTo(HaveOccurred())
		return out
	}

	token := h.created(ctx, "--cluster", installedName)
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	t.Setenv("NO_PROXY", "127.0.0.1,localhost")
	said := []string{
		"--token", token, "--namespaces", tills, "--kinds", "configmaps,deployments.apps", "--as-service-account", "tenant", "--upgrade-images", "none",
		"--operators", "group:ops", "--operators-in", tills, "--image-pull-secrets", "pull", "--image-pull-policy", "Always",
		"--node-selector", "kubernetes.io/arch=amd64", "--tolerations", "edge:NoSchedule", "--limits", "memory=1Gi", "--run-as", "assigned",
	}
	_, err = agent(ctx, h.installing(said...)...)
	h.g.Expect(err).To(MatchError(ContainSubstring("there is no Secret karmada-system/pull")), "its image could not be pulled")
	pull := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: "pull"}, Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{
		corev1.DockerConfigJsonKey: []byte(`{"auths":{}}`),
	}}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.SystemNamespace}}
	h.g.Expect(client.IgnoreAlreadyExists(member.Create(ctx, system))).To(Succeed())
	h.g.Expect(member.Create(ctx, pull)).To(Succeed())
	t.Cleanup(func() { h.g.Expect(member.Delete(context.Background(), pull)).To(Succeed()) })
	h.installs(ctx, said...)
	before := look()
	h.g.Expect(before.pod.ImagePullSecrets).To(ConsistOf(corev1.LocalObjectReference{Name: "pull"}))
	h.g.Expect(before.pod.NodeSelector).To(HaveKeyWithValue("kubernetes.io/arch", "amd64"))
	h.g.Expect(before.pod.Tolerations).To(HaveLen(1))
	h.g.Expect(before.pod.SecurityContext.RunAsUser).To(BeNil())
	h.g.Expect(before.args).To(ContainElements("--namespaces", tills, "--as-service-account", "tenant"))
	h.g.Expect(before.env).To(ContainElement(HaveField("Name", "HTTPS_PROXY")))
	h.g.Expect(before.everywhere).NotTo(ContainElement(HaveField("Verbs", ContainElement("create"))))
	h.g.Expect(before.there).NotTo(BeEmpty())
	h.g.Expect(before.guarded).To(BeFalse())
	h.g.Expect(before.operators).To(HaveKeyWithValue("operators", "group:ops"))
	h.g.Expect(before.lastWord).To(Equal(contract.LastWordOf(before.operators)))

	t.Setenv("HTTPS_PROXY", "")
	t.Setenv("NO_PROXY", "")
	h.installs(ctx, "--token", token)
	h.g.Expect(look()).To(Equal(before))

	// Who means it says it.
	h.installs(ctx, "--token", token, "--namespaces", "", "--kinds", "", "--as-service-account", "", "--upgrade-images", "registry.example/agent", "--operators", "off",
		"--image-pull-secrets", "", "--node-selector", "", "--tolerations", "", "--run-as", "auto")
	after := look()
	h.g.Expect(after.pod.ImagePullSecrets).To(BeEmpty())
	h.g.Expect(after.pod.NodeSelector).To(BeEmpty())
	h.g.Expect(after.pod.Tolerations).To(BeEmpty())
	h.g.Expect(*after.pod.SecurityContext.RunAsUser).To(BeEquivalentTo(65532))
	h.g.Expect(after.pod.Containers[0].Resources.Limits.Memory().String()).To(Equal("1Gi"), "nothing else was said")
	h.g.Expect(after.args).NotTo(Or(ContainElement("--namespaces"), ContainElement("--as-service-account")))
	h.g.Expect(after.everywhere).To(ContainElement(HaveField("Verbs", ContainElement("create"))))
	h.g.Expect(after.guarded).To(BeTrue())
	h.g.Expect(after.operators).To(BeNil())
	h.g.Expect(after.lastWord).To(Equal(contract.LastWordOf(nil)))

	h.must(ctx, "forget", installedName, "--force")
	h.g.Eventually(func() error {
		return h.Get(ctx, client.ObjectKey{Name: installedName}, &clusterv1alpha1.Cluster{})
	}).WithTimeout(time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

// TestAnInstalledAgentLosesTheRightsInANamespaceThatIsTakenFromIt runs alone, as above.
func TestAnInstalledAgentLosesTheRightsInANamespaceThatIsTakenFromIt(t *testing.T) {
	h, ctx := newHub(t), t.Context()
	h.serve()
	installer, err := install.New(h.config)
	h.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		h.g.Expect(installer.Remove(context.Background())).To(Succeed())
	})
	member, err := client.New(h.config, client.Options{Scheme: scheme.Scheme})
	h.g.Expect(err).NotTo(HaveOccurred())
	shared := testcluster.Shared(h.t, testcluster.Options{Profile: testcluster.Hub})
	shop, payroll := shared.Namespace(t), shared.Namespace(t)
	writable := func() []string {
		var roles rbacv1.RoleList
		var bindings rbacv1.RoleBindingList
		ours := client.MatchingLabels{manifest.NameLabel: manifest.Name}
		h.g.Expect(member.List(ctx, &roles, ours)).To(Succeed())
		h.g.Expect(member.List(ctx, &bindings, ours)).To(Succeed())
		var out []string
		for i := range roles.Items {
			out = append(out, "Role "+roles.Items[i].Namespace+"/"+roles.Items[i].Name)
		}
		for i := range bindings.Items {
			out = append(out, "RoleBinding "+bindings.Items[i].Namespace+"/"+bindings.Items[i].Name)
		}
		return out
	}
	in := func(namespaces ...string) []string {
		var out []string
		for _, namespace := range namespaces {
			out = append(out, "Role "+namespace+"/"+manifest.Name, "RoleBinding "+namespace+"/"+manifest.Name)
		}
		return out
	}

	token := h.created(ctx, "--cluster", installedName)
	h.installs(ctx, "--token", token, "--namespaces", shop+","+payroll, "--kinds", "configmaps", "--upgrade-images", "none")
	h.g.Expect(writable()).To(ConsistOf(in(contract.SystemNamespace, shop, payroll)))
	h.installs(ctx, "--token", token, "--namespaces", shop)
	h.g.Expect(writable()).To(ConsistOf(in(contract.SystemNamespace, shop)))
	h.installs(ctx, "--token", token, "--namespaces", "")
	h.g.Expect(writable()).To(ConsistOf(in(contract.SystemNamespace)), "what it may do in all namespaces is said elsewhere")

	h.must(ctx, "forget", installedName, "--force")
	h.g.Eventually(func() error {
		return h.Get(ctx, client.ObjectKey{Name: installedName}, &clusterv1alpha1.Cluster{})
	}).WithTimeout(time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}
