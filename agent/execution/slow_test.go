package execution

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"fairlead.dev/agent/execution/plan"
)

// hanging is what an API server says of a webhook that does not answer.
func hanging() error {
	return apierrors.NewInternalError(errors.New(`failed calling webhook "hangs.example": failed to call webhook: Post "https://hangs.example/?timeout=10s": context deadline exceeded`))
}

func TestWritesThatAreSlowHoldAFewWorkersOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	now := clocktesting.NewFakePassiveClock(time.Now())
	at := func(kind, namespace string) place {
		return place{GroupKind: schema.GroupKind{Kind: kind}, namespace: namespace}
	}
	s := newSlowWrites(now, 8)
	begin := func(p place, n int) (writes []*write) {
		for range n {
			if w, ok := s.Begin(p); ok {
				writes = append(writes, w)
			}
		}
		return writes
	}
	end := func(writes []*write, err error) {
		for _, w := range writes {
			s.End(w, err)
		}
	}
	slow, near, beside, other := at("A", "shop"), at("A", "mail"), at("B", "shop"), at("B", "mail")

	first := begin(slow, 8)
	g.Expect(first).To(HaveLen(8), "nothing is known of them")
	end(first, hanging())
	held := begin(slow, 8)
	g.Expect(held).To(HaveLen(2))
	g.Expect(begin(near, 8)).To(HaveLen(2), "another namespace of the kind may be slow, too, and is found out all the same")
	g.Expect(begin(beside, 8)).To(BeEmpty(), "so may another kind of the namespace, and there is no room")
	g.Expect(begin(other, 8)).To(HaveLen(8))

	// It is released when it is answered well, but not by a few that no webhook is about.
	end(held, nil)
	g.Expect(begin(slow, 8)).To(HaveLen(2))
	s = newSlowWrites(now, 8)
	end(begin(slow, 1), hanging())
	for range strikes {
		end(begin(slow, 1), errors.New("refused before a webhook was called"))
	}
	g.Expect(begin(slow, 8)).To(HaveLen(2))
	s = newSlowWrites(now, 8)
	end(begin(slow, 1), hanging())
	for range strikes {
		end(begin(slow, 1), nil)
	}
	g.Expect(s.strikes).To(BeEmpty())
	g.Expect(begin(slow, 8)).To(HaveLen(8))

	// What is not answered for long is slow before it ends, and what is not is not.
	s = newSlowWrites(now, 8)
	begin(slow, 1)
	g.Expect(begin(near, 1)).To(HaveLen(1))
	now.SetTime(now.Now().Add(slowAfter))
	g.Expect(begin(slow, 8)).To(BeEmpty(), "two are late")
	g.Expect(begin(at("B", "post"), 8)).To(HaveLen(8))
}

func TestWhatAServerSaysThatMindsAVersion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(mindsVersion(apierrors.NewBadRequest("resourceVersion should not be set on objects to be created"))).To(BeTrue())
	g.Expect(mindsVersion(apierrors.NewInternalError(errors.New("resourceVersion should not be set on objects to be created")))).To(BeTrue())
	g.Expect(mindsVersion(hanging())).To(BeFalse(), "it would hang once more")
	g.Expect(mindsVersion(errors.New("no answer"))).To(BeFalse())
	g.Expect(overtaken(apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "a"))).To(BeTrue())
	result, message := classify(plan.Object{}, errNoRoom)
	g.Expect(result).To(Equal(plan.Unanswered), "it takes back nothing of what was told")
	g.Expect(message).To(ContainSubstring("webhook"))
}
