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
		"an eager policy takes effect at once":                       {want: Activation{Bind: true}},
		"an eager policy forgets what a lazy one saw":                {seen: "e", bound: true, want: Activation{Bind: true}},
		"a lazy policy waits for an object that was there":           {lazy: true, want: Activation{Seen: "e"}},
		"a lazy policy leaves a binding alone":                       {lazy: true, bound: true, younger: true, want: Activation{Seen: "e"}},
		"an object that is made after the policy is an edit":         {lazy: true, younger: true, want: Activation{Bind: true, Seen: "e"}},
		"what was seen is not an edit":                               {lazy: true, seen: "e", bound: true, want: Activation{Seen: "e"}},
		"what was seen is not an edit, however young the object is":  {lazy: true, seen: "e", younger: true, want: Activation{Seen: "e"}},
		"an edit brings the policy into effect":                      {lazy: true, seen: "old", bound: true, want: Activation{Bind: true, Seen: "e"}},
		"an edit brings the policy into effect where nothing is yet": {lazy: true, seen: "old", want: Activation{Bind: true, Seen: "e"}},
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
		"what was seen in it is not an edit":                  {seen: "e@g/v1", want: Activation{Seen: "e@g/v1"}},
		"what an older hub saw is not an edit":                {seen: "e", want: Activation{Seen: "e"}},
		"what was seen in another version is not one either":  {seen: "old@g/v1beta1", want: Activation{Seen: "e@g/v1"}},
		"what reads the same there is remembered as this one": {seen: "e@g/v1beta1", want: Activation{Seen: "e@g/v1"}},
		"an edit is one":                         {seen: "old@g/v1", want: Activation{Bind: true, Seen: "e@g/v1"}},
		"what an older hub saw before it is one": {seen: "old", want: Activation{Bind: true, Seen: "e@g/v1"}},
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
		"a status is none":                {change: set(int64(2), "status", "replicas")},
		"a version is none":               {change: set("2", "metadata", "resourceVersion")},
		"a generation is none":            {change: set(int64(2), "metadata", "generation")},
		"a claim is none":                 {change: set("id", "metadata", labels, contract.PropagationPolicyPermanentIDLabel)},
		"what the hub notes is none":      {change: set("e", "metadata", annotations, contract.TemplateEditAnnotation)},
		"a spec is one":                   {change: set(int64(2), "spec", "replicas"), edit: true},
		"a label is one":                  {change: set("shop", "metadata", labels, "app"), edit: true},
		"an annotation is one":            {change: set("b", "metadata", annotations, "note"), edit: true},
		"a label is not an annotation":    {change: set(map[string]any{"app": "web", "note": "a"}, "metadata", labels), edit: true},
		"another object is one":           {change: set("v", "metadata", "uid"), edit: true},
		"to keep a namespace here is one": {change: set("true", "metadata", labels, contract.SkipAutoPropagationLabel), edit: true},
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
