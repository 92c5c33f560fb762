package plan_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
)

func TestParseSaysWhatIsWrongWithAManifest(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ manifest, want string }{
		"no JSON":       {`{"apiVersion"`, "not an object in JSON"},
		"no object":     {`[1]`, "not an object in JSON"},
		"nothing":       {``, "not an object in JSON"},
		"null":          {`null`, "no apiVersion"},
		"no apiVersion": {`{"kind":"ConfigMap","metadata":{"name":"a"}}`, "no apiVersion"},
		"no kind":       {`{"apiVersion":"v1","metadata":{"name":"a"}}`, "no kind"},
		"no name":       {`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"a-"}}`, "no metadata.name"},
		"no metadata":   {`{"apiVersion":"v1","kind":"ConfigMap"}`, "no metadata.name"},
		"odd metadata":  {`{"apiVersion":"v1","kind":"ConfigMap","metadata":7}`, "no metadata.name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			// What is wrong with one does not concern its neighbours.
			parsed := plan.Parse(workOf(settings, tc.manifest, web))
			g.Expect(parsed).To(HaveLen(3))
			g.Expect(parsed[1].Problem).To(MatchError(ContainSubstring(tc.want)))
			g.Expect(parsed[1].Desired).To(BeNil())
			g.Expect(parsed[0].Problem).NotTo(HaveOccurred())
			g.Expect(parsed[2].Problem).NotTo(HaveOccurred())
			g.Expect(parsed[2].Ordinal).To(Equal(2))
		})
	}
}

func TestParseRefusesTheSecondOfTwoManifestsAboutOneObject(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	parsed := plan.Parse(workOf(settings, web, settings))
	g.Expect(parsed[0].Problem).NotTo(HaveOccurred())
	g.Expect(parsed[2].Problem).To(MatchError(ContainSubstring("manifest 0 of the Work is the same object")))
}

// TestTheSameTextInAnotherWorkIsAnotherManifest checks that the record of an object for one Work does not count for
// another.
func TestTheSameTextInAnotherWorkIsAnotherManifest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	other := workOf(settings)
	other.Name = "other"
	g.Expect(plan.Parse(other)[0].Digest).NotTo(Equal(parse(t, settings).Digest))
	g.Expect(parse(t, settings).Digest).To(Equal(parse(t, settings).Digest))
}

func TestDesiredHasTheMarksAndNothingOfTheHub(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop","uid":"u","resourceVersion":"5",
		"generation":3,"creationTimestamp":null,"deletionTimestamp":"2026-01-01T00:00:00Z","deletionGracePeriodSeconds":1,"selfLink":"/x",
		"generateName":"s-","managedFields":[{"manager":"m"}],"ownerReferences":[{"name":"o"}],"finalizers":["f"],
		"labels":{"app":"web"},"annotations":{"note":"n"}},"data":{"n":"1"},"number":9007199254740993,"status":{"phase":"x"}}`)
	g.Expect(m.Desired.Object).To(Equal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": "settings", "namespace": "shop",
			"labels": map[string]any{"app": "web", contract.ManagedLabel: "true"},
			"annotations": map[string]any{
				"note": "n", contract.WorkNamespaceAnnotation: self.Namespace, contract.WorkNameAnnotation: self.Name,
			},
		},
		"data":   map[string]any{"n": "1"},
		"number": int64(9007199254740993),
	}))
	g.Expect(m.Object.String()).To(Equal("ConfigMap shop/settings"))
}

func TestStrippedLeavesItsArgumentAsItIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a", "uid": "1", "resourceVersion": "7"}, "spec": map[string]any{}, "status": map[string]any{},
	}}
	before := obj.DeepCopy()
	g.Expect(plan.Stripped(obj).Object).To(Equal(map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{}}))
	g.Expect(obj).To(Equal(before))
}

// TestAServiceAccountSaysWhichSecretsItsManifestHad checks that the annotation records the manifest's names, even if
// there are none: Retain later tells by it which entries others added.
func TestAServiceAccountSaysWhichSecretsItsManifestHad(t *testing.T) {
	t.Parallel()
	for manifest, want := range map[string]any{
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a","namespace":"shop"},"imagePullSecrets":[{"name":"x"},{"name":"y"}]}`: "x,y",
		`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"a","namespace":"shop"}}`:                                                "",
		settings: nil,
	} {
		got, has := parse(t, manifest).Desired.GetAnnotations()[contract.ImagePullSecretsAnnotation]
		NewWithT(t).Expect(has).To(Equal(want != nil), manifest)
		if has {
			NewWithT(t).Expect(got).To(Equal(want), manifest)
		}
	}
}

