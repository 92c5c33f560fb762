package apiserver

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/revision"
	"fairlead.dev/test/stagetest"
)

// TestOnlyTheHubWritesRevisions has a user with the role edit in a namespace, who may not approve waves, replace a
// revision kept by the hub with their own, whose waves need no approval.
func TestOnlyTheHubWritesRevisions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := installedHub(t)
	hubClient, ns := hub.Client(t), hub.Namespace(t)
	tenant := editorOf(t, hub, ns)
	kept := func(name string, kind corev1.SecretType) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Type: kind, Data: map[string][]byte{revision.SecretKey: []byte("x")}}
	}
	g.Expect(hubClient.Create(t.Context(), kept("rollout-web-deployment-r5", revision.SecretType))).To(Succeed())
	g.Eventually(func() error {
		return tenant.Create(t.Context(), kept("own", corev1.SecretTypeOpaque))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed(), "their own Secrets are theirs")
	g.Expect(tenant.Delete(t.Context(), kept("rollout-web-deployment-r5", revision.SecretType))).To(Succeed())
	g.Eventually(func(g Gomega) {
		err := tenant.Create(t.Context(), kept("rollout-web-deployment-r5", revision.SecretType), client.DryRunAll)
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
		g.Expect(err).To(MatchError(ContainSubstring("because only the hub does")))
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
	held := kept("held", revision.SecretType)
	g.Expect(hubClient.Create(t.Context(), held)).To(Succeed())
	held.Data[revision.SecretKey] = []byte("y")
	g.Expect(apierrors.IsForbidden(tenant.Update(t.Context(), held))).To(BeTrue())
}
