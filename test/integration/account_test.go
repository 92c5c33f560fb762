package integration

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	agentsetup "fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// TestTheMemberBoundsWhatATenantOfTheHubHasDone runs an agent that impersonates the ServiceAccount "tenant" of each
// namespace, with only the rights in its manifests: what that account may not do is refused, the message says which
// commands allow it, and it is applied once they were run.
func TestTheMemberBoundsWhatATenantOfTheHubHasDone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ctx := context.WithoutCancel(t.Context())
	member, admin := s.member("shop-1"), s.member("shop-1").Client(t)
	without := s.actAs(ctx, t, "shop-1", manifest.Options{Account: "tenant"})
	ns := s.namespace(t)
	web := builder.MakeDeployment(ns, "web").Obj()
	key := builder.MakeTemplate("v1", "Secret", ns, "key").Set(map[string]any{"a": "Yg=="}, "data").Obj()
	more := builder.MakeTemplate("rbac.authorization.k8s.io/v1", "RoleBinding", ns, "more").
		Set(map[string]any{"apiGroup": rbacv1.GroupName, "kind": "ClusterRole", "name": "cluster-admin"}, "roleRef").
		Set([]any{map[string]any{"kind": "ServiceAccount", "namespace": ns, "name": "tenant"}}, "subjects").Obj()
	everywhere := builder.MakeClusterRole(ns).Obj()
	s.create(t, web, key, more, everywhere,
		builder.MakePolicy(ns, "all").Select("apps/v1", "Deployment", "web").Select("v1", "Secret", "key").
			Select("rbac.authorization.k8s.io/v1", "RoleBinding", "more").Clusters("shop-1").Obj(),
		builder.MakePolicy("", ns).Select("rbac.authorization.k8s.io/v1", "ClusterRole", ns).Clusters("shop-1").ClusterObj())

	// The account has no rights yet. The agent applies cluster-scoped objects and the Namespace as itself.
	refusal := func(g Gomega, obj *unstructured.Unstructured) string {
		items := s.binding(t, g, obj).Status.AggregatedStatus
		g.Expect(items).To(HaveLen(1))
		g.Expect(items[0].Applied).To(BeFalse())
		return items[0].AppliedMessage
	}
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "shop-1", everywhere)
		for obj, may := range map[*unstructured.Unstructured]string{
			web: "resource=deployments.apps", key: "resource=secrets", more: "resource=rolebindings.rbac.authorization.k8s.io",
		} {
			g.Expect(refusal(g, obj)).To(And(
				ContainSubstring(`User "system:serviceaccount:`+ns+`:tenant" cannot patch resource`),
				ContainSubstring(may+"`"), ContainSubstring("--serviceaccount="+ns+":tenant`")))
		}
	})

	// The commands in the message are sufficient.
	grant := func(obj *unstructured.Unstructured) { obey(t, member, refusal(g, obj)) }
	grant(web)
	grant(more)
	eventually(t, func(g Gomega) {
		s.inMember(t, g, "shop-1", web)
		g.Expect(refusal(g, more)).To(And(ContainSubstring("attempting to grant RBAC permissions not currently held"), Not(ContainSubstring("`kubectl"))))
	})
	g.Expect(apierrors.IsNotFound(s.get(t, member, key))).To(BeTrue(), "the account may not make Secrets")
	g.Expect(apierrors.IsNotFound(s.get(t, member, more))).To(BeTrue(), "nobody gives himself what he has not")
	grant(key)
	eventually(t, func(g Gomega) { s.inMember(t, g, "shop-1", key) })

	// Objects that may not be deleted stay, and their status says so. Objects that were never created block nothing.
	g.Expect(admin.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "fairlead-secrets"}})).To(Succeed())
	g.Expect(admin.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: "fairlead-rolebindings.rbac.authorization.k8s.io",
	}})).To(Succeed())
	for _, obj := range []*unstructured.Unstructured{key, more} {
		g.Expect(s.hub.Client(t).Delete(t.Context(), obj.DeepCopy())).To(Succeed())
	}
	eventually(t, func(g Gomega) {
		g.Expect(s.works(t, g, "shop-1", s.binding(t, g, web))).To(HaveLen(1))
		g.Expect(s.workGone(t, more)).To(BeTrue())
		var notes []string
		for _, e := range s.events(t, g, contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, "shop-1")) {
			if e.Reason == "DeletionFailed" {
				notes = append(notes, e.Note)
			}
		}
		g.Expect(notes).To(ContainElement(And(ContainSubstring("Secret "+ns+"/key"), ContainSubstring("cannot delete resource"), ContainSubstring("`kubectl create rolebinding"))))
	})
	s.inMember(t, g, "shop-1", key)
	g.Expect(s.workGone(t, key)).To(BeFalse())

	// Without the option the agent's own rights apply again.
	without()
	eventually(t, func(g Gomega) {
		g.Expect(apierrors.IsNotFound(s.get(t, member, key))).To(BeTrue())
		g.Expect(s.workGone(t, key)).To(BeTrue())
	})
}

