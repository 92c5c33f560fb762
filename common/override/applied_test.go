package override_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/override"
)

func TestAppliedSaysWhatHadNoEffect(t *testing.T) {
	t.Parallel()
	const add, replace, remove = policyv1alpha1.OverrideAdd, policyv1alpha1.OverrideReplace, policyv1alpha1.OverrideRemove
	config := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c", "namespace": "shop"}, "data": object{"a": "{}"}}}
	bare := deployment()
	delete(container(NewWithT(t), bare, 0), "image")
	delete(container(NewWithT(t), bare, 1), "image")
	tag := func(value string) policyv1alpha1.Overriders { return image(policyv1alpha1.ImageTag, add, value) }
	words := func(name string) policyv1alpha1.Overriders {
		return policyv1alpha1.Overriders{ArgsOverrider: []policyv1alpha1.CommandArgsOverrider{{ContainerName: name, Operator: remove, Value: []string{"x"}}}}
	}
	labels := func(op policyv1alpha1.OverriderOperator, key string) policyv1alpha1.Overriders {
		return policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: op, Value: map[string]string{key: "web"}}}}
	}
	const untold = "untold"
	tests := map[string]struct {
		obj  *unstructured.Unstructured
		o    policyv1alpha1.Overriders
		want string
	}{
		"an image that is changed":             {deployment(), tag("-slim"), ""},
		"an image that is so already":          {deployment(), image(policyv1alpha1.ImageRepository, add, ""), ""},
		"a kind without a pod template":        {config, tag("-slim"), untold},
		"containers without images":            {bare, tag("-slim"), "imageOverrider[0]: no container has an image"},
		"a tag that is none":                   {deployment(), tag(" "), "imageOverrider[0]: what it makes is neither a tag nor a digest; correct the value"},
		"arguments of a container":             {deployment(), words("web"), ""},
		"arguments of an init container":       {deployment(), words("init"), ""},
		"arguments of no container":            {deployment(), words("wbe"), "argsOverrider[0]: no container has that name; correct containerName"},
		"arguments of a kind without any":      {config, words("web"), untold},
		"a label that is added":                {config, labels(add, "app"), ""},
		"a label that is so already":           {deployment(), labels(replace, "app"), ""},
		"a label that is not there to replace": {deployment(), labels(replace, "ap"), "labelsOverrider[0]: the object has none of these labels to replace"},
		"a label that is not there to remove":  {config, labels(remove, "app"), "labelsOverrider[0]: the object has none of these labels to remove"},
		"a field without operations":           {config, policyv1alpha1.Overriders{FieldOverrider: []policyv1alpha1.FieldOverrider{{FieldPath: "/data/a"}}}, "fieldOverrider[0]: it has neither json nor yaml"},
		"plaintext":                            {deployment(), plain(add, "/spec/paused", "true"), ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			out, err := override.Apply(tt.obj, edge("edge-1"), override.Policies{Cluster: []policyv1alpha1.ClusterOverridePolicy{clusterWide("p", everywhere(tt.o))}})
			g.Expect(err).NotTo(HaveOccurred())
			annotations, err := out.Annotations()
			g.Expect(err).NotTo(HaveOccurred())
			if tt.want == "" {
				g.Expect(override.WithoutEffect(annotations)).To(BeEmpty())
				g.Expect(override.Names(annotations)).To(Equal([]string{"p"}))
				return
			}
			if tt.want == untold {
				g.Expect(override.WithoutEffect(annotations)).To(BeEmpty())
			} else {
				g.Expect(override.WithoutEffect(annotations)).To(Equal([]string{"ClusterOverridePolicy p, " + tt.want}))
			}
			g.Expect(override.Names(annotations)).To(BeEmpty(), "it shaped nothing")
		})
	}
}

func TestSomeOverridersOfARuleHadAnEffect(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := image(policyv1alpha1.ImageTag, policyv1alpha1.OverrideReplace, "2")
	for range 100 {
		o.CommandOverrider = append(o.CommandOverrider, policyv1alpha1.CommandArgsOverrider{ContainerName: strings.Repeat("x", 1000), Operator: policyv1alpha1.OverrideAdd})
	}
	out, err := override.Apply(deployment(), edge("edge-1"), override.Policies{Namespaced: []policyv1alpha1.OverridePolicy{namespaced("p", everywhere(o))}})
	g.Expect(err).NotTo(HaveOccurred())
	annotations, err := out.Annotations()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(override.Names(annotations)).To(Equal([]string{"p"}))
	said := override.WithoutEffect(annotations)
	g.Expect(said).To(HaveLen(6), "annotations are bounded")
	g.Expect(said[5]).To(Equal("OverridePolicy p, 95 more overriders of the rule: likewise"))
	g.Expect(len(strings.Join(said, ""))).To(BeNumerically("<", 1000))
}
