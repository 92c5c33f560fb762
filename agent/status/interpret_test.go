package status

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// slow answers about health when it is let.
type slow struct {
	interpreter.Interpreter

	asked, answer chan struct{}
}

func (s slow) Has(_ schema.GroupVersionKind, op interpreter.Operation) bool {
	return op == interpreter.InterpretHealth
}

func (s slow) Health(context.Context, *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	s.asked <- struct{}{}
	<-s.answer
	return workv1alpha1.Unhealthy, nil
}

func TestASlowAnswerHoldsUpNobodyAndNewsOfItsTimeIsKept(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, _ := newReporter(t, interceptor.Funcs{}, w)
	kinds := slow{asked: make(chan struct{}), answer: make(chan struct{})}
	r.interpreter = kinds
	name := client.ObjectKeyFromObject(w)
	r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, []*unstructured.Unstructured{object("a", "1")})

	done := make(chan error)
	go func() { done <- r.write(t.Context(), name) }()
	<-kinds.asked
	r.Observe(name, object("a", "2"))                                 // takes the lock
	r.Reinterpret(func(schema.GroupVersionKind) bool { return true }) // takes it as well
	close(kinds.answer)
	g.Expect(<-done).To(Succeed())

	pending := r.fresh(name, w.UID)
	g.Expect(pending).To(HaveLen(1))
	for o, live := range pending {
		g.Expect(live.GetResourceVersion()).To(Equal("2"))
		g.Expect(o.health).To(Equal(workv1alpha1.Unhealthy))
	}
}
