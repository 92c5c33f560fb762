package override_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

const (
	digest      = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	otherDigest = "sha256:aaaac44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func image(c policyv1alpha1.ImageComponent, op policyv1alpha1.OverriderOperator, value string) policyv1alpha1.Overriders {
	return policyv1alpha1.Overriders{ImageOverrider: []policyv1alpha1.ImageOverrider{{Component: c, Operator: op, Value: value}}}
}

func TestImage(t *testing.T) {
	t.Parallel()
	const (
		add, replace, remove      = policyv1alpha1.OverrideAdd, policyv1alpha1.OverrideReplace, policyv1alpha1.OverrideRemove
		registry, repository, tag = policyv1alpha1.ImageRegistry, policyv1alpha1.ImageRepository, policyv1alpha1.ImageTag
	)
	tests := map[string]struct {
		image     string
		component policyv1alpha1.ImageComponent
		operator  policyv1alpha1.OverriderOperator
		value     string
		want      string
	}{
		"a registry is set where there is none":         {"nginx:1", registry, replace, "mirror.local:5000", "mirror.local:5000/nginx:1"},
		"a registry is added where there is none":       {"library/nginx", registry, add, "mirror.local", "mirror.local/library/nginx"},
		"a registry is replaced":                        {"ghcr.io/a/b:1", registry, replace, "mirror.local", "mirror.local/a/b:1"},
		"a registry is appended to":                     {"ghcr.io/a/b:1", registry, add, ".cn", "ghcr.io.cn/a/b:1"},
		"a registry is removed":                         {"ghcr.io/a/b:1", registry, remove, "", "a/b:1"},
		"localhost is a registry":                       {"localhost/a", registry, remove, "", "a"},
		"a port makes a registry":                       {"host:5000/a:1", registry, replace, "x.io", "x.io/a:1"},
		"a plain first part is none":                    {"acme/web", registry, replace, "x.io", "x.io/acme/web"},
		"a repository is replaced":                      {"ghcr.io/a/b:1", repository, replace, "c/d", "ghcr.io/c/d:1"},
		"a repository is appended to":                   {"nginx:1", repository, add, "-slim", "nginx-slim:1"},
		"a tag is replaced":                             {"nginx:1", tag, replace, "2", "nginx:2"},
		"a tag is set where there is none":              {"nginx", tag, replace, "2", "nginx:2"},
		"a tag is added where there is none":            {"nginx", tag, add, "2", "nginx:2"},
		"a tag gets a suffix":                           {"nginx:1", tag, add, "-alpine", "nginx:1-alpine"},
		"a tag is removed":                              {"nginx:1", tag, remove, "", "nginx"},
		"a digest is removed as a tag":                  {"nginx@" + digest, tag, remove, "", "nginx"},
		"a digest is replaced by a digest":              {"nginx@" + digest, tag, replace, otherDigest, "nginx@" + otherDigest},
		"a digest is replaced by a tag":                 {"nginx@" + digest, tag, replace, "2", "nginx:2"},
		"a tag is replaced by a digest":                 {"nginx:1", tag, replace, digest, "nginx@" + digest},
		"tag and digest are replaced by a tag":          {"nginx:1@" + digest, tag, replace, "2", "nginx:2"},
		"tag and digest are replaced by a digest":       {"nginx:1@" + digest, tag, replace, otherDigest, "nginx@" + otherDigest},
		"what is neither tag nor digest is not a tag":   {"nginx:1", tag, replace, "not a tag", "nginx:1"},
		"a suffix alone is not a tag":                   {"nginx", tag, add, "-alpine", "nginx"},
		"a suffix of a digest is not a digest":          {"nginx@" + digest, tag, add, "-alpine", "nginx@" + digest},
		"the digest stays when the registry is another": {"nginx:1@" + digest, registry, replace, "mirror.local", "mirror.local/nginx:1@" + digest},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := deployment()
			container(g, obj, 0)["image"] = tt.image
			delete(container(g, obj, 1), "image")
			out, err := with(obj, image(tt.component, tt.operator, tt.value))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(container(g, out, 0)["image"]).To(Equal(tt.want))
		})
	}
}

// TestWhatMakesNoImageIsNotTold checks that errors contain no value of a policy: their readers may be tenants.
func TestWhatMakesNoImageIsNotTold(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := with(deployment(), image(policyv1alpha1.ImageRegistry, policyv1alpha1.OverrideReplace, "robot:hunter2@mirror.local"))
	g.Expect(err).To(MatchError(And(ContainSubstring("replace Registry makes of the image what is none"), Not(ContainSubstring("hunter2")))))
}

// TestWhatIsAtAPathIsNotTold checks that errors do not contain the value found at the path: a ClusterOverridePolicy
// may have set it, and a tenant reads the error.
func TestWhatIsAtAPathIsNotTold(t *testing.T) {
	t.Parallel()
	field := policyv1alpha1.Overriders{FieldOverrider: []policyv1alpha1.FieldOverrider{{
		FieldPath: "/metadata/annotations/config", YAML: []policyv1alpha1.YAMLPatchOperation{{SubPath: "/a", Operator: policyv1alpha1.OverrideRemove}},
	}}}
	for name, tc := range map[string]struct {
		at   func(g *WithT, obj *unstructured.Unstructured)
		by   policyv1alpha1.Overriders
		want string
	}{
		"what is no image": {
			at: func(g *WithT, obj *unstructured.Unstructured) {
				container(g, obj, 0)["image"] = "robot:hunter2@mirror.local/a"
			},
			by: image(policyv1alpha1.ImageTag, policyv1alpha1.OverrideReplace, "1"), want: "what is there before it is changed is no image",
		},
		"YAML with an alias of nothing": {at: annotated("a: 1\nb: *hunter2\n"), by: field, want: "the string is not YAML"},
		"YAML of two maps in a line":    {at: annotated("a: 1\nb: hunter2: 2\n"), by: field, want: "the string is not YAML, in line 2"},
		"YAML with a map as a key":      {at: annotated("a: 1\n? {hunter2: 1}\n: b\n"), by: field, want: "the string is not YAML"},
		"YAML of another type":          {at: annotated("a: !!int hunter2\n"), by: field, want: "the string is not YAML"},
		"YAML that ends too early":      {at: annotated("a: 1\nb: \"hunter2\n"), by: field, want: "the string is not YAML, in line"},
		"a list, beside an alias":       {at: annotated("- &a hunter2\n- *a\n"), by: field, want: "subPath"},
		"text":                          {at: annotated("hunter2"), by: field, want: "subPath"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := deployment()
			tc.at(g, obj)
			_, err := with(obj, tc.by)
			g.Expect(err).To(MatchError(And(ContainSubstring(tc.want), Not(ContainSubstring("hunter2")))))
		})
	}
}

