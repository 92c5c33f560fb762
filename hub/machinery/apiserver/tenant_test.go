package apiserver

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// TestRightsOfTenants binds the roles that every Kubernetes has, in one namespace, and asks what they allow there.
func TestRightsOfTenants(t *testing.T) {
	t.Parallel()
	hub := installedHub(t)
	hubClient := hub.Client(t)
	reviews, err := authorizationclient.NewForConfig(hub.Config)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	own, other := hub.Namespace(t), hub.Namespace(t)
	roles := []string{"view", "edit", "admin"}
	for _, role := range roles {
		NewWithT(t).Expect(hubClient.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: own, Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: own + "-" + role}},
		})).To(Succeed())
	}
	may := func(role, namespace, verb, group, resource string) bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User:               own + "-" + role,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: group, Resource: resource},
		}}
		answer, err := reviews.SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return answer.Status.Allowed
	}
	const policies, works, scaling, rollouts = "policy.karmada.io", "work.karmada.io", "autoscaling.karmada.io", "fairlead.dev"
	readers, writers, nobody := roles, roles[1:], []string{}
	// What is allowed is checked first: then the roles are aggregated, and a refusal does not merely mean that they are
	// not aggregated yet.
	for _, tc := range []struct {
		verb, group, resource string
		want                  []string
	}{
		{"list", policies, "propagationpolicies", readers},
		{"watch", policies, "overridepolicies", readers},
		{"get", policies, "federatedresourcequotas", readers},
		{"get", works, "resourcebindings", readers},
		{"list", scaling, "cronfederatedhpas", readers},
		{"watch", rollouts, "stagedrollouts", readers},

		{"create", policies, "propagationpolicies", writers},
		{"delete", policies, "propagationpolicies", writers},
		{"patch", policies, "overridepolicies", writers},
		{"update", scaling, "cronfederatedhpas", writers},
		{"patch", rollouts, "stagedrollouts", writers},

		{"approve", rollouts, "stagedrollouts", nobody},
		{"create", rollouts, "stagedrollouts", nobody},
		{"update", policies, "federatedresourcequotas", nobody},
		{"update", works, "resourcebindings", nobody},
		{"create", works, "resourcebindings", nobody},
		{"patch", works, "resourcebindings/status", nobody},
		{"get", works, "works", nobody},
		{"create", works, "works", nobody},
		{"patch", works, "works", nobody},
		{"patch", "", "namespaces", nobody},
		{"update", "", "namespaces", nobody},
		{"create", policies, "clusterpropagationpolicies", nobody},
		{"create", policies, "clusteroverridepolicies", nobody},
		{"create", rollouts, "rolloutstrategies", nobody},
		{"list", "cluster.karmada.io", "clusters", nobody},
	} {
		for _, role := range roles {
			g := NewWithT(t)
			want := BeFalse()
			for _, one := range tc.want {
				if one == role {
					want = BeTrue()
				}
			}
			// The API server's controller aggregates roles shortly after they are installed.
			g.Eventually(func() bool { return may(role, own, tc.verb, tc.group, tc.resource) }).WithTimeout(time.Minute).
				Should(want, "%s %s %s in its namespace", role, tc.verb, tc.resource)
			g.Expect(may(role, other, tc.verb, tc.group, tc.resource)).To(BeFalse(), "%s %s %s in another namespace", role, tc.verb, tc.resource)
			g.Expect(may(role, "", tc.verb, tc.group, tc.resource)).To(BeFalse(), "%s %s %s everywhere", role, tc.verb, tc.resource)
		}
	}
}
