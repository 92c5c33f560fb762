package plan_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/execution/plan"
)

func TestRightsEndLast(t *testing.T) {
	t.Parallel()
	work := workOf(
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"deployer"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"deployer"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"namespace":"shop","name":"deployer"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"namespace":"shop","name":"deployer"}}`,
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"namespace":"shop","name":"deployer"}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"}}`,
	)
	var kinds []string
	rights := map[string]bool{}
	for _, m := range plan.Ending(work) {
		kinds = append(kinds, m.Object.Kind)
		rights[m.Object.Kind] = plan.GivesRights(m.Object)
	}
	g := NewWithT(t)
	g.Expect(kinds).To(Equal([]string{"Deployment", "ServiceAccount", "RoleBinding", "Role", "Namespace", "ClusterRoleBinding", "ClusterRole"}))
	g.Expect(rights).To(Equal(map[string]bool{
		"Deployment": false, "ServiceAccount": false, "RoleBinding": true, "Role": true, "Namespace": false, "ClusterRoleBinding": true, "ClusterRole": true,
	}))
}

func TestKindsThatMayNeedRights(t *testing.T) {
	t.Parallel()
	object := func(group, kind, namespace string) plan.Object {
		o := plan.Object{}
		o.Group, o.Kind, o.Namespace = group, kind, namespace
		return o
	}
	const rbac = "rbac.authorization.k8s.io"
	everywhere, inShop := object(rbac, "ClusterRole", ""), object(rbac, "Role", "shop")
	for name, tc := range map[string]struct {
		o, rights plan.Object
		want      bool
	}{
		"in that namespace":        {object("", "Secret", "shop"), inShop, true},
		"in another":               {object("", "Secret", "lab"), inShop, false},
		"in any":                   {object("", "Secret", "lab"), everywhere, true},
		"in none":                  {object("", "Namespace", ""), everywhere, false},
		"other rights":             {object(rbac, "RoleBinding", "shop"), everywhere, true},
		"other rights there":       {object(rbac, "RoleBinding", "shop"), inShop, false},
		"in OpenShift's own group": {object("authorization.openshift.io", "RoleBinding", "shop"), inShop, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(plan.MayNeed(tc.o, tc.rights)).To(Equal(tc.want))
		})
	}
}

func TestOnlyWorksThatNameTheNamespaceAreDecoded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	object := func(kind, namespace string) plan.Object {
		o := plan.Object{}
		o.Group, o.Kind, o.Namespace = "rbac.authorization.k8s.io", kind, namespace
		return o
	}
	work := workOf(
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","name":"key"}}`,
		`{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"lab","name":"key"}}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"namespace":"shop","name":"deployer"}}`,
	)
	g.Expect(plan.NeedersIn(work, object("Role", "shop"))).To(HaveLen(1))
	g.Expect(plan.NeedersIn(work, object("ClusterRole", ""))).To(HaveLen(3))
	g.Expect(plan.NeedersIn(work, object("Role", "office"))).To(BeEmpty())
}
