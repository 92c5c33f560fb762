package execution_test

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/native"
)

// ruled is an interpreter with one rule more, that can be changed: which key of the data
// of a ConfigMap belongs to the member.
type ruled struct {
	interpreter.Interpreter

	mu   sync.Mutex
	key  string
	tell func(affects func(schema.GroupVersionKind) bool)
}

func (r *ruled) theirs() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.key
}

func (r *ruled) change(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key = key
	r.tell(func(kind schema.GroupVersionKind) bool { return kind.Kind == "ConfigMap" })
}

func (*ruled) Version(schema.GroupVersionKind) string { return "" }

func (*ruled) AsksOthers(schema.GroupVersionKind, interpreter.Operation) bool { return false }

func (r *ruled) Subscribe(tell func(affects func(schema.GroupVersionKind) bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell = tell
}

func (r *ruled) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	if kind.Kind == "ConfigMap" && op == interpreter.Retain {
		return r.theirs() != ""
	}
	return r.Interpreter.Has(kind, op)
}

func (r *ruled) Retain(_ context.Context, desired, observed *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	desired = desired.DeepCopy()
	key := r.theirs()
	if value, ok, _ := unstructured.NestedString(observed.Object, "data", key); ok {
		return desired, unstructured.SetNestedField(desired.Object, value, "data", key)
	}
	return desired, nil
}

func TestAnotherRuleAboutWhatBelongsToTheMemberIsFollowedAtOnce(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	kinds := &ruled{Interpreter: native.New(), key: "size"}
	w := newWorldOf(t, kinds)
	work := w.work(t, "settings", w.configMap("settings", map[string]string{"size": "1", "colour": "blue"}))
	other := w.work(t, "web", w.deployment("web"))
	w.isApplied(t, work)
	w.isApplied(t, other)

	w.patch(t, w.get(g, "settings"), "scaler", map[string]any{"data": map[string]any{"size": "9"}})
	w.calm(t, work, "/configmaps/settings")
	g.Consistently(func(g Gomega) { g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("size", "9")) }).
		WithTimeout(300 * time.Millisecond).Should(Succeed())

	asked := len(w.requests.about("/deployments/web"))
	kinds.change("") // nobody touches the object, and it is put right
	g.Eventually(func(g Gomega) { g.Expect(w.get(g, "settings").Data).To(HaveKeyWithValue("size", "1")) }).
		WithTimeout(waitTimeout).Should(Succeed())
	g.Expect(w.reports.drifted(work)).To(BeEmpty())
	g.Expect(w.requests.about("/deployments/web")).To(HaveLen(asked), "other kinds are left alone")
}