func TestDesiredOverridesMarksThatAManifestBrings(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","labels":{"karmada.io/managed":"false"},
		"annotations":{"work.karmada.io/name":"stolen","work.karmada.io/namespace":"karmada-es-edge-2"}}}`)
	work, ok := plan.WorkOf(m.Desired)
	g.Expect(ok).To(BeTrue())
	g.Expect(work).To(Equal(self))
	g.Expect(m.Desired.GetLabels()).To(HaveKeyWithValue(contract.ManagedLabel, "true"))
	g.Expect(m.Object.String()).To(Equal("Namespace shop"))
}

func TestOrderPutsWhatOthersNeedFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kind := func(apiVersion, kind string) string {
		return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"name":"` + kind + `"}}`
	}
	names := func(manifests []plan.Manifest) []string {
		var out []string
		for _, m := range manifests {
			out = append(out, m.Object.Kind)
		}
		return out
	}
	parsed := plan.Parse(workOf(
		kind("autoscaling/v2", "HorizontalPodAutoscaler"), kind("apps/v1", "Deployment"), kind("shop.example.com/v1", "Widget"),
		kind("v1", "Service"), kind("rbac.authorization.k8s.io/v1", "RoleBinding"), kind("rbac.authorization.k8s.io/v1", "Role"),
		kind("v1", "PersistentVolumeClaim"), kind("v1", "ConfigMap"), kind("v1", "Secret"), kind("v1", "ServiceAccount"),
		kind("apiextensions.k8s.io/v1", "CustomResourceDefinition"), kind("v1", "Namespace"), `{`))
	g.Expect(names(plan.Order(parsed))).To(Equal([]string{
		"Namespace", "CustomResourceDefinition", "ServiceAccount", "Secret", "ConfigMap", "PersistentVolumeClaim", "Role", "RoleBinding",
		"Service", "Widget", "", "Deployment", "HorizontalPodAutoscaler",
	}))
	g.Expect(parsed[0].Object.Kind).To(Equal("HorizontalPodAutoscaler"), "the argument is as it was")
}

func TestEndingGoesTheOtherWayRound(t *testing.T) {
	t.Parallel()
	work := workOf(
		`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"twice"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"shop","name":"twice"},"data":{"a":"1"}}`,
		`{"kind":"ConfigMap","metadata":{"namespace":"shop","name":"no-version"}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"no-name"}}`,
		`{`,
	)
	names := func() []string {
		var out []string
		for _, m := range plan.Ending(work) {
			text := m.Object.String()
			if m.Problem != nil {
				text += ", which is not applied"
			}
			out = append(out, text)
		}
		return out
	}
	g := NewWithT(t)
	g.Expect(names()).To(Equal([]string{"ConfigMap shop/twice", "Namespace shop"}))
	work.Annotations = map[string]string{contract.ResourceBindingNamespaceAnnotation: "other", contract.ResourceBindingNameAnnotation: "x"}
	work.Spec.Workload.Manifests = work.Spec.Workload.Manifests[:2]
	g.Expect(names()).To(Equal([]string{"ConfigMap shop/twice, which is not applied", "Namespace shop, which is not applied"}))
}

func TestAWorkHasOnlyTheObjectOfItsBinding(t *testing.T) {
	t.Parallel()
	bound := map[string]string{contract.ResourceBindingNamespaceAnnotation: "shop", contract.ResourceBindingNameAnnotation: "made-by-hand"}
	manifest := func(kind, namespace, name string) string {
		return `{"apiVersion":"v1","kind":"` + kind + `","metadata":{"namespace":"` + namespace + `","name":"` + name + `"}}`
	}
	for name, tc := range map[string]struct {
		annotations map[string]string
		manifest    string
		refused     bool
	}{
		"its own":                          {bound, manifest("ConfigMap", "shop", "settings"), false},
		"in another namespace":             {bound, manifest("ConfigMap", "kube-system", "settings"), true},
		"of another name":                  {bound, manifest("ConfigMap", "shop", "others"), true},
		"of another kind":                  {bound, manifest("Secret", "shop", "settings"), true},
		"without a namespace":              {bound, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"}}`, true},
		"any, of a cluster-scoped binding": {map[string]string{contract.ClusterResourceBindingNameAnnotation: "x"}, manifest("Secret", "shop", "any"), false},
		"any, of a Work of no binding":     {nil, manifest("Secret", "shop", "any"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			work := workOf(tc.manifest)
			work.Name, work.Annotations = contract.WorkName("ConfigMap", "shop", "settings"), tc.annotations
			m := plan.Parse(work)[0]
			if !tc.refused {
				g.Expect(m.Problem).NotTo(HaveOccurred())
				return
			}
			g.Expect(m.Problem).To(MatchError(ContainSubstring("which is the binding of another object")))
			g.Expect(m.Desired).To(BeNil())
		})
	}
}
