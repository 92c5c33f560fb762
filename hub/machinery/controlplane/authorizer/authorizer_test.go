package authorizer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/client-go/informers"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// refuses is the authorizer that is asked where RBAC allows nothing.
type refuses struct{}

func (refuses) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionDeny, "asked next", nil
}

// both returns our authorizer and that of Kubernetes, with the same objects.
func both(t testing.TB, objects ...any) (ours, theirs authorizer.Authorizer) {
	t.Helper()
	g := NewWithT(t)
	rights := informers.NewSharedInformerFactory(nil, 0).Rbac().V1()
	ours, err := New(rights, refuses{})
	g.Expect(err).NotTo(HaveOccurred())
	for _, obj := range objects {
		switch o := obj.(type) {
		case *rbacv1.Role:
			err = rights.Roles().Informer().GetIndexer().Add(o)
		case *rbacv1.RoleBinding:
			err = rights.RoleBindings().Informer().GetIndexer().Add(o)
		case *rbacv1.ClusterRole:
			err = rights.ClusterRoles().Informer().GetIndexer().Add(o)
		case *rbacv1.ClusterRoleBinding:
			err = rights.ClusterRoleBindings().Informer().GetIndexer().Add(o)
		}
		g.Expect(err).NotTo(HaveOccurred())
	}
	return ours, rbac.New(
		&rbac.RoleGetter{Lister: rights.Roles().Lister()}, &rbac.RoleBindingLister{Lister: rights.RoleBindings().Lister()},
		&rbac.ClusterRoleGetter{Lister: rights.ClusterRoles().Lister()}, &rbac.ClusterRoleBindingLister{Lister: rights.ClusterRoleBindings().Lister()},
	)
}

func rules(resource string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}}}
}

// TestTheSameIsAllowedAsByKubernetes compares the two on random rights, for users, groups and service accounts.
func TestTheSameIsAllowedAsByKubernetes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	subjects := func() (out []rbacv1.Subject) {
		for range r.IntN(3) {
			out = append(out, rbacv1.Subject{Kind: one("User", "Group", "ServiceAccount", "Robot"), Namespace: one("", "a", "b"), Name: one("x", "y", "a/x", "system:serviceaccount:a:x")})
		}
		return out
	}
	allowed := 0
	for range 300 {
		var objects []any
		for _, namespace := range []string{"a", "b"} {
			for _, resource := range []string{"pods", "secrets"} {
				meta := metav1.ObjectMeta{Namespace: namespace, Name: resource}
				objects = append(objects, &rbacv1.Role{ObjectMeta: meta, Rules: rules(resource)},
					&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: one("Role", "ClusterRole"), Name: resource}, Subjects: subjects()})
			}
		}
		for _, resource := range []string{"pods", "secrets", "nodes"} {
			meta := metav1.ObjectMeta{Name: resource}
			objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules(resource)},
				&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: one(resource, "gone")}, Subjects: subjects()})
		}
		ours, theirs := both(t, objects...)
		for _, who := range []*user.DefaultInfo{
			{Name: "x"}, {Name: "y", Groups: []string{"x"}}, {Name: "system:serviceaccount:a:x"}, {Name: "system:serviceaccount:b:y", Groups: []string{"y", "x"}}, {Name: ""}, {Name: "system:serviceaccount:"},
		} {
			for _, namespace := range []string{"", "a", "b"} {
				for _, resource := range []string{"pods", "secrets", "nodes"} {
					asked := authorizer.AttributesRecord{User: who, Verb: "get", Namespace: namespace, Resource: resource, ResourceRequest: true}
					got, _, _ := ours.Authorize(t.Context(), asked)
					want, _, _ := theirs.Authorize(t.Context(), asked)
					if want == authorizer.DecisionAllow {
						allowed++
					} else {
						want = authorizer.DecisionDeny // the decision of the next authorizer
					}
					g.Expect(got).To(Equal(want), "%+v of %q in %q", who, resource, namespace)
				}
			}
		}
	}
	g.Expect(allowed).To(BeNumerically(">", 500))
}

func TestASubjectThatIsRemovedFromABindingIsNotAllowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	rights := informers.NewSharedInformerFactory(nil, 0).Rbac().V1()
	ours, err := New(rights, refuses{})
	g.Expect(err).NotTo(HaveOccurred())
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "nodes"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "nodes"},
		Subjects: []rbacv1.Subject{{Kind: "User", Name: "x"}},
	}
	g.Expect(rights.ClusterRoles().Informer().GetIndexer().Add(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "nodes"}, Rules: rules("nodes")})).To(Succeed())
	g.Expect(rights.ClusterRoleBindings().Informer().GetIndexer().Add(binding)).To(Succeed())
	may := func() authorizer.Decision {
		decision, _, _ := ours.Authorize(t.Context(), authorizer.AttributesRecord{User: &user.DefaultInfo{Name: "x"}, Verb: "get", Resource: "nodes", ResourceRequest: true})
		return decision
	}
	g.Expect(may()).To(Equal(authorizer.DecisionAllow))
	without := binding.DeepCopy()
	without.Subjects = nil
	g.Expect(rights.ClusterRoleBindings().Informer().GetIndexer().Update(without)).To(Succeed())
	g.Expect(may()).To(Equal(authorizer.DecisionDeny))
}

// BenchmarkAnAgentOfMany measures whether an agent may read its own Cluster, with both authorizers.
func BenchmarkAnAgentOfMany(b *testing.B) {
	for _, agents := range []int{100, 1000, 5000} {
		var objects []any
		for i := range agents {
			name := fmt.Sprintf("agent-%d", i)
			role := rules("clusters")
			role[0].ResourceNames = []string{name}
			objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: role},
				&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: name}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: name}}})
		}
		ours, theirs := both(b, objects...)
		asked := authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: "agent", Groups: []string{"agent-7", "system:authenticated"}}, Verb: "get", Resource: "clusters", Name: "agent-7", ResourceRequest: true,
		}
		for name, a := range map[string]authorizer.Authorizer{"by subject": ours, "of Kubernetes": theirs} {
			b.Run(fmt.Sprintf("%d agents, %s", agents, name), func(b *testing.B) {
				for b.Loop() {
					if decision, _, _ := a.Authorize(b.Context(), asked); decision != authorizer.DecisionAllow {
						b.Fatal("it is not allowed")
					}
				}
			})
		}
	}
}
