package machines

import (
	"net"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
)

// forwarded creates the Service through which an external API finds a hub on this machine, and returns that hub's
// flags.
func forwarded(t *testing.T, api *cluster.Cluster) []string {
	t.Helper()
	g := NewWithT(t)
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(free.Close()).To(Succeed())
	address, ok := free.Addr().(*net.TCPAddr)
	g.Expect(ok).To(BeTrue())
	g.Expect(api.Client(t).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "hub"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: address.IP.String()},
	})).To(Succeed())
	return []string{"--connect-bind-address", address.String(), "--connect-service", metav1.NamespaceDefault + "/hub:" + strconv.Itoa(address.Port)}
}

// reaches checks that an operator of an external API reaches a member through it, if the owner of the member allows
// that.
func (w *world) reaches(t *testing.T, api *cluster.Cluster, member string) {
	t.Helper()
	ctx, g := t.Context(), NewWithT(t)
	through := rest.CopyConfig(api.Config)
	through.Host += contract.ClusterProxyPath(member)
	operator, err := kubernetes.NewForConfig(through)
	g.Expect(err).NotTo(HaveOccurred())
	w.eventually(func(g Gomega) {
		_, err := operator.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		g.Expect(err).To(MatchError(ContainSubstring("owner")))
	})
	_, err = w.Run(ctx, "agent", "operators", "user:admin", "--kubeconfig", w.Kubeconfig(member))
	g.Expect(err).NotTo(HaveOccurred())
	owner, err := w.Client(member)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owner.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "operators"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: contract.ConnectUserPrefix + "admin"}},
	})).To(Succeed())
	w.eventually(func(g Gomega) {
		nodes, err := operator.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(nodes.Items).To(HaveLen(w.Nodes), "those of the member")
	})
}
