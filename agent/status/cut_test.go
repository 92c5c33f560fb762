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

// nested reports a status of so many levels.
type nested struct {
	interpreter.Interpreter

	levels *int
}

func (nested) Has(_ schema.GroupVersionKind, op interpreter.Operation) bool {
	return op == interpreter.InterpretStatus
}

func (n nested) ReflectStatus(context.Context, *unstructured.Unstructured) (*runtime.RawExtension, error) {
	deep := strings.Repeat(`{"a":`, *n.levels-1) + "1" + strings.Repeat("}", *n.levels-1)
	return &runtime.RawExtension{Raw: fmt.Appendf(nil, `{"replicas":3,"deep":%s}`, deep)}, nil
}

// What no decoder on the hub takes does not get there; the rest of the status does.
func TestAStatusThatIsTooDeepIsCutAndSaidSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	levels := 10_001
	r.interpreter = nested{levels: &levels}
	sent := func(resourceVersion string) *workv1alpha1.Work {
		r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, []*unstructured.Unstructured{object("a", resourceVersion)})
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
