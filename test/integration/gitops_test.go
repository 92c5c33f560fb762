package integration

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// fluxManager is the field manager of Flux.
const fluxManager = "kustomize-controller"

// tutorial reads a file of the GitOps tutorial.
func tutorial(t *testing.T, name ...string) []*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	root, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	data, err := os.ReadFile(filepath.Join(append([]string{root, "manifests", "tutorials", "gitops"}, name...)...))
	g.Expect(err).NotTo(HaveOccurred())
	var out []*unstructured.Unstructured
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096); ; {
		obj := &unstructured.Unstructured{}
		if err := documents.Decode(&obj.Object); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, obj)
	}
}

// apply uses server-side apply as Flux does, which labels the objects it applies.
func (s *system) apply(t *testing.T, wanted *unstructured.Unstructured, more ...client.ApplyOption) *unstructured.Unstructured {
	t.Helper()
	obj := wanted.DeepCopy()
	obj.SetLabels(map[string]string{"kustomize.toolkit.fluxcd.io/name": "shop"})
	options := append([]client.ApplyOption{client.FieldOwner(fluxManager), client.ForceOwnership}, more...)
	NewWithT(t).Expect(s.hub.Client(t).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), options...)).To(Succeed())
	return obj
}

// compared returns the fields that Flux compares to detect drift.
func compared(obj *unstructured.Unstructured) map[string]any {
	out := obj.DeepCopy().Object
	delete(out, "metadata")
	delete(out, "status")
	out["labels"], out["annotations"] = obj.GetLabels(), obj.GetAnnotations()
	return out
}

// untyped converts an object that is not in the scheme of the tests' clients.
func untyped(t *testing.T, kind string, obj any) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	out := &unstructured.Unstructured{Object: content}
	out.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
	return out
}

// checkHealth lets the API server evaluate the tutorial's CEL health check in an admission policy. It returns a
// function that checks the health of a Deployment.
func (s *system) checkHealth(t *testing.T) func(*unstructured.Unstructured) error {
	t.Helper()
	g := NewWithT(t)
	checks, _, err := unstructured.NestedSlice(tutorial(t, "flux.yaml")[0].Object, "spec", "healthCheckExprs")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(checks).To(HaveLen(1))
	check, isMap := checks[0].(map[string]any)
	g.Expect(isMap).To(BeTrue())
	current, isText := check["current"].(string)
	g.Expect(isText).To(BeTrue())
	const asked = "health-asked"
	name := s.namespace(t)
	s.create(t, untyped(t, "ValidatingAdmissionPolicy", &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
				},
			}}},
			MatchConditions: []admissionregistrationv1.MatchCondition{{Name: asked, Expression: "'" + asked + "' in object.metadata.?labels.orValue({})"}},
			Validations:     []admissionregistrationv1.Validation{{Expression: regexp.MustCompile(`\b(status|spec|metadata)\.`).ReplaceAllString(current, "object.$1."), Message: "in progress"}},
		},
	}), untyped(t, "ValidatingAdmissionPolicyBinding", &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}))
	// Change a label, because an annotation would increase the generation of a Deployment.
	ask := func(obj *unstructured.Unstructured) error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+asked+`":"yes"}}}`))
		return s.hub.Client(t).Patch(t.Context(), obj.DeepCopy(), patch, client.DryRunAll)
	}
	// Nothing writes the status of this one.
	idle := builder.MakeDeployment(name, "idle").Obj()
	s.create(t, idle)
	eventually(t, func(g Gomega) { g.Expect(ask(idle)).To(MatchError(ContainSubstring("in progress"))) })
	return ask
}

// TestFluxSeesHealthAndNoDrift applies the tutorial's repository as Flux does.
func TestFluxSeesHealthAndNoDrift(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	health := s.checkHealth(t)
	app := tutorial(t, "app", "shop.yaml")
	for _, obj := range app {
		s.apply(t, obj)
	}
	deployment := app[1]
	eventually(t, func(g Gomega) {
		g.Expect(health(deployment)).To(Succeed())
		g.Expect(integer(s.onHub(t, g, deployment), "status", "availableReplicas")).To(BeEquivalentTo(4))
		g.Expect(s.onHub(t, g, deployment).GetLabels()).To(HaveKey(HavePrefix("propagationpolicy.karmada.io/")), "the hub writes on it, too")
		s.inMember(t, g, "edge-1", app[2])
	})

	for _, obj := range app {
		live := s.onHub(t, g, obj)
		g.Expect(compared(s.apply(t, obj, client.DryRunAll))).To(Equal(compared(live)), "%s has drifted", obj.GetKind())
		s.apply(t, obj)
		g.Expect(s.onHub(t, g, obj).GetGeneration()).To(Equal(live.GetGeneration()), obj.GetKind())
	}

	// A change in the repository is in progress until the clusters have it, even while each cluster has all replicas.
	policy := app[3]
	g.Expect(unstructured.SetNestedField(policy.Object, "Duplicated", "spec", "placement", "replicaScheduling", "replicaSchedulingType")).To(Succeed())
	unstructured.RemoveNestedField(policy.Object, "spec", "placement", "replicaScheduling", "replicaDivisionPreference")
	s.apply(t, policy)
	eventually(t, func(g Gomega) {
		g.Expect(integer(s.onHub(t, g, deployment), "status", "availableReplicas")).To(BeEquivalentTo(8))
		g.Expect(health(deployment)).To(Succeed())
	})
	g.Expect(unstructured.SetNestedField(deployment.Object, int64(5), "spec", "replicas")).To(Succeed())
	s.apply(t, deployment)
	eventually(t, func(g Gomega) {
		if health(deployment) == nil {
			g.Expect(integer(s.onHub(t, g, deployment), "status", "availableReplicas")).To(BeEquivalentTo(10))
		}
		g.Expect(health(deployment)).To(Succeed())
	})

	// Objects removed from the repository are pruned, in the members as well.
	for _, obj := range app[1:] {
		g.Expect(s.hub.Client(t).Delete(t.Context(), obj.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	}
	eventually(t, func(g Gomega) {
		for _, member := range []string{"edge-1", "edge-2"} {
			for _, obj := range app[1:3] {
				g.Expect(apierrors.IsNotFound(s.get(t, s.member(member), obj.DeepCopy()))).To(BeTrue(), "%s in %s", obj.GetKind(), member)
			}
		}
	})
}
