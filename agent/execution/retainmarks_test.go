package execution_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
)

// retaining is an interpreter with one more rule of a kind.
type retaining struct {
	interpreter.Interpreter

	kind string
	rule func(desired, observed map[string]any)
}

func (r retaining) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	return kind.Kind == r.kind && op == interpreter.Retain || r.Interpreter.Has(kind, op)
}

func (r retaining) Retain(ctx context.Context, desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if desired.GetKind() != r.kind {
		return r.Interpreter.Retain(ctx, desired, observed)
	}
	desired = desired.DeepCopy()
	r.rule(desired.Object, observed.DeepCopy().Object)
	return desired, nil
}

// metadataOf returns the metadata of an object.
func metadataOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

// A rule has the member decide about all labels and annotations, as is easily written.
func TestARetainRuleLeavesTheObjectOurs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorldOf(t, retaining{native.New(), "ConfigMap", func(desired, observed map[string]any) {
		for _, which := range []string{"labels", "annotations"} {
			metadataOf(desired)[which] = metadataOf(observed)[which]
		}
	}})
	theirs := w.configMap("settings", map[string]string{"a": "1"})
	theirs.Labels, theirs.Annotations = map[string]string{"team": "till"}, map[string]string{"note": "ours"}
	g.Expect(w.client.Create(t.Context(), theirs)).To(Succeed())
	manifest := func(id string) *corev1.ConfigMap {
		cm := w.configMap("settings", map[string]string{"a": "2"})
		cm.Labels = map[string]string{contract.WorkPermanentIDLabel: id, "team": "hub"}
		cm.Annotations = map[string]string{contract.ConflictResolutionAnnotation: contract.ConflictOverwrite}
		return cm
	}
	work := w.work(t, "settings", manifest("first"))
	for _, id := range []string{"first", "second"} {
		w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, manifest(id)) })
		w.isApplied(t, work)
		live := w.get(g, "settings")
		g.Expect(live.Labels).To(Equal(map[string]string{contract.ManagedLabel: contract.LabelTrue, contract.WorkPermanentIDLabel: id, "team": "till"}))
		g.Expect(live.Annotations).To(And(HaveKeyWithValue("note", "ours"),
			HaveKeyWithValue(contract.WorkNameAnnotation, "settings"), HaveKeyWithValue(contract.WorkNamespaceAnnotation, w.works)))
	}
	w.end(t, work, contract.DeletionRemoved)
	w.isGone(t, work)
	g.Eventually(func() error {
		return w.client.Get(t.Context(), client.ObjectKeyFromObject(theirs), &corev1.ConfigMap{})
	}).WithTimeout(waitTimeout).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
	g.Expect(w.events.all()).To(BeEmpty())
}

// TestARuleLetsNoOperatorsIn covers a compromised hub that uses the rules of a kind to produce what it may not send.
func TestARuleLetsNoOperatorsIn(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := newWorldOf(t, retaining{native.New(), "RoleBinding", func(desired, observed map[string]any) {
		if metadataOf(observed)["name"] == "view" {
			desired["subjects"] = []any{map[string]any{
				"kind": rbacv1.ServiceAccountKind, "namespace": contract.SystemNamespace, "name": contract.ConnectName,
			}}
		}
	}})
	binding := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: w.member, Name: "view"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "view"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "alice"}},
	}
	work := w.work(t, "view", binding)
	w.isApplied(t, work)
	binding.Labels = map[string]string{"changed": "yes"}
	w.change(t, work, func(work *workv1alpha1.Work) { work.Spec.Workload.Manifests = raw(t, binding) })
	g.Expect(w.isNotApplied(t, work)).To(And(ContainSubstring("the rules of the kind"), ContainSubstring("`agent operators`")))
	live := &rbacv1.RoleBinding{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(binding), live)).To(Succeed())
	g.Expect(live.Subjects).To(Equal(binding.Subjects))
}
