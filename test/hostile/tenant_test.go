package hostile

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
)

// overriders are overrides that change the identity of an object, or Fairlead's marks on it, in JSON as a tenant would
// write them in a rule.
func overriders() map[string]string {
	out := map[string]string{}
	plain := func(op, path, value string) string {
		if op == "remove" {
			return fmt.Sprintf(`{"plaintext":[{"operator":%q,"path":%q}]}`, op, path)
		}
		return fmt.Sprintf(`{"plaintext":[{"operator":%q,"path":%q,"value":%s}]}`, op, path, value)
	}
	for path, value := range map[string]string{
		"/apiVersion": `"rbac.authorization.k8s.io/v1"`, "/kind": `"Secret"`, "/metadata/name": `"stolen"`, "/metadata/namespace": `"kube-system"`,
		"/metadata/generateName": `"stolen-"`, "/metadata/uid": `"00000000-0000-0000-0000-000000000000"`,
		"/metadata/ownerReferences":            `[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}]`,
		"/metadata/ownerReferences/-":          `{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"y"}`,
		"/metadata/finalizers":                 `["a.b/c"]`,
		"/metadata/finalizers/-":               `"a.b/c"`,
		"/metadata":                            `{"name":"stolen","namespace":"kube-system"}`,
		"/metadata/":                           `"x"`,
		"/":                                    `{"kind":"Secret"}`,
		"":                                     `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"stolen","namespace":"kube-system"}}`,
		"//metadata/namespace":                 `"kube-system"`,
		"/metadata~1namespace":                 `"kube-system"`,
		"/~0metadata/namespace":                `"kube-system"`,
		"/metadata/~01namespace":               `"kube-system"`,
		"/meta~2data/namespace":                `"kube-system"`,
		"/%6detadata/namespace":                `"kube-system"`,
		"/metadata/namespace/":                 `"kube-system"`,
		"metadata/namespace":                   `"kube-system"`,
		"/metadata/labels":                     `{"work.karmada.io/permanent-id":"another"}`,
		"/metadata/annotations":                `{"work.karmada.io/name":"another","work.karmada.io/namespace":"karmada-es-edge-1"}`,
		"/roleRef":                             `{"kind":"ClusterRole","name":"cluster-admin"}`,
		"/subjects":                            `[{"kind":"Group","name":"system:authenticated"}]`,
		"/subjects/0":                          `{"kind":"Group","name":"system:authenticated"}`,
		"/rules":                               `[{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}]`,
		"/rules/0/verbs/-":                     `"*"`,
		"/aggregationRule":                     `{}`,
		"/metadata/labels/karmada.io~1managed": `"false"`,
		"/metadata/labels/work.karmada.io~1permanent-id":        `"another"`,
		"/metadata/annotations/work.karmada.io~1namespace":      `"karmada-es-edge-1"`,
		"/metadata/annotations/fairlead.dev~1deletion-intent":   `"removed"`,
		"/metadata/annotations/resourcebinding.karmada.io~1uid": `"x"`,
	} {
		for _, op := range []string{"add", "replace", "remove"} {
			out[op+" "+path] = plain(op, path, value)
		}
	}
	maps.Copy(out, map[string]string{
		"a field that is JSON":           `{"fieldOverrider":[{"fieldPath":"/metadata/name","json":[{"operator":"replace","subPath":"/a","value":"stolen"}]}]}`,
		"a field that is YAML":           `{"fieldOverrider":[{"fieldPath":"/metadata/namespace","yaml":[{"operator":"add","subPath":"/a","value":"x"}]}]}`,
		"a kind that is YAML":            `{"fieldOverrider":[{"fieldPath":"/kind","yaml":[{"operator":"add","subPath":"/a","value":"x"}]}]}`,
		"a text that is large":           `{"fieldOverrider":[{"fieldPath":"/data/yaml","yaml":[{"operator":"add","subPath":"/x","value":"x"}]}]}`,
		"an image that is the name":      `{"imageOverrider":[{"predicate":{"path":"/metadata/name"},"component":"Repository","operator":"replace","value":"stolen"}]}`,
		"an image that is the namespace": `{"imageOverrider":[{"predicate":{"path":"/metadata/namespace"},"component":"Repository","operator":"replace","value":"kube-system"}]}`,
		"an image that is the kind":      `{"imageOverrider":[{"predicate":{"path":"/kind"},"component":"Repository","operator":"replace","value":"secret"}]}`,
		"a label of ours":                `{"labelsOverrider":[{"operator":"add","value":{"work.karmada.io/permanent-id":"another"}}]}`,
		"a label of ours, replaced":      `{"labelsOverrider":[{"operator":"replace","value":{"karmada.io/managed":"false"}}]}`,
		"a label of ours, removed":       `{"labelsOverrider":[{"operator":"remove","value":{"karmada.io/managed":"true","work.karmada.io/permanent-id":"x"}}]}`,
		"an annotation of ours":          `{"annotationsOverrider":[{"operator":"add","value":{"work.karmada.io/namespace":"karmada-es-edge-1","work.karmada.io/name":"another"}}]}`,
		"an annotation of ours, removed": `{"annotationsOverrider":[{"operator":"remove","value":{"work.karmada.io/name":"x","resourcetemplate.karmada.io/uid":"x"}}]}`,
		"the intent to delete":           `{"annotationsOverrider":[{"operator":"add","value":{"fairlead.dev/deletion-intent":"removed"}}]}`,
		"a value that is too deep":       plain("add", "/metadata/annotations/a", strings.Repeat("[", 200)+strings.Repeat("]", 200)),
		"a value that is too large":      plain("add", "/metadata/annotations/a", `"`+repeat("x", 300_000)+`"`),
	})
	return out
}

