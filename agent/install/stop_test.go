package install

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

func TestAnAgentIsStoppedThoughPodsThatEndedStay(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name, Labels: map[string]string{manifest.NameLabel: manifest.Name}}
	for phase, runs := range map[corev1.PodPhase]bool{
		corev1.PodFailed: false, corev1.PodSucceeded: false, corev1.PodRunning: true, corev1.PodPending: true, corev1.PodUnknown: true, "": true,
	} {
		t.Run("phase "+string(phase), func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			i := &Installer{memberClient: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(
				&appsv1.Deployment{ObjectMeta: meta}, &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{NodeName: "cellar"}, Status: corev1.PodStatus{Phase: phase}},
			).Build()}
			patience := time.Minute
			if runs {
				patience = 2 * time.Second // all of it passes
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			stopped, err := i.Stop(ctx)
			g.Expect(stopped).To(BeTrue())
			if runs {
				g.Expect(err).To(MatchError(context.DeadlineExceeded))
				g.Expect(err).To(MatchError(And(ContainSubstring("on node cellar"), ContainSubstring("kubectl delete pod -n karmada-system fairlead-agent --force"))),
					"the node may be gone for good")
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
}
