package plan

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

func TestActivate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		lazy           bool
		seen           string
		bound, younger bool
		want           Activation
	}{
		"an eager policy takes effect at once":                        {want: Activation{Bind: true}},
		"an eager policy clears what a lazy one recorded":             {seen: "e", bound: true, want: Activation{Bind: true}},
		"a lazy policy waits if the object existed before":            {lazy: true, want: Activation{Seen: "e"}},
		"a lazy policy does not touch a binding":                      {lazy: true, bound: true, younger: true, want: Activation{Seen: "e"}},
		"an object that is younger than the policy counts as edited":  {lazy: true, younger: true, want: Activation{Bind: true, Seen: "e"}},
		"a recorded edit does not count":                              {lazy: true, seen: "e", bound: true, want: Activation{Seen: "e"}},
		"a recorded edit does not count, however young the object is": {lazy: true, seen: "e", younger: true, want: Activation{Seen: "e"}},
		"a new edit applies the policy":                               {lazy: true, seen: "old", bound: true, want: Activation{Bind: true, Seen: "e"}},
		"a new edit applies the policy without a binding":             {lazy: true, seen: "old", want: Activation{Bind: true, Seen: "e"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Activate(tc.lazy, tc.seen, "e", tc.bound, tc.younger)).To(Equal(tc.want))
		})
	}
}

// Another version is not an edit of the template, although its content reads differently there.
func TestActivateInAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		seen string
		want Activation
	}{
		"an edit recorded in this version does not count":               {seen: "e@g/v1", want: Activation{Seen: "e@g/v1"}},
		"an edit recorded without a version does not count":             {seen: "e", want: Activation{Seen: "e"}},
		"an edit recorded in another version does not count":            {seen: "old@g/v1beta1", want: Activation{Seen: "e@g/v1"}},
		"the same content in another version is recorded with this one": {seen: "e@g/v1beta1", want: Activation{Seen: "e@g/v1"}},
		"a new edit in this version counts":                             {seen: "old@g/v1", want: Activation{Bind: true, Seen: "e@g/v1"}},
		"a new edit after one recorded without a version counts":        {seen: "old", want: Activation{Bind: true, Seen: "e@g/v1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(Activate(true, tc.seen, "e@g/v1", true, false)).To(Equal(tc.want))
		})
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	web := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{
				"uid": "u", "generation": int64(1), "resourceVersion": "1",
				"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"note": "a"},
			},
			"spec":   map[string]any{"replicas": int64(1)},
			"status": map[string]any{"replicas": int64(1)},
		}}
	}
	set := func(value any, path ...string) func(*unstructured.Unstructured) error {
		return func(u *unstructured.Unstructured) error { return unstructured.SetNestedField(u.Object, value, path...) }
	}
	const labels, annotations = "labels", "annotations"
	cases := map[string]struct {
		change func(*unstructured.Unstructured) error
		edit   bool
	}{
		"the status is ignored":                              {change: set(int64(2), "status", "replicas")},
		"the resourceVersion is ignored":                     {change: set("2", "metadata", "resourceVersion")},
		"the generation is ignored":                          {change: set(int64(2), "metadata", "generation")},
		"a claim is ignored":                                 {change: set("id", "metadata", labels, contract.PropagationPolicyPermanentIDLabel)},
		"records of the hub are ignored":                     {change: set("e", "metadata", annotations, contract.TemplateEditAnnotation)},
		"a change of the spec counts":                        {change: set(int64(2), "spec", "replicas"), edit: true},
		"a label counts":                                     {change: set("shop", "metadata", labels, "app"), edit: true},
		"an annotation counts":                               {change: set("b", "metadata", annotations, "note"), edit: true},
		"a label is not an annotation":                       {change: set(map[string]any{"app": "web", "note": "a"}, "metadata", labels), edit: true},
		"another UID counts":                                 {change: set("v", "metadata", "uid"), edit: true},
		"the label that keeps a namespace on the hub counts": {change: set("true", "metadata", labels, contract.SkipAutoPropagationLabel), edit: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before, err := Edit(web())
			g.Expect(err).NotTo(HaveOccurred())
			changed := web()
			g.Expect(tc.change(changed)).To(Succeed())
			after, err := Edit(changed)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(after != before).To(Equal(tc.edit))
			g.Expect(after).To(HaveSuffix("@apps/v1"))
		})
	}
}
