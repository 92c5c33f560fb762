package status

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

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
	r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, []*unstructured.Unstructured{object("a", "1")}, nil)

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

// absent has no answer about health until it is there.
type absent struct {
	interpreter.Interpreter

	there bool
	asked int
}

func (*absent) Has(_ schema.GroupVersionKind, op interpreter.Operation) bool {
	return op == interpreter.InterpretHealth
}

func (a *absent) Health(context.Context, *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	if a.asked++; a.there {
		return workv1alpha1.Healthy, nil
	}
	return workv1alpha1.Unknown, errors.New("nobody is there")
}

func TestAQuestionWithoutAnAnswerIsAskedAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	now, ok := r.clock.(*clocktesting.FakeClock)
	g.Expect(ok).To(BeTrue())
	kinds := &absent{}
	r.interpreter = kinds
	name := client.ObjectKeyFromObject(w)
	health := func() workv1alpha1.ResourceHealth {
		got := &workv1alpha1.Work{}
		g.Expect(hub.Get(t.Context(), name, got)).To(Succeed())
		g.Expect(got.Status.ManifestStatuses).To(HaveLen(1))
		return got.Status.ManifestStatuses[0].Health
	}
	r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a")}, []*unstructured.Unstructured{object("a", "1")}, nil)
	due := func() int { // the queue may set its timer after a step
		now.Step(time.Millisecond)
		return r.queue.Len()
	}
	now.Step(firstDelay)
	g.Eventually(due).WithTimeout(time.Minute).Should(Equal(1))
	g.Expect(r.next(t.Context())).To(BeTrue())
	g.Expect(health()).To(Equal(workv1alpha1.Unknown))

	kinds.there = true
	g.Expect(r.write(t.Context(), name)).To(Succeed())
	g.Expect(kinds.asked).To(Equal(1), "not with each write of the Work")
	now.Step(askAgainAfter)
	g.Eventually(due).WithTimeout(time.Minute).Should(Equal(1))
	g.Expect(r.next(t.Context())).To(BeTrue())
	g.Expect(health()).To(Equal(workv1alpha1.Healthy))

	now.Step(askAgainAfter)
	g.Expect(r.write(t.Context(), name)).To(Succeed())
	g.Expect(kinds.asked).To(Equal(2), "what has an answer is not asked again")
}

func TestAKindWithoutARuleFaresAsItsStatusSays(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := work()
	r, hub := newReporter(t, interceptor.Funcs{}, w)
	broken := object("b", "1")
	broken.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False"}}}
	r.Report(w, applied(), []workv1alpha1.ResourceIdentifier{id(0, "a"), id(1, "b")}, []*unstructured.Unstructured{object("a", "1"), broken}, nil)
	g.Expect(r.write(t.Context(), client.ObjectKeyFromObject(w))).To(Succeed())
	got := &workv1alpha1.Work{}
	g.Expect(hub.Get(t.Context(), client.ObjectKeyFromObject(w), got)).To(Succeed())
	g.Expect(got.Status.ManifestStatuses).To(HaveExactElements(
		HaveField("Health", workv1alpha1.Healthy), HaveField("Health", workv1alpha1.Unhealthy),
	))
}
