package clusterstatus

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/clusterstatus/pods"
)

// forbidding is a member that forbids lists, for the given number of requests.
type forbidding struct {
	client.WithWatch

	times atomic.Int32
}

func (f *forbidding) List(context.Context, client.ObjectList, ...client.ListOption) error {
	if f.times.Add(-1) >= 0 {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "resourcequotas"}, "", errors.New("no such right"))
	}
	return nil
}

// TestAnAgentWithoutTheRightWaitsForIt covers an agent with the RBAC of an older version, until somebody grants more.
func TestAnAgentWithoutTheRightWaitsForIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := &forbidding{}
	member.times.Store(2)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	w := newWorkload(member, pods.New(clock), clock)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	may := make(chan bool, 1)
	go func() { may <- w.mayReadQuotas(ctx) }()
	for range 2 {
		g.Eventually(clock.HasWaiters).WithTimeout(time.Minute).Should(BeTrue())
		g.Expect(may).NotTo(Receive())
		report, known := w.Quotas(func() (sets.Set[string], error) { panic("nobody needs to know") })
		g.Expect(known).To(BeTrue(), "what it reported while it had the right is taken back")
		g.Expect(report).To(BeEmpty())
		clock.Step(askAgain)
	}
	g.Eventually(may).WithTimeout(time.Minute).Should(Receive(BeTrue()))
	_, known := w.Quotas(func() (sets.Set[string], error) { panic("nobody needs to know") })
	g.Expect(known).To(BeFalse(), "they were not read yet")

	member.times.Store(1)
	go func() { may <- w.mayReadQuotas(ctx) }()
	g.Eventually(clock.HasWaiters).WithTimeout(time.Minute).Should(BeTrue())
	cancel()
	g.Eventually(may).WithTimeout(time.Minute).Should(Receive(BeFalse()))
}

// TestUnknownQuotasAreNotReported keeps what the hub has until the quotas were read, and the
// namespaces with content from the hub are known.
func TestUnknownQuotasAreNotReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	w := newWorkload(nil, pods.New(clock), clock)
	content := func() (sets.Set[string], error) { return sets.New("shop"), nil }
	_, known := w.Quotas(content)
	g.Expect(known).To(BeFalse())
	close(w.quotasHeard)
	report, known := w.Quotas(func() (sets.Set[string], error) { panic("nobody needs to know") })
	g.Expect(known).To(BeTrue())
	g.Expect(report).To(BeEmpty())

	quota := &corev1.ResourceQuota{}
	quota.Namespace, quota.Name = "shop", "all"
	quota.Status.Hard, quota.Status.Used = corev1.ResourceList{"pods": {}}, corev1.ResourceList{"pods": {}}
	w.quotas.Put(quota)
	report, known = w.Quotas(content)
	g.Expect(known).To(BeTrue())
	g.Expect(report).To(HaveLen(1))
	_, known = w.Quotas(func() (sets.Set[string], error) { return nil, errors.New("the Works were not read yet") })
	g.Expect(known).To(BeFalse())
}
