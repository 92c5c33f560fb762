package detector

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/detector/plan"
)

// Events are kept for an hour. While the policy is not applied, users must find one at any time.
func TestPolicyFailureEventIsRepeated(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	count := 0
	r := &Reconciler{events: func(eventsink.Event) { count++ }}
	in := &gathered{request: request{Name: "web"}}
	in.Template, in.Winner, in.Now = &metav1.PartialObjectMetadata{}, &policyv1alpha1.PropagationPolicy{}, time.Unix(1000, 0)
	why := errors.New("waiting for dependent overrides")
	events := func() int { count = 0; r.reportFailure(in, written{}, why); return count }
	g.Expect(events()).To(Equal(1))
	g.Expect(events()).To(BeZero(), "the event is not repeated at every retry")
	in.Now = in.Now.Add(time.Hour)
	g.Expect(events()).To(Equal(1))

	g.Expect(lookAgain(plan.Waiting)).To(And(BeNumerically(">", 0), BeNumerically("<", time.Hour)), "the next reconcile must come before the event expires")
	for _, o := range []plan.Outcome{plan.NameTaken, plan.NoPriority} {
		g.Expect(lookAgain(o)).To(Equal(askAgain))
	}
	g.Expect(lookAgain(plan.Bound)).To(BeZero())
}
