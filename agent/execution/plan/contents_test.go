package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

func TestWhatOutlivesItsWork(t *testing.T) {
	t.Parallel()
	work := func(preserve, going bool, intent string) *workv1alpha1.Work {
		out := &workv1alpha1.Work{}
		out.Spec.PreserveResourcesOnDeletion = &preserve
		if going {
			out.DeletionTimestamp = &metav1.Time{}
			*out.DeletionTimestamp = metav1.Now()
		}
		if intent != "" {
			out.Annotations = map[string]string{contract.DeletionIntentAnnotation: intent}
		}
		return out
	}
	tests := map[string]struct {
		work *workv1alpha1.Work
		want bool
	}{
		"of a Work that the hub does not have":          {work: nil, want: true},
		"of a Work that asks for it":                    {work: work(true, false, ""), want: true},
		"of one that asks for it and ends":              {work: work(true, true, contract.DeletionRemoved), want: true},
		"of one that somebody else deletes":             {work: work(false, true, ""), want: true},
		"not of one that the hub deletes":               {work: work(false, true, contract.DeletionRemoved)},
		"not of one that is there, whose turn may come": {work: work(false, false, "")},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Outlives(tc.work)).To(Equal(tc.want))
		})
	}
}