// TestAConfinedAgentWritesOnlyAsAnAccount runs an agent that is confined to a namespace and a kind, and may not write
// anything as itself.
func TestAConfinedAgentWritesOnlyAsAnAccount(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	member := s.member("shop-2")
	ns := s.namespace(t)
	g.Expect(member.Client(t).Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
	without := s.actAs(context.WithoutCancel(t.Context()), t, "shop-2", manifest.Options{
		Account: "tenant", Namespaces: []string{ns}, Kinds: []string{"configmaps"},
	})
	settings := builder.MakeConfigMap(ns, "settings", "a", "b").Obj()
	s.create(t, settings, builder.MakePolicy(ns, "all").Select("v1", "ConfigMap", "settings").Clusters("shop-2").Obj())
	refused := ""
	eventually(t, func(g Gomega) {
		items := s.binding(t, g, settings).Status.AggregatedStatus
		g.Expect(items).To(HaveLen(1))
		refused = items[0].AppliedMessage
		g.Expect(refused).To(ContainSubstring("`kubectl"))
	})
	obey(t, member, refused)
	eventually(t, func(g Gomega) { s.inMember(t, g, "shop-2", settings) })
	g.Expect(s.hub.Client(t).Delete(t.Context(), settings.DeepCopy())).To(Succeed())
	eventually(t, func(g Gomega) { g.Expect(apierrors.IsNotFound(s.get(t, member, settings))).To(BeTrue()) })
	without()
}

// actAs restarts the agent of a member with options, and with the rights of an agent installed with them. The returned
// function restarts it as usual.
func (s *system) actAs(ctx context.Context, t *testing.T, name string, o manifest.Options) (without func()) {
	t.Helper()
	without = func() {
		s.stop(t, name)
		s.startAgent(ctx, t, name)
	}
	s.stop(t, name)
	s.startAgentWith(ctx, t, name, func(options *agentsetup.Options) {
		options.Member, options.Account, options.Namespaces = installed(t, s.member(name), o), o.Account, o.Namespaces
	})
	t.Cleanup(func() {
		if t.Failed() {
			without()
		}
	})
	return without
}

// obey runs the commands of a message in a member; there must be two.
func obey(t *testing.T, member *cluster.Cluster, message string) {
	t.Helper()
	commands := regexp.MustCompile("`kubectl ([^`]+)`").FindAllStringSubmatch(message, -1)
	NewWithT(t).Expect(commands).To(HaveLen(2), message)
	for _, command := range commands {
		kubectl(t, member, strings.Fields(command[1])...)
	}
}

// workGone reports whether the Work of a template for shop-1 is gone.
func (s *system) workGone(t *testing.T, template *unstructured.Unstructured) bool {
	t.Helper()
	return apierrors.IsNotFound(s.hub.Client(t).Get(t.Context(), client.ObjectKey{
		Namespace: contract.ExecutionNamespace(contract.DefaultExecutionNamespacePrefix, "shop-1"),
		Name:      contract.WorkName(template.GetKind(), template.GetNamespace(), template.GetName()),
	}, &workv1alpha1.Work{}))
}

// installed gives a member the rights of an agent installed with options, and returns a configuration with these
// rights.
func installed(t *testing.T, member *cluster.Cluster, o manifest.Options) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	admin := member.Client(t)
	objects, err := manifest.Objects(o)
	g.Expect(err).NotTo(HaveOccurred())
	for _, obj := range objects {
		if slices.Contains([]string{"Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}, obj.GetKind()) {
			g.Expect(admin.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("test"), client.ForceOwnership)).To(Succeed())
		}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name}}
	token := &authenticationv1.TokenRequest{}
	g.Expect(admin.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	config := rest.AnonymousClientConfig(member.Config)
	config.BearerToken = token.Status.Token
	return config
}

// kubectl runs kubectl as administrator of a cluster.
func kubectl(t *testing.T, c *cluster.Cluster, args ...string) {
	t.Helper()
	program, err := cluster.Executable("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
