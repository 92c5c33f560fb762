package scale_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/adjust/replicas/scale"
)

var web = scale.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}

func TestAMarkIsStoredOnTheBinding(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	b.Annotations = map[string]string{"kept": "yes"}
	g.Expect(scale.Marked(b)).To(BeZero())
	g.Expect(scale.SetMarked(b, scale.Mark{Target: web, UID: "one"})).To(Succeed())
	g.Expect(scale.Marked(b)).To(Equal(scale.Mark{Target: web, UID: "one"}))
	g.Expect(b.Annotations[contract.ScaleTargetAnnotation]).To(MatchJSON(`{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"one"}`), "older hubs read the rest")
	g.Expect(scale.SetMarked(b, scale.Mark{})).To(Succeed())
	g.Expect(scale.Marked(b)).To(BeZero())
	g.Expect(b.Annotations).To(Equal(map[string]string{"kept": "yes"}))

	b.Annotations[contract.ScaleTargetAnnotation] = `{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}`
	g.Expect(scale.Marked(b)).To(Equal(scale.Mark{Target: web}), "an older hub wrote it")
}

func TestTheOwnerOfALabelIsTheManagerThatWroteIt(t *testing.T) {
	t.Parallel()
	wrote := func(manager, fields string) metav1.Object {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "one", ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}}}`)},
			{Manager: contract.FieldManagerReplicas},
			{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)},
		}}}
	}
	const label = `{"f:metadata":{"f:labels":{"f:resourcetemplate.karmada.io/retain-replicas":{}}}}`
	tests := map[string]struct {
		mark scale.Mark
		obj  metav1.Object
		want bool
	}{
		"the object that was marked":                   {scale.Mark{Target: web, UID: "one"}, wrote("kubectl", label), true},
		"another of its name":                          {scale.Mark{Target: web, UID: "two"}, wrote(contract.FieldManagerReplicas, label), false},
		"a label of this stage, by an older record":    {scale.Mark{Target: web}, wrote(contract.FieldManagerReplicas, label), true},
		"a label for another autoscaler, by no record": {scale.Mark{}, wrote(contract.FieldManagerReplicas, label), false},
		"an author's, by an older record":              {scale.Mark{Target: web}, wrote("kubectl", label), false},
		"an author's, and replicas of this stage":      {scale.Mark{Target: web}, wrote(contract.FieldManagerReplicas, `{"f:spec":{"f:replicas":{}}}`), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(tt.mark.On(tt.obj)).To(Equal(tt.want))
		})
	}
}