// annotated sets a text as the annotation config of an object.
func annotated(text string) func(*WithT, *unstructured.Unstructured) {
	return func(_ *WithT, obj *unstructured.Unstructured) { obj.SetAnnotations(map[string]string{"config": text}) }
}

func TestImageOfWhichContainers(t *testing.T) {
	t.Parallel()
	mirror := image(policyv1alpha1.ImageRegistry, policyv1alpha1.OverrideReplace, "mirror.local")
	for _, kind := range []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController", "Rollout"} {
		g := NewWithT(t)
		obj := deployment()
		obj.SetKind(kind)
		out, err := with(obj, mirror)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(container(g, out, 0)["image"]).To(Equal("mirror.local/nginx:1.27"), kind)
		g.Expect(container(g, out, 1)["image"]).To(Equal("mirror.local/acme/log@"+digest), kind)
		g.Expect(at(g, out, "spec", "template", "spec", "initContainers")).To(Equal(at(g, deployment(), "spec", "template", "spec", "initContainers")))
	}
	g := NewWithT(t)
	pod := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "p"}, "spec": object{"containers": []any{object{"name": "c", "image": "nginx"}}}}}
	out, err := with(pod, mirror)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(container(g, out, 0)["image"]).To(Equal("mirror.local/nginx"))

	spec := at(g, deployment(), "spec")
	cron := &unstructured.Unstructured{Object: object{"apiVersion": "batch/v1", "kind": "CronJob", "metadata": object{"name": "c"}, "spec": object{"jobTemplate": object{"spec": spec}}}}
	out, err = with(cron, mirror)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at(g, out, "spec", "jobTemplate", "spec", "template", "spec", "containers")).To(ContainElement(HaveKeyWithValue("image", "mirror.local/nginx:1.27")))
	template := &unstructured.Unstructured{Object: object{"apiVersion": "v1", "kind": "PodTemplate", "metadata": object{"name": "t"}, "template": at(g, deployment(), "spec", "template")}}
	out, err = with(template, mirror)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at(g, out, "template", "spec", "containers")).To(ContainElement(HaveKeyWithValue("image", "mirror.local/nginx:1.27")))

	empty := deployment()
	empty.Object["spec"] = "of another shape"
	_, err = with(empty, mirror)
	g.Expect(err).NotTo(HaveOccurred())
}

func TestImageWithAPredicate(t *testing.T) {
	t.Parallel()
	obj := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: object{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": object{"name": "w"}, "spec": object{
			"parts": []any{object{"image": "nginx:1"}}, "a/b": "redis:7", "bad": "NOT AN IMAGE", "number": int64(1),
		}}}
	}
	mirror := func(path string) policyv1alpha1.Overriders {
		o := image(policyv1alpha1.ImageRegistry, policyv1alpha1.OverrideReplace, "mirror.local")
		o.ImageOverrider[0].Predicate = &policyv1alpha1.ImagePredicate{Path: path}
		return o
	}
	g := NewWithT(t)
	out, err := with(obj(), mirror("/spec/parts/0/image"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at(g, out, "spec", "parts")).To(Equal([]any{object{"image": "mirror.local/nginx:1"}}))
	out, err = with(obj(), mirror("/spec/a~1b"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(at(g, out, "spec", "a/b")).To(Equal("mirror.local/redis:7"), "a slash in a key is written ~1")

	for _, path := range []string{"spec/parts/0/image", "/spec/none", "/spec/parts/1/image", "/spec/parts/x", "/spec/parts/0", "/spec/number", "/spec/number/x", "/spec/bad", ""} {
		_, err = with(obj(), mirror(path))
		g.Expect(err).To(HaveOccurred(), path)
	}
}

func TestAnImageThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := with(deployment(), image(policyv1alpha1.ImageRepository, policyv1alpha1.OverrideRemove, ""))
	g.Expect(err).To(MatchError(And(ContainSubstring("imageOverrider[0]"), ContainSubstring(`container "web"`))))
	_, err = with(deployment(), image(policyv1alpha1.ImageRegistry, policyv1alpha1.OverrideReplace, "not a host"))
	g.Expect(err).To(HaveOccurred())
	_, err = with(deployment(), image("Planet", policyv1alpha1.OverrideReplace, "mars"))
	g.Expect(err).To(MatchError(ContainSubstring(`"Planet"`)))
	bad := deployment()
	container(g, bad, 0)["image"] = "NOT AN IMAGE"
	_, err = with(bad, image(policyv1alpha1.ImageTag, policyv1alpha1.OverrideReplace, "1"))
	g.Expect(err).To(HaveOccurred())
}
