package interpreter_test

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
)

func TestCheckDependencies(t *testing.T) {
	t.Parallel()
	type refs = []configv1alpha1.DependentObjectReference
	selector := func() *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	}
	cases := map[string]struct {
		in, want refs
		err      string
	}{
		"sorted, and each once": {
			in: refs{
				{APIVersion: "v1", Kind: "Secret", Name: "b"},
				{APIVersion: "v1", Kind: "Pod", LabelSelector: selector()},
				{APIVersion: "v1", Kind: "Secret", Name: "b"},
				{APIVersion: "v1", Kind: "Pod", LabelSelector: selector()},
			},
			want: refs{{APIVersion: "v1", Kind: "Pod", LabelSelector: selector()}, {APIVersion: "v1", Kind: "Secret", Name: "b"}},
		},
		"without apiVersion": {in: refs{{Kind: "Secret", Name: "b"}}, err: `dependency 1 (Secret "b"): it has no apiVersion`},
		"without kind":       {in: refs{{APIVersion: "v1", Name: "b"}}, err: `dependency 1 ( "b"): it has no kind`},
		"without a name or a selector": {
			in: refs{{APIVersion: "v1", Kind: "Secret"}}, err: `dependency 1 (Secret ""): it has neither a name nor a labelSelector`,
		},
		"with a selector that is none": {
			in: refs{{APIVersion: "v1", Kind: "Pod", LabelSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}},
			}}},
			err: `dependency 1 (Pod ""): its labelSelector: "Like" is not a valid label selector operator`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := interpreter.CheckDependencies(tc.in)
			if tc.err != "" {
				g.Expect(err).To(MatchError(tc.err))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
		})
	}
}
