package attach_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/flow/dependencies/attach"
)

func grant(namespace string, from, to map[string]any) *unstructured.Unstructured {
	g := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"from": []any{from}, "to": []any{to, "nonsense"}}}}
	g.SetNamespace(namespace)
	return g
}

func TestGranted(t *testing.T) {
	t.Parallel()
	workload := workv1alpha2.ObjectReference{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway", Namespace: "shop", Name: "web"}
	gateways := map[string]any{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "shop"}
	secrets := map[string]any{"group": "", "kind": "Secret"}
	one := map[string]any{"group": "", "kind": "Secret", "name": "tls"}
	byName := configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "vault", Name: "tls"}
	byLabel := configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "vault"}
	with := func(m map[string]any, key string, value any) map[string]any {
		out := map[string]any{key: value}
		for k, v := range m {
			if k != key {
				out[k] = v
			}
		}
		return out
	}
	broken := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"from": "all", "to": "all"}}}
	broken.SetNamespace("vault")
	for name, c := range map[string]struct {
		grant *unstructured.Unstructured
		ref   configv1alpha1.DependentObjectReference
		want  bool
	}{
		"a grant for the kind":                       {grant("vault", gateways, secrets), byName, true},
		"a grant for the name":                       {grant("vault", gateways, one), byName, true},
		"a grant for the kind, referred to by label": {grant("vault", gateways, secrets), byLabel, true},
		"a grant for one name, referred to by label": {grant("vault", gateways, one), byLabel, false},
		"a grant for another name":                   {grant("vault", gateways, with(one, "name", "key")), byName, false},
		"a grant for another kind":                   {grant("vault", gateways, with(secrets, "kind", "ConfigMap")), byName, false},
		"a grant for another group":                  {grant("vault", gateways, with(secrets, "group", "x.example.com")), byName, false},
		"a grant in another namespace":               {grant("else", gateways, secrets), byName, false},
		"a grant in the workload's namespace":        {grant("shop", gateways, secrets), byName, false},
		"a grant to another namespace":               {grant("vault", with(gateways, "namespace", "else"), secrets), byName, false},
		"a grant to another kind":                    {grant("vault", with(gateways, "kind", "HTTPRoute"), secrets), byName, false},
		"a grant to the kind of another group":       {grant("vault", with(gateways, "group", "x.example.com"), secrets), byName, false},
		"a malformed grant":                          {broken, byName, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(attach.Granted([]*unstructured.Unstructured{c.grant}, workload, c.ref)).To(Equal(c.want))
		})
	}
}

func TestCrosses(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(namespace string) workv1alpha2.ObjectReference {
		return workv1alpha2.ObjectReference{Namespace: namespace}
	}
	to := func(namespace string) configv1alpha1.DependentObjectReference {
		return configv1alpha1.DependentObjectReference{Namespace: namespace}
	}
	g.Expect(attach.Crosses(of("a"), to("b"))).To(BeTrue())
	g.Expect(attach.Crosses(of("a"), to("a"))).To(BeFalse())
	g.Expect(attach.Crosses(of("a"), to(""))).To(BeFalse(), "a cluster-scoped dependency needs no grant")
	g.Expect(attach.Crosses(of(""), to("b"))).To(BeFalse(), "a cluster-scoped workload needs no grant")
}
