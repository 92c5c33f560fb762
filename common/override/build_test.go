package override_test

import (
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/override"
)

type object = map[string]any

func deployment() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": object{"name": "web", "namespace": "shop", "labels": object{"app": "web"}},
		"spec": object{
			"replicas": int64(1),
			"template": object{"spec": object{
				"initContainers": []any{object{"name": "init", "image": "busybox:1"}},
				"containers": []any{
					object{"name": "web", "image": "nginx:1.27", "command": []any{"run", "fast"}},
					object{"name": "log", "image": "ghcr.io/acme/log@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
				},
			}},
		},
	}}
}

func edge(name string) *clusterv1alpha1.Cluster {
	return &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"site": "shop"}}}
}

func raw(s string) apiextensionsv1.JSON { return apiextensionsv1.JSON{Raw: []byte(s)} }

func plain(op policyv1alpha1.OverriderOperator, path, value string) policyv1alpha1.Overriders {
	o := policyv1alpha1.PlaintextOverrider{Path: path, Operator: op}
	if value != "" {
		o.Value = raw(value)
	}
	return policyv1alpha1.Overriders{Plaintext: []policyv1alpha1.PlaintextOverrider{o}}
}

func everywhere(o ...policyv1alpha1.Overriders) policyv1alpha1.OverrideSpec {
	spec := policyv1alpha1.OverrideSpec{}
	for i := range o {
		spec.OverrideRules = append(spec.OverrideRules, policyv1alpha1.RuleWithCluster{Overriders: o[i]})
	}
	return spec
}

func about(spec policyv1alpha1.OverrideSpec, selectors ...policyv1alpha1.ResourceSelector) policyv1alpha1.OverrideSpec {
	spec.ResourceSelectors = selectors
	return spec
}

func namespaced(name string, spec policyv1alpha1.OverrideSpec) policyv1alpha1.OverridePolicy {
	return policyv1alpha1.OverridePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: spec}
}

func clusterWide(name string, spec policyv1alpha1.OverrideSpec) policyv1alpha1.ClusterOverridePolicy {
	return policyv1alpha1.ClusterOverridePolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// with applies overriders to an object in a policy of their own.
func with(obj *unstructured.Unstructured, o policyv1alpha1.Overriders) (*unstructured.Unstructured, error) {
	out, err := override.Apply(obj, edge("edge-1"), override.Policies{Cluster: []policyv1alpha1.ClusterOverridePolicy{clusterWide("p", everywhere(o))}})
	return out.Object, err
}

func at(g *WithT, obj *unstructured.Unstructured, path ...string) any {
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	g.Expect(err).NotTo(HaveOccurred())
	return value
}

// be is the matcher of a value that may be nil.
func be(want any) types.GomegaMatcher {
	if want == nil {
		return BeNil()
	}
	return BeComparableTo(want)
}

func container(g *WithT, obj *unstructured.Unstructured, index int) object {
	path := []string{"spec", "template", "spec", "containers"}
	if obj.GetKind() == "Pod" {
		path = []string{"spec", "containers"}
	}
	list, ok := at(g, obj, path...).([]any)
	g.Expect(ok).To(BeTrue())
	c, ok := list[index].(object)
	g.Expect(ok).To(BeTrue())
	return c
}
