package plan_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// self is the Work that the tests are about.
var self = types.NamespacedName{Namespace: "karmada-es-edge-1", Name: "web"}

// noon is when the tests are.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func workOf(manifests ...string) *workv1alpha1.Work {
	work := &workv1alpha1.Work{}
	work.Namespace, work.Name = self.Namespace, self.Name
	for _, m := range manifests {
		one := workv1alpha1.Manifest{}
		one.Raw = []byte(m)
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, one)
	}
	return work
}

// parse understands one manifest that must be in order.
func parse(t *testing.T, manifest string) plan.Manifest {
	t.Helper()
	g := NewWithT(t)
	parsed := plan.Parse(workOf(manifest))
	g.Expect(parsed).To(HaveLen(1))
	g.Expect(parsed[0].Problem).NotTo(HaveOccurred())
	return parsed[0]
}

// settings is a manifest of a kind without generations, web one of a kind with.
const (
	settings = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop","labels":{"app":"web"}},"data":{"a":"1"}}`
	web      = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop"},"spec":{"replicas":3}}`
)

// live is an object of the member, as an apply of the manifest leaves it.
func live(m plan.Manifest, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	obj := m.Desired.DeepCopy()
	obj.SetUID("uid-1")
	obj.SetResourceVersion("100")
	if obj.GetKind() == "Deployment" {
		obj.SetGeneration(1)
	}
	for _, f := range change {
		f(obj)
	}
	return obj
}

func with(key, value string, path ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) {
		fields := append(append([]string{}, path...), key)
		if err := unstructured.SetNestedField(obj.Object, value, fields...); err != nil {
			panic(err)
		}
	}
}

func without(path ...string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { unstructured.RemoveNestedField(obj.Object, path...) }
}

func at(resourceVersion string) func(*unstructured.Unstructured) {
	return func(obj *unstructured.Unstructured) { obj.SetResourceVersion(resourceVersion) }
}

// unmarked takes off all marks of a Work.
func unmarked(obj *unstructured.Unstructured) {
	obj.SetLabels(nil)
	obj.SetAnnotations(nil)
}

// ofAnotherWork makes it the object of another Work.
func ofAnotherWork() func(*unstructured.Unstructured) {
	return with(contract.WorkNameAnnotation, "other", "metadata", "annotations")
}
