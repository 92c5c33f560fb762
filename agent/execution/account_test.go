package execution

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
)

func TestTheAdviceForADenial(t *testing.T) {
	t.Parallel()
	object := plan.Object{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}}
	deployments, accounts := schema.GroupResource{Group: "apps", Resource: "deployments"}, schema.GroupResource{Resource: "serviceaccounts"}
	for name, c := range map[string]struct {
		err    error
		advice []string // none: it is no denial of authorization
	}{
		"no right": {
			apierrors.NewForbidden(deployments, "web", errors.New(`User "system:serviceaccount:shop:tenant" cannot patch resource "deployments" in API group "apps" in the namespace "shop"`)),
			[]string{
				"`kubectl create role fairlead-deployments.apps -n shop --verb=get,create,patch,delete --resource=deployments.apps`",
				"`kubectl create rolebinding fairlead-deployments.apps -n shop --role=fairlead-deployments.apps --serviceaccount=shop:tenant`",
			},
		},
		"not the account": {
			apierrors.NewForbidden(accounts, "tenant", errors.New(`User "system:serviceaccount:karmada-system:fairlead-agent" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "shop"`)),
			[]string{"--verb=impersonate --resource=serviceaccounts --resource-name=tenant", "ServiceAccount shop/tenant"},
		},
		"admission": {apierrors.NewForbidden(deployments, "web", errors.New(`violates PodSecurity "restricted:latest"`)), nil},
		"a quota":   {apierrors.NewForbidden(deployments, "web", errors.New("exceeded quota: objects")), nil},
		"a role that gives more": {
			apierrors.NewForbidden(deployments, "web", errors.New(`user "system:serviceaccount:shop:tenant" (groups=["system:serviceaccounts"]) is attempting to grant RBAC permissions not currently held`)), nil,
		},
		"something else": {errors.New("no"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d, ok := denialOf(c.err)
			g.Expect(ok).To(Equal(c.advice != nil))
			for _, want := range c.advice {
				g.Expect(d.advice(object, "tenant")).To(ContainSubstring(want))
			}
		})
	}
}
