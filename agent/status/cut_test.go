package status

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/jsondepth"
)

// reflecting is an interpreter whose InterpretStatus returns the result of status.
type reflecting struct {
	interpreter.Interpreter

	status func() []byte
}

func (reflecting) Has(_ schema.GroupVersionKind, op interpreter.Operation) bool {
	return op == interpreter.InterpretStatus
}

func (r reflecting) ReflectStatus(context.Context, *unstructured.Unstructured) (*runtime.RawExtension, error) {
	return &runtime.RawExtension{Raw: r.status()}, nil
}

// nested is a status of so many levels.
func nested(levels int) []byte {
	deep := strings.Repeat(`{"a":`, levels-1) + "1" + strings.Repeat("}", levels-1)
	return fmt.Appendf(nil, `{"replicas":3,"deep":%s}`, deep)
}

// TestAStatusThatIsTooDeepIsCutAndSaidSo checks that JSON too deep for the hub's decoders is cut, and the rest of the
// status is sent.
func TestAStatusThatIsTooDeepIsCutAndSaidSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	levels := 10_001
	r.interpreter = reflecting{status: func() []byte { return nested(levels) }}
	sent := func(resourceVersion string) *workv1alpha1.Work {
		r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, []*unstructured.Unstructured{object("a", resourceVersion)}, nil)
		g.Expect(r.write(t.Context(), self)).To(Succeed())
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
		g.Expect(got.Status.ManifestStatuses).To(HaveLen(1))
		return got
	}
	got := sent("1")
	raw := got.Status.ManifestStatuses[0].Status.Raw
	g.Expect(jsondepth.Of(raw)).To(BeNumerically("<=", jsondepth.MaxStatus))
	g.Expect(string(raw)).To(ContainSubstring(`"replicas":3`))
	cut := meta.FindStatusCondition(got.Status.Conditions, workv1alpha1.WorkStatusCut)
	g.Expect(cut).NotTo(BeNil())
	g.Expect(cut.Reason).To(Equal(workv1alpha1.ReasonNestedTooDeep))
	g.Expect(cut.Message).To(ContainSubstring("ConfigMap/shop/a"))
	g.Expect(meta.IsStatusConditionTrue(got.Status.Conditions, workv1alpha1.WorkApplied)).To(BeTrue())

	levels = jsondepth.MaxStatus
	got = sent("2")
	g.Expect(jsondepth.Of(got.Status.ManifestStatuses[0].Status.Raw)).To(Equal(jsondepth.MaxStatus))
	g.Expect(meta.FindStatusCondition(got.Status.Conditions, workv1alpha1.WorkStatusCut)).To(BeNil())
}

// sized is a status of so many bytes.
func sized(bytes int) []byte { return fmt.Appendf(nil, "%q", strings.Repeat("x", bytes-2)) }

// TestAStatusThatIsTooLargeIsLeftOutAndSaidSo covers a status for which the hub would refuse the whole report of the
// Work.
func TestAStatusThatIsTooLargeIsLeftOutAndSaidSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	bytes := workv1alpha1.MaxStatuses
	r.interpreter = reflecting{status: func() []byte { return sized(bytes) }}
	sent := func(resourceVersion string) *workv1alpha1.Work {
		r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a"), id(1, "b")},
			[]*unstructured.Unstructured{object("a", resourceVersion), object("b", resourceVersion)}, nil)
		g.Expect(r.write(t.Context(), self)).To(Succeed())
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(t.Context(), self, got)).To(Succeed())
		g.Expect(got.Status.ManifestStatuses).To(HaveLen(2))
		return got
	}
	got := sent("1")
	g.Expect(got.Status.ManifestStatuses[0].Status.Raw).To(HaveLen(workv1alpha1.MaxStatuses))
	g.Expect(got.Status.ManifestStatuses[1].Status).To(BeNil())
	g.Expect(got.Status.ManifestStatuses[1].Health).NotTo(BeEmpty())
	cut := meta.FindStatusCondition(got.Status.Conditions, workv1alpha1.WorkStatusCut)
	g.Expect(cut).NotTo(BeNil())
	g.Expect(cut.Reason).To(Equal(workv1alpha1.ReasonTooLarge))
	g.Expect(cut.Message).To(And(ContainSubstring("ConfigMap/shop/b"), Not(ContainSubstring("ConfigMap/shop/a"))))

	bytes /= 2
	got = sent("2")
	g.Expect(got.Status.ManifestStatuses[1].Status.Raw).To(HaveLen(bytes))
	g.Expect(meta.FindStatusCondition(got.Status.Conditions, workv1alpha1.WorkStatusCut)).To(BeNil())
}