// TestATenantCannotOverrideWhatAnObjectIs has a tenant write every such override, for its own template. Each is
// rejected, or the member gets the same object, of the same Work, in the same namespace, or the hub reports why nothing
// is propagated.
func TestATenantCannotOverrideWhatAnObjectIs(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	m := w.member(t, "tenants")
	ns := w.api.Namespace(t)
	tenant := w.tenant(t, ns)
	policies := "/apis/policy.karmada.io/v1alpha1/namespaces/" + ns + "/overridepolicies"
	var taken []string
	all := overriders()
	for _, how := range slices.Sorted(maps.Keys(all)) {
		name := fmt.Sprintf("attack-%d", len(taken))
		body := fmt.Sprintf(`{"apiVersion":"policy.karmada.io/v1alpha1","kind":"OverridePolicy","metadata":{"name":%q},"spec":{
			"resourceSelectors":[{"apiVersion":"v1","kind":"ConfigMap","name":%q}],"overrideRules":[{"overriders":%s}]}}`, name, name, all[how])
		tenant.attempts++
		code := tenant.do(t, http.MethodPost, policies, body, nil)
		g.Expect(code).To(BeNumerically("<", http.StatusInternalServerError), how)
		if code < http.StatusBadRequest {
			taken = append(taken, how)
		}
	}
	propagation := everywhere(ns, m.name)
	propagation.Spec.ResourceSelectors = []policyv1alpha1.ResourceSelector{{APIVersion: "v1", Kind: "ConfigMap", LabelSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{"attacked": "true"},
	}}}
	g.Expect(w.Create(t.Context(), propagation)).To(Succeed())
	// It has ten kilobytes, but more than a gigabyte with its YAML aliases expanded.
	expands := "a: &a " + repeat("x", 5_000) + "\nb: &b [" + repeat("*a,", 300) + "]\nc: [" + repeat("*b,", 1_000) + "]\n"
	for i := range taken {
		g.Expect(w.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("attack-%d", i), Labels: map[string]string{"attacked": "true"}},
			Data:       map[string]string{"json": `{"a":"b"}`, "yaml": expands},
		})).To(Succeed())
	}
	for i, how := range taken {
		t.Run(how, func(t *testing.T) {
			eventually(t, func(g Gomega) {
				if w.complains(t, g, ns, fmt.Sprintf("attack-%d", i)) {
					return
				}
				m.hasStill(t, g, ns, fmt.Sprintf("attack-%d", i))
			})
		})
	}
	var works workv1alpha1.WorkList
	g.Expect(w.List(t.Context(), &works, client.InNamespace("karmada-es-"+m.name))).To(Succeed())
	g.Expect(works.Items).NotTo(BeEmpty())
	t.Logf("a tenant wrote %d overrides; %d were refused, %d could not be applied, and the others did not change what the object is",
		len(all), len(all)-len(taken), len(taken)-len(works.Items))
	g.Expect(len(all) - len(taken)).To(BeNumerically(">", 50))
}

