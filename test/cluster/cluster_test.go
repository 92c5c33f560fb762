package cluster

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func TestMain(m *testing.M) { Main(m) }

func TestASharedHubServesThePropagationAPI(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := Shared(t, Options{Profile: Hub})

	var clusters clusterv1alpha1.ClusterList
	g.Expect(hub.Client(t).List(t.Context(), &clusters)).To(Succeed())
	g.Expect(clusters.Items).To(BeEmpty())

	g.Expect(Shared(t, Options{})).To(BeIdenticalTo(hub), "a hub is the default")
	g.Expect(hub.Namespace(t)).NotTo(Equal(hub.Namespace(t)))
}

func TestAMemberRunsPods(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := Shared(t, Options{Profile: Member, Nodes: 2})
	api := member.Client(t)

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx"}}},
	}
	g.Expect(api.Create(t.Context(), pod)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(api.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
	}).WithTimeout(time.Minute).WithPolling(poll).Should(Succeed())
}

func TestAControlPlaneOfATestEndsWithIt(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var own *Cluster
	t.Run("the test that owns it", func(t *testing.T) {
		own = Start(t, Options{Name: "own"})
		NewWithT(t).Expect(own.process.Ended()).To(BeFalse())
	})
	g.Expect(own.process.Ended()).To(BeTrue())
	g.Expect(own.DataDir).NotTo(BeADirectory())
}
