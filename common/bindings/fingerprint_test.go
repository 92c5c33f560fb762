package bindings_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before, after metav1.ObjectMeta
		want          bool // whether it changes
	}{
		"a status changes only the version": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "1"},
			after:  metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "2"},
		},
		"a spec changes the generation": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1, ResourceVersion: "1"},
			after:  metav1.ObjectMeta{UID: "u", Generation: 2, ResourceVersion: "1"}, want: true,
		},
		"without a generation the version counts": {
			before: metav1.ObjectMeta{UID: "u", ResourceVersion: "1"},
			after:  metav1.ObjectMeta{UID: "u", ResourceVersion: "2"}, want: true,
		},
		"a label counts": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1},
			after:  metav1.ObjectMeta{UID: "u", Generation: 1, Labels: map[string]string{"a": "b"}}, want: true,
		},
		"a value counts": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1, Annotations: map[string]string{"a": "b"}},
			after:  metav1.ObjectMeta{UID: "u", Generation: 1, Annotations: map[string]string{"a": "c"}}, want: true,
		},
		"a label is no annotation": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1, Annotations: map[string]string{"a": "b"}},
			after:  metav1.ObjectMeta{UID: "u", Generation: 1, Labels: map[string]string{"a": "b"}}, want: true,
		},
		"another object of the same name is another": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1},
			after:  metav1.ObjectMeta{UID: "v", Generation: 1}, want: true,
		},
		"the deletion counts": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1},
			after:  metav1.ObjectMeta{UID: "u", Generation: 1, DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}}, want: true,
		},
		"finalizers and owners stay on the hub and do not count": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1},
			after: metav1.ObjectMeta{
				UID: "u", Generation: 1, Finalizers: []string{"f"}, OwnerReferences: []metav1.OwnerReference{{Name: "o"}},
			},
		},
		"the copy that kubectl apply keeps does not count, for no cache has it": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1},
			after:  metav1.ObjectMeta{UID: "u", Generation: 1, Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}},
		},
		"no labels and an empty set are the same": {
			before: metav1.ObjectMeta{UID: "u", Generation: 1},
			after:  metav1.ObjectMeta{UID: "u", Generation: 1, Labels: map[string]string{}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(bindings.Fingerprint(&tc.before) != bindings.Fingerprint(&tc.after)).To(Equal(tc.want))
			g.Expect(bindings.Fingerprint(&tc.before)).To(Equal(bindings.Fingerprint(&tc.before)))
		})
	}
}

func TestMadeOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	template := &metav1.ObjectMeta{UID: "u", Generation: 1}
	g.Expect(bindings.MadeOf(template, "")).To(Equal(bindings.Fingerprint(template)))
	g.Expect(bindings.MadeOf(template, "v2")).To(Equal(bindings.Fingerprint(template) + "-v2"))
	b := &metav1.ObjectMeta{}
	g.Expect(bindings.FingerprintOn(b)).To(BeEmpty())
	for _, rules := range []string{"", "v2-3"} {
		b.Annotations = map[string]string{contract.TemplateFingerprintAnnotation: bindings.MadeOf(template, rules)}
		g.Expect(bindings.FingerprintOn(b)).To(Equal(bindings.Fingerprint(template)), "by whatever rules")
	}
}
