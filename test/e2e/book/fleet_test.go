package book

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/issuer"
)

// template returns the object that the hub of the book propagates to its cluster.
func template() *corev1.ConfigMap {
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = corev1.NamespaceDefault, "book"
	object.Data = map[string]string{"page": "1"}
	return object
}

// hub returns an administrator's configuration for the hub, whose port may change with a restore.
func (m *machine) hub(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", m.path("/var/lib/fairlead/admin.kubeconfig"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return config
}

// send propagates the template to the member, and returns the UID of the object there.
func (m *machine) send(t *testing.T, member *cluster.Cluster) (id types.UID) {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub, err := client.New(m.hub(t), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(hub.Create(t.Context(), template())).To(Succeed())
	g.Eventually(func() error {
		return hub.Create(t.Context(), builder.MakePolicy(corev1.NamespaceDefault, "book").Select("v1", "ConfigMap", "book").Clusters("edge-1").Obj())
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
	g.Eventually(func(g Gomega) { id = uid(t, g, member) }).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
	return id
}

// change changes the template, and waits for the change in the member: hub, agent and member work together.
func (m *machine) change(t *testing.T, member *cluster.Cluster, sent types.UID) {
	t.Helper()
	g := NewWithT(t)
	scheme, err := kube.NewScheme()
	g.Expect(err).NotTo(HaveOccurred())
	hub, err := client.New(m.hub(t), client.Options{Scheme: scheme})
	g.Expect(err).NotTo(HaveOccurred())
	object := template()
	object.Data["page"] = t.Name()
	g.Expect(hub.Update(t.Context(), object)).To(Succeed())
	g.Eventually(func(g Gomega) {
		g.Expect(uid(t, g, member)).To(Equal(sent), "it was never deleted")
		got := template()
		g.Expect(member.Client(t).Get(t.Context(), client.ObjectKeyFromObject(got), got)).To(Succeed())
		g.Expect(got.Data).To(HaveKeyWithValue("page", t.Name()))
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}

// uid returns the UID of the template's object in the member.
func uid(t *testing.T, g Gomega, member *cluster.Cluster) types.UID {
	t.Helper()
	object := template()
	g.Expect(member.Client(t).Get(t.Context(), client.ObjectKeyFromObject(object), object)).To(Succeed())
	return object.UID
}

// signIn uses the API with a token of the issuer.
func (m *machine) signIn(t *testing.T, login *issuer.Issuer) {
	t.Helper()
	g := NewWithT(t)
	config := rest.AnonymousClientConfig(m.hub(t))
	config.BearerToken = login.Sign(login.Claims("1", []string{"operators"}, time.Hour).With("email", "ann@example.com"))
	g.Eventually(func(g Gomega) { // the API server polls the issuer
		hub, err := client.New(config, client.Options{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(hub.List(t.Context(), &corev1.SecretList{})).To(Succeed())
	}).WithTimeout(waitTimeout).WithPolling(poll).Should(Succeed())
}
