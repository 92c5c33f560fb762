package revocation

import (
	"testing"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

func TestTheWatchesOfAServiceAccountEndWithItsRoleBinding(t *testing.T) {
	t.Parallel()
	for name, namespace := range map[string]string{"that names its namespace": "shop", "that leaves its namespace to the RoleBinding": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			binding := &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "reads-secrets"},
				Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "robot"}},
			}
			var ended []string
			r := &Requests{}
			for _, who := range []string{"system:serviceaccount:shop:robot", "system:serviceaccount:shop:other", "system:serviceaccount:bank:robot"} {
				defer r.add(&openRequest{user: &user.DefaultInfo{Name: who}, end: func() { ended = append(ended, who) }})()
			}
			r.End(removed(subjectsOf(binding), subjectsOf(&rbacv1.RoleBinding{ObjectMeta: binding.ObjectMeta})))
			g.Expect(ended).To(ConsistOf("system:serviceaccount:shop:robot"))
			g.Expect(binding.Subjects[0].Namespace).To(Equal(namespace), "the binding is the cache's")
		})
	}
}
