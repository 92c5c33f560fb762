package binding

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	clocktesting "k8s.io/utils/clock/testing"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/kube/edits"
)

func TestLongWaitingEditIsReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC))
	r := &reconciler{clock: clock}
	b := &workv1alpha2.ResourceBinding{}
	b.Spec.Resource = workv1alpha2.ObjectReference{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	s, desired := &scope{binding: b}, &rendering{}
	g.Expect(r.tellUnseen(s, desired)).To(BeZero(), "nothing waits")
	s.unseen = edits.Unseen{Template: b.Spec.Resource, Since: clock.Now()}
	clock.SetTime(clock.Now().Add(20 * time.Second))
	g.Expect(r.tellUnseen(s, desired)).To(Equal(40 * time.Second))
	g.Expect(desired.failures).To(BeEmpty(), "nothing is reported soon after a start")
	clock.SetTime(clock.Now().Add(40 * time.Second))
	g.Expect(r.tellUnseen(s, desired)).To(BeZero())
	g.Expect(desired.failures).To(HaveLen(1))
	condition := rendered(desired.failures, []string{desired.failures[0].note()})
	g.Expect(condition.Reason).To(Equal(workv1alpha2.ReasonEditNotSeen))
	g.Expect(condition.Message).To(ContainSubstring("is in no cluster yet"))
	g.Expect(condition.Message).To(ContainSubstring("since 2026-11-27T12:00:00Z"))
	g.Expect(condition.Message).To(ContainSubstring(`looked at ConfigMap "settings"`))
	g.Expect(condition.Message).To(ContainSubstring("hub events ConfigMap/settings -n shop"))

	// The edit waits for the workload with which it is rolled out.
	s.unseen.Template = workv1alpha2.ObjectReference{Kind: "Deployment", Namespace: "shop", Name: "web"}
	desired = &rendering{}
	g.Expect(r.tellUnseen(s, desired)).To(BeZero())
	note := desired.failures[0].note()
	g.Expect(note).To(ContainSubstring(`is sent together with Deployment "web", which needs it`))
	g.Expect(note).To(ContainSubstring("hub events Deployment/web -n shop"))
	g.Expect(note).NotTo(ContainSubstring("settings"))
}
