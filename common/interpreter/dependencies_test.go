package interpreter_test

import (
	"strconv"
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
	same, others := make(refs, 50_000), make(refs, 50_000)
	for i := range same {
		same[i] = refs{{APIVersion: "v1", Kind: "Pod", LabelSelector: selector()}, {APIVersion: "v1", Kind: "Secret", Name: "b"}}[i%2]
		others[i] = configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: "Secret", Name: strconv.Itoa(i)}
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
		"one with a selector of nothing and one of everything": {
			in:   refs{{APIVersion: "v1", Kind: "Pod", Name: "a", LabelSelector: &metav1.LabelSelector{}}, {APIVersion: "v1", Kind: "Pod", Name: "a"}},
			want: refs{{APIVersion: "v1", Kind: "Pod", Name: "a", LabelSelector: &metav1.LabelSelector{}}, {APIVersion: "v1", Kind: "Pod", Name: "a"}},
		},
		"the same ones many times": {in: same, want: refs{{APIVersion: "v1", Kind: "Pod", LabelSelector: selector()}, {APIVersion: "v1", Kind: "Secret", Name: "b"}}},
		"more than anything needs": {in: others, err: "the rule names more than 2000 objects, which is as many as one may need; name those of a kind by a labelSelector"},
		"without apiVersion":       {in: refs{{Kind: "Secret", Name: "b"}}, err: `dependency 1 (Secret "b"): it has no apiVersion`},
		"without kind":             {in: refs{{APIVersion: "v1", Name: "b"}}, err: `dependency 1 ( "b"): it has no kind`},
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
