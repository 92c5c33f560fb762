package cli

import (
	"crypto/rand"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
)

// TestForgettingAndAcceptingOutliveAnOutage has the hub fail in the middle of operations that are safe to repeat.
func TestForgettingAndAcceptingOutliveAnOutage(t *testing.T) {
	t.Parallel()
	hub := cluster.Shared(t, cluster.Options{})
	l := &lookout{WithT: NewWithT(t), t: t, hub: hub, c: hub.Client(t)}
	l.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}})
	release := func(c *clusterv1alpha1.Cluster) func() {
		return func() {
			l.Eventually(func(g Gomega) { // the command writes to it too
				is := &clusterv1alpha1.Cluster{}
				if err := l.c.Get(t.Context(), client.ObjectKeyFromObject(c), is); err != nil {
					g.Expect(client.IgnoreNotFound(err)).To(Succeed())
					return
				}
				is.Finalizers = nil
				g.Expect(client.IgnoreNotFound(l.c.Update(t.Context(), is))).To(Succeed())
				g.Expect(client.IgnoreNotFound(l.c.Delete(t.Context(), is))).To(Succeed()) // as the hub would
			}, waitTimeout, poll).Should(Succeed())
		}
	}
	t.Run("forget", func(t *testing.T) {
		t.Parallel()
		l := l.with(t)
		c := builder.MakeCluster("away-forgotten").Obj()
		c.Finalizers = []string{contract.ClusterFinalizer}
		l.create(c)
		f := l.flaky("/clusters/" + c.Name)
		f.happens.Store(true)
		out, _ := f.during(ExitDone, release(c), "forget", c.Name, "--timeout", waitTimeout.String())
		f.Expect(out).To(HavePrefix("Cluster " + c.Name + " is forgotten; "))
	})
	t.Run("forget --release", func(t *testing.T) {
		t.Parallel()
		l := l.with(t)
		c := keptCluster(t.Context(), l.WithT, l.c, "away-released")
		l.Expect(l.c.Delete(t.Context(), c)).To(Succeed())
		f := l.flaky("/clusters/" + c.Name)
		out, _ := f.during(ExitDone, release(c), "forget", c.Name, "--release", "--timeout", waitTimeout.String())
		f.Expect(out).To(Equal("The name " + c.Name + " is free\n"))
	})
	t.Run("clusters approve", func(t *testing.T) {
		t.Parallel()
		l := l.with(t)
		token, err := bootstrap.New(rand.Reader, "edge-1", time.Now().Add(time.Hour))
		l.Expect(err).NotTo(HaveOccurred())
		l.create(bootstrap.NewSecret(token))
		cfg := rest.CopyConfig(hub.Config)
		cfg.Impersonate = rest.ImpersonationConfig{UserName: contract.BootstrapUserPrefix + token.ID, Groups: []string{contract.BootstrapGroup, "system:masters"}}
		scheme, err := kube.NewScheme()
		l.Expect(err).NotTo(HaveOccurred())
		member, err := client.New(cfg, client.Options{Scheme: scheme})
		l.Expect(err).NotTo(HaveOccurred())
		csr := &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{Name: "away-asked"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				SignerName: certificatesv1.KubeAPIServerClientSignerName, Request: []byte(request),
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
			},
		}
		l.Expect(member.Create(t.Context(), csr)).To(Succeed())
		metav1.SetMetaDataAnnotation(&csr.ObjectMeta, contract.PendingAnnotation, "it is to be accepted") // as the hub does
		l.Expect(l.c.Update(t.Context(), csr)).To(Succeed())
		f := l.flaky("/certificatesigningrequests/" + csr.Name)
		f.happens.Store(true)
		f.asked.Store(1) // so that the lost response is that of the write
		out, _ := f.during(ExitDone, func() {
			l.Eventually(func(g Gomega) {
				g.Expect(l.c.Get(t.Context(), client.ObjectKeyFromObject(csr), csr)).To(Succeed())
				csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
					Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "x", Message: "it may join", LastUpdateTime: metav1.Now(),
				}}
				g.Expect(l.c.SubResource("approval").Update(t.Context(), csr)).To(Succeed())
			}, waitTimeout, poll).Should(Succeed())
		}, "clusters", "approve", "edge-1", "--request", csr.Name)
		f.Expect(out).To(Equal("Cluster edge-1 is accepted: it may join\n"))
		secret := &corev1.Secret{}
		l.Expect(l.c.Get(t.Context(), client.ObjectKey{Namespace: bootstrap.SecretNamespace, Name: bootstrap.SecretName(token.ID)}, secret)).To(Succeed())
		accepted, err := bootstrap.FromSecret(secret)
		l.Expect(err).NotTo(HaveOccurred())
		l.Expect(accepted.Accepted).To(HaveLen(1))
	})
}