// hasStill checks that the member's version of a ConfigMap is the same ConfigMap.
func (m *member) hasStill(t *testing.T, g Gomega, namespace, name string) {
	t.Helper()
	binding := &workv1alpha2.ResourceBinding{}
	g.Expect(m.w.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name + "-configmap"}, binding)).To(Succeed())
	work := m.findWork(t, g, namespace, binding.Name)
	g.Expect(work).NotTo(BeNil())
	g.Expect(work.Annotations).NotTo(HaveKey(contract.DeletionIntentAnnotation))
	g.Expect(work.Spec.Workload.Manifests).To(HaveLen(1))
	got := &unstructured.Unstructured{}
	g.Expect(json.Unmarshal(work.Spec.Workload.Manifests[0].Raw, &got.Object)).To(Succeed())
	g.Expect(got.GetAPIVersion() + " " + got.GetKind()).To(Equal("v1 ConfigMap"))
	g.Expect(got.GetNamespace() + "/" + got.GetName()).To(Equal(namespace + "/" + name))
	g.Expect(got.Object).NotTo(Or(HaveKey("roleRef"), HaveKey("subjects"), HaveKey("rules"), HaveKey("aggregationRule")))
	metadata, ok := got.Object["metadata"].(map[string]any)
	g.Expect(ok).To(BeTrue())
	g.Expect(metadata).NotTo(Or(HaveKey("generateName"), HaveKey("uid"), HaveKey("ownerReferences"), HaveKey("finalizers")))
	g.Expect(got.GetLabels()).To(HaveKeyWithValue(contract.WorkPermanentIDLabel, work.Labels[contract.WorkPermanentIDLabel]))
	g.Expect(got.GetLabels()).To(HaveKeyWithValue("karmada.io/managed", "true"))
	g.Expect(got.GetAnnotations()).To(HaveKeyWithValue(contract.WorkNamespaceAnnotation, work.Namespace))
	g.Expect(got.GetAnnotations()).To(HaveKeyWithValue(contract.WorkNameAnnotation, work.Name))
	g.Expect(got.GetAnnotations()).To(HaveKeyWithValue(contract.ResourceBindingNameAnnotation, binding.Name))
}

// complains reports whether the hub says that a policy cannot be applied.
func (w *world) complains(t *testing.T, g Gomega, namespace, policy string) bool {
	t.Helper()
	var events corev1.EventList
	g.Expect(w.List(t.Context(), &events, client.InNamespace(namespace))).To(Succeed())
	return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
		return e.Type == corev1.EventTypeWarning && strings.Contains(e.Message, namespace+"/"+policy+`"`)
	})
}

// TestWorksThatAnAdministratorDeletesComeBack deletes Works of bindings as an administrator of the hub. That is
// allowed, and has no effect: the hub recreates them, and without the hub's deletion intent no agent deletes anything
// in a member.
func TestWorksThatAnAdministratorDeletesComeBack(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	m := w.member(t, "deleted-works")
	ns := w.api.Namespace(t)
	g.Expect(w.Create(t.Context(), deployment(ns, "web", honestly))).To(Succeed())
	g.Expect(w.Create(t.Context(), everywhere(ns, m.name))).To(Succeed())
	admin := newIntruder(t, w.api.Config)
	for what, path := range map[string]func(work string) string{
		"one by one": func(work string) string { return worksOf(m.name) + "/" + work },
		"all":        func(string) string { return worksOf(m.name) },
	} {
		t.Run(what, func(t *testing.T) {
			before := m.workOf(t, ns, "web-deployment")
			NewWithT(t).Expect(admin.do(t, http.MethodDelete, path(before.Name), "", nil)).To(Equal(http.StatusOK))
			eventually(t, func(g Gomega) {
				after := m.workOf(t, ns, "web-deployment")
				if after.UID == before.UID {
					g.Expect(after.Annotations).NotTo(HaveKey(contract.DeletionIntentAnnotation), "the hub did not mean it")
					// The agent removes its finalizer, and keeps the objects.
					m.do(t, http.MethodPatch, worksOf(m.name)+"/"+after.Name, `{"metadata":{"finalizers":null}}`, row{method: http.MethodPatch}.header())
				}
				g.Expect(after.UID).NotTo(Equal(before.UID))
				g.Expect(after.Spec.Workload.Manifests).To(HaveLen(1))
			})
		})
	}
}
