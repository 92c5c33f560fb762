package plan_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestOnlyWhatBearsLabelAndNameOfTheWorkIsDeleted(t *testing.T) {
	t.Parallel()
	m := parse(t, settings)
	cases := map[string]struct {
		live           *unstructured.Unstructured
		delete, resign bool
	}{
		"all marks":             {live(m), true, true},
		"no marks":              {live(m, unmarked), false, false},
		"the label alone":       {live(m, without("metadata", "annotations")), false, true},
		"the name alone":        {live(m, without("metadata", "labels")), false, true},
		"another Work":          {live(m, ofAnotherWork()), false, false},
		"half a name":           {live(m, without("metadata", "annotations", contract.WorkNamespaceAnnotation)), false, true},
		"another label's value": {live(m, with(contract.ManagedLabel, "false", "metadata", "labels")), false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(plan.Deletable(tc.live, self)).To(Equal(tc.delete))
			g.Expect(plan.Releasable(tc.live, self)).To(Equal(tc.resign))
		})
	}
}

func TestAnObjectOfAnotherHubIsOfAnotherWork(t *testing.T) {
	t.Parallel()
	identified := func(id string) func(*unstructured.Unstructured) {
		return with(contract.WorkPermanentIDLabel, id, "metadata", "labels")
	}
	m := parse(t, settings)
	cases := map[string]struct {
		live, desired *unstructured.Unstructured
		want          bool
	}{
		"the same":                         {live(m, identified("a")), live(m, identified("a")), false},
		"another":                          {live(m, identified("a")), live(m, identified("b")), true},
		"neither has one":                  {live(m), live(m), false},
		"what is there has none":           {live(m), live(m, identified("b")), false},
		"what is wanted has none":          {live(m, identified("a")), live(m), false},
		"what is wanted is not understood": {live(m, identified("a")), nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(plan.IsOfAnother(tc.live, tc.desired)).To(Equal(tc.want))
			if tc.desired == nil {
				return
			}
			raw, err := tc.desired.MarshalJSON()
			g.Expect(err).NotTo(HaveOccurred())
			journaled := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: self.Namespace, Name: self.Name}}
			journaled.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: raw}}}
			g.Expect(plan.IsOfAnotherThan(tc.live, journaled)).To(Equal(tc.want))
			ofTheHub := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Labels: tc.desired.GetLabels()}}
			g.Expect(plan.IsOfAnotherThan(tc.live, ofTheHub)).To(Equal(tc.want))
		})
	}
}

// TestOnlyWhatCertainlyStandsIsDeletedWithoutAnotherLook covers a watch that lags behind an object that we have
// recreated: by the stale state the Work would end and leave the object behind.
func TestOnlyWhatCertainlyStandsIsDeletedWithoutAnotherLook(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := parse(t, settings)
	g.Expect(plan.Decisive(live(m), self)).To(BeTrue())
	g.Expect(plan.Decisive(nil, self)).To(BeFalse())
	g.Expect(plan.Decisive(live(m, unmarked), self)).To(BeFalse())
	g.Expect(plan.Decisive(live(m, func(o *unstructured.Unstructured) {
		now := metav1.NewTime(noon)
		o.SetDeletionTimestamp(&now)
	}), self)).To(BeFalse())
}

func TestReleaseTakesOffOurMarksAndNoOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	obj := live(parse(t, settings))
	labels, annotations := obj.GetLabels(), obj.GetAnnotations()
	for _, key := range []string{
		contract.WorkPermanentIDLabel, contract.ResourceBindingPermanentIDLabel, contract.ClusterResourceBindingPermanentIDLabel,
		contract.PropagationPolicyPermanentIDLabel, contract.ClusterPropagationPolicyPermanentIDLabel,
	} {
		labels[key] = "x"
	}
	for _, key := range []string{
		contract.ManagedAnnotationsAnnotation, contract.ManagedLabelsAnnotation, contract.TemplateUIDAnnotation,
		contract.TemplateGenerationAnnotation, contract.ResourceBindingNamespaceAnnotation, contract.ResourceBindingNameAnnotation,
		contract.ClusterResourceBindingNameAnnotation, contract.ConflictResolutionAnnotation,
		contract.PropagationPolicyNamespaceAnnotation, contract.PropagationPolicyNameAnnotation, contract.ClusterPropagationPolicyNameAnnotation,
	} {
		annotations[key] = "x"
	}
	annotations["note"] = "kept"
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)

	patch := plan.Release(obj)
	metadata, _ := patch["metadata"].(map[string]any)
	g.Expect(metadata).To(HaveKeyWithValue("uid", "uid-1"))
	for kind, have := range map[string]map[string]string{"labels": labels, "annotations": annotations} {
		removed, _ := metadata[kind].(map[string]any)
		for key := range have {
			if key == "app" || key == "note" {
				g.Expect(removed).NotTo(HaveKey(key))
				continue
			}
			g.Expect(removed).To(HaveKeyWithValue(key, BeNil()))
		}
	}
	g.Expect(plan.Release(live(parse(t, settings), unmarked))).To(BeNil())
}
