package manifest

import (
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Whoever pulls from a registry of its own, or runs on nodes with taints, does so during upgrades as well.
func TestTheGuardIsPulledPlacedAndRunAsTheAgentIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	o := Options{Image: "registry.example/agent:v1", UpgradeImages: []string{"registry.example/agent"}, Pod: Pod{
		PullPolicy: "Always", PullSecrets: []string{"pull"}, RunAs: RunAsAssigned, NodeSelector: map[string]string{"a": "b"},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}}
	pods := 0
	for _, obj := range objectsOf(t, o) {
		if obj.GetKind() != "Deployment" {
			continue
		}
		pods++
		pod := as[appsv1.Deployment](t, obj).Spec.Template.Spec
		g.Expect(pod.Containers[0].Image).To(Equal(o.Image))
		g.Expect(pod.Containers[0].ImagePullPolicy).To(Equal(corev1.PullAlways))
		g.Expect(pod.ImagePullSecrets).To(Equal([]corev1.LocalObjectReference{{Name: "pull"}}))
		g.Expect(pod.NodeSelector).To(Equal(o.Pod.NodeSelector))
		g.Expect(pod.Tolerations).To(Equal(o.Pod.Tolerations))
		g.Expect(*pod.SecurityContext.RunAsNonRoot).To(BeTrue())
		g.Expect(pod.SecurityContext.RunAsUser).To(BeNil())
		g.Expect(pod.SecurityContext.RunAsGroup).To(BeNil())
		g.Expect(pod.SecurityContext.FSGroup).To(BeNil())
	}
	g.Expect(pods).To(Equal(2))
	g.Expect(*deployment(t, Options{}).Spec.Template.Spec.SecurityContext.RunAsUser).To(BeEquivalentTo(65532))
}
