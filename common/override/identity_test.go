package override_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/override"
)

// TestATenantStaysInItsNamespace is the attack of a tenant with write access to one namespace of the hub, by a policy
// that turns their object into another one in the members.
func TestATenantStaysInItsNamespace(t *testing.T) {
	t.Parallel()
	const replace, add, remove = policyv1alpha1.OverrideReplace, policyv1alpha1.OverrideAdd, policyv1alpha1.OverrideRemove
	image := policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{
		Predicate: &policyv1alpha1.ImagePredicate{Path: "/metadata/name"}, Component: policyv1alpha1.ImageRepository, Operator: replace, Value: "kube-proxy",
	}}}
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	tests := map[string]struct {
		overriders policyv1alpha1.Overriders
		want       string // of an OverridePolicy
		operator   string // of a ClusterOverridePolicy
	}{
		"into another namespace":        {plain(replace, "/metadata/namespace", `"kube-system"`), "/metadata/namespace", "/metadata/namespace"},
		"by way of the whole metadata":  {plain(replace, "/metadata", `{"name":"view","namespace":"kube-system"}`), "/metadata/namespace", "/metadata/namespace"},
		"under another name":            {plain(replace, "/metadata/name", `"admin"`), "/metadata/name", "/metadata/name"},
		"under a name that is an image": {image, "/metadata/name", "/metadata/name"},
		"under a generated name":        {plain(add, "/metadata/generateName", `"x-"`), "/metadata/generateName", "/metadata/generateName"},
		"without a namespace":           {plain(remove, "/metadata/namespace", ""), "/metadata/namespace", "/metadata/namespace"},
		"owned by another object":       {plain(add, "/metadata/ownerReferences", `[{"uid":"x"}]`), "/metadata/ownerReferences", "/metadata/ownerReferences"},
		"kept by a finalizer":           {plain(add, "/metadata/finalizers", `["a/b"]`), "/metadata/finalizers", "/metadata/finalizers"},
		"with a uid":                    {plain(add, "/metadata/uid", `"x"`), "/metadata/uid", "/metadata/uid"},
		"bound to another role":         {plain(replace, "/roleRef/name", `"cluster-admin"`), "/roleRef", ""},
		"bound to others":               {plain(add, "/subjects/-", `{"kind":"User","name":"eve"}`), "/subjects", ""},
		"too deep":                      {plain(add, "/metadata/x", deep), "levels deep", "levels deep"},
		"too large":                     {plain(add, "/metadata/x", `"`+strings.Repeat("x", 256<<10)+`"`), "bytes", "bytes"},
		"with a label of its own":       {plain(add, "/metadata/labels", `{"a":"b"}`), "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			role := &unstructured.Unstructured{Object: object{
				"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": object{"name": "view", "namespace": "shop"},
				"roleRef": object{"kind": "ClusterRole", "name": "view"}, "subjects": []any{object{"kind": "User", "name": "anna"}},
			}}
			spec := everywhere(tt.overriders)
			check := func(policies override.Policies, want string) {
				result, err := override.Apply(role, edge("edge-1"), policies)
				if want != "" {
					g.Expect(err).To(MatchError(ContainSubstring(want)))
					return
				}
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.Object.GetNamespace() + "/" + result.Object.GetName()).To(Equal("shop/view"))
			}
			check(override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}, Spec: spec}}}, tt.want)
			check(override.Policies{Cluster: []policyv1alpha1.ClusterOverridePolicy{{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: spec}}}, tt.operator)
		})
	}
}

// TestATenantGrantsNothing is the same attack on objects that grant rights or quotas. A tenant may neither write
// these in their namespace nor have them written in the members.
func TestATenantGrantsNothing(t *testing.T) {
	t.Parallel()
	const replace, add, remove = policyv1alpha1.OverrideReplace, policyv1alpha1.OverrideAdd, policyv1alpha1.OverrideRemove
	role := object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": []any{
		object{"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"}},
	}}
	quota := object{"apiVersion": "v1", "kind": "ResourceQuota", "spec": object{"hard": object{"pods": "10"}}}
	limits := object{"apiVersion": "v1", "kind": "LimitRange", "spec": object{"limits": []any{object{"type": "pod", "note": "a: b"}}}}
	yaml := policyv1alpha1.Overriders{FieldOverrider: []policyv1alpha1.FieldOverrider{{FieldPath: "/spec/limits/0/note", YAML: []policyv1alpha1.YAMLPatchOperation{
		{SubPath: "/a", Operator: replace, Value: raw(`"c"`)},
	}}}}
	image := policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{
		Predicate: &policyv1alpha1.ImagePredicate{Path: "/spec/limits/0/type"}, Component: policyv1alpha1.ImageRepository, Operator: replace, Value: "container",
	}}}
	mirror := policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: policyv1alpha1.ImageRegistry, Operator: replace, Value: "a.b"}}}
	tests := map[string]struct {
		of         object
		overriders policyv1alpha1.Overriders
		want       string // of an OverridePolicy
	}{
		"every right":                       {role, plain(replace, "/rules", `[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]`), "/rules of a Role"},
		"one more right":                    {role, plain(add, "/rules/0/verbs/-", `"delete"`), "/rules of a Role"},
		"rights of other roles":             {role, plain(add, "/aggregationRule", `{}`), "/aggregationRule of a Role"},
		"a larger quota":                    {quota, plain(replace, "/spec/hard/pods", `"1000"`), "/spec of a ResourceQuota"},
		"no quota":                          {quota, plain(remove, "/spec", ""), "/spec of a ResourceQuota"},
		"no limits":                         {limits, plain(replace, "/spec/limits", `[]`), "/spec of a LimitRange"},
		"limits by way of a text":           {limits, yaml, "/spec of a LimitRange"},
		"limits by way of an image":         {limits, image, "/spec of a LimitRange"},
		"a label":                           {role, plain(add, "/metadata/labels", `{"a":"b"}`), ""},
		"an annotation, as of all objects":  {quota, note("x"), ""},
		"images, of which there are none":   {limits, mirror, ""},
		"what says nothing about rights":    {object{"apiVersion": "example.com/v1", "kind": "ResourceQuota", "spec": object{}}, plain(add, "/spec/a", `1`), ""},
		"rights, in a kind of another name": {object{"apiVersion": "example.com/v1", "kind": "Other", "rules": []any{}}, plain(add, "/rules/-", `1`), "/rules"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := (&unstructured.Unstructured{Object: tt.of}).DeepCopy()
			obj.SetNamespace("shop")
			obj.SetName("x")
			spec := everywhere(tt.overriders)
			_, err := override.Apply(obj, edge("edge-1"), override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("p", spec)}})
			if tt.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(And(ContainSubstring(tt.want), ContainSubstring("shop/p"), ContainSubstring("ClusterOverridePolicy"))))
			}
			// Administrators may.
			_, err = override.Apply(obj, edge("edge-1"), override.Policies{Cluster: []policyv1alpha1.ClusterOverridePolicy{clusterWide("p", spec)}})
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}
