package integration

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/test/builder"
)

// TestWhatTheClockScalesIsScaledInMembers follows a cron rule to the replicas in a member.
func TestWhatTheClockScalesIsScaledInMembers(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	template := builder.MakeDeployment(ns, "web").Replicas(1).Obj()
	s.create(t, template, builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").
		Clusters("edge-1", "edge-2").Weight("edge-1", 2).Weight("edge-2", 1).Obj(),
		&autoscalingv1alpha1.CronFederatedHPA{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec: autoscalingv1alpha1.CronFederatedHPASpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
				Rules:          []autoscalingv1alpha1.CronFederatedHPARule{{Name: "every-minute", Schedule: "* * * * *", TargetReplicas: new(int32(6))}},
			},
		})
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(integer(s.inMember(t, g, "edge-1", template), "spec", "replicas")).To(BeEquivalentTo(4))
		g.Expect(integer(s.inMember(t, g, "edge-2", template), "spec", "replicas")).To(BeEquivalentTo(2))
	}).WithTimeout(time.Minute+waitTimeout).WithPolling(poll).Should(Succeed(), "the next minute comes within one")
}
