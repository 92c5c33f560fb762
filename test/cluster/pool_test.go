package cluster

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

func TestAHubOfAPoolIsLentAsItWas(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir, err := os.MkdirTemp("/tmp", "fairlead-pool-") //nolint:usetesting // a socket wants a short path
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(os.RemoveAll(dir)).To(Succeed()) }()
	socket := filepath.Join(dir, "socket")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	g.Expect(err).NotTo(HaveOccurred())
	served := make(chan error, 1)
	go func() { served <- NewPool().Serve(t.Context(), listener) }()
	lent := func() (*Cluster, client.Client) {
		t.Helper()
		c, err := borrow(t.Context(), socket, Options{}.complete())
		g.Expect(err).NotTo(HaveOccurred())
		return c, c.Client(t)
	}

	first, api := lent()
	ns := first.Namespace(t)
	g.Expect(api.Create(t.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge-1", Finalizers: []string{"fairlead.dev/nobody-takes-it-off"}},
		Spec:       clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Pull},
	})).To(Succeed())
	g.Expect(api.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "left"}})).To(Succeed())
	kept := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}}
	g.Expect(api.Patch(t.Context(), kept, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"left":"here"}}}`)))).To(Succeed())
	g.Expect(first.stop()).To(Succeed())
	g.Eventually(first.ended).Should(BeTrue())

	second, api := lent()
	g.Expect(second.DataDir).To(Equal(first.DataDir))
	cached := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}}
	var clusters clusterv1alpha1.ClusterList
	g.Expect(api.List(t.Context(), &clusters, cached)).To(Succeed())
	g.Expect(clusters.Items).To(BeEmpty())
	var namespaces corev1.NamespaceList
	g.Expect(api.List(t.Context(), &namespaces, cached)).To(Succeed())
	for _, namespace := range namespaces.Items {
		g.Expect(namespace.Name).To(Or(Equal(metav1.NamespaceDefault), HavePrefix("kube-")))
		g.Expect(namespace.Labels).NotTo(HaveKey("left"))
	}
	g.Expect(api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "left"}, &corev1.ConfigMap{})).To(MatchError(apierrors.IsNotFound, "IsNotFound"))

	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "clusters.cluster.karmada.io"}}
	g.Expect(api.Patch(t.Context(), crd, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"left":"here"}}}`)))).To(Succeed())
	g.Expect(second.stop()).To(Succeed())
	g.Eventually(func() string { return second.DataDir }).ShouldNot(BeADirectory(), "nobody is lent an API server that serves something else")

	g.Expect(listener.Close()).To(Succeed())
	g.Eventually(served).Should(Receive(BeNil()))
}
