package registration

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/test/builder"
)

// tokenOf creates a token that differs from the usual one.
func (h *hub) tokenOf(ctx context.Context, cluster string, change func(*bootstrap.Token)) bootstrap.Token {
	token, err := bootstrap.New(rand.Reader, cluster, h.clock.Now().Add(time.Hour))
	h.g.Expect(err).NotTo(HaveOccurred())
	change(&token)
	h.g.Expect(h.Create(ctx, bootstrap.NewSecret(token))).To(Succeed())
	return token
}

func (h *hub) cluster(ctx context.Context, name string) *clusterv1alpha1.Cluster {
	out := &clusterv1alpha1.Cluster{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, out)).To(Succeed())
	return out
}

func TestTheCertificateOfAnAgentIsRecorded(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "recorded")
	name := h.ask(ctx, h.token(ctx, "recorded"), "recorded", "member-recorded")
	h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	h.g.Eventually(func(g Gomega) {
		csr := &certificatesv1.CertificateSigningRequest{}
		g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, csr)).To(Succeed())
		g.Expect(csr.Status.Certificate).NotTo(BeEmpty())
	}).WithTimeout(time.Minute).Should(Succeed())

	h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	cluster := h.cluster(ctx, "recorded")
	got := record.Read[record.Certificate](cluster.Annotations, contract.CertificateAnnotation)
	h.g.Expect(got).NotTo(BeNil())
	h.g.Expect(got.Expires).To(BeTemporally(">", time.Now()))
	h.g.Expect(got.Key).NotTo(BeEmpty())

	h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	h.g.Expect(h.cluster(ctx, "recorded").ResourceVersion).To(Equal(cluster.ResourceVersion), "once is enough")
}

func TestAnEarlierCertificateIsACopyUnlessItsKeyIsTheLast(t *testing.T) {
	t.Parallel()
	for name, copied := range map[string]bool{"killed": false, "copied": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, ctx := newHub(t), t.Context()
			h.namespace(ctx, name)
			last, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			h.g.Expect(err).NotTo(HaveOccurred())
			point, err := last.PublicKey.Bytes()
			h.g.Expect(err).NotTo(HaveOccurred())
			value, err := record.Write(record.Certificate{Serial: "2", From: time.Now(), Key: point, Fingerprint: "the-last"})
			h.g.Expect(err).NotTo(HaveOccurred())
			cluster := joinedCluster(name)
			cluster.Annotations[contract.CertificateAnnotation] = value
			h.g.Expect(h.Create(ctx, cluster)).To(Succeed())
			_, err = h.stage(h.Client).rights.Ensure(ctx, cluster, h.Client)
			h.g.Expect(err).NotTo(HaveOccurred())

			asked := last
			if copied {
				asked, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
				h.g.Expect(err).NotTo(HaveOccurred())
			}
			join := record.JoinOf(cluster.Annotations)
			config := rest.CopyConfig(shared(t).Config)
			config.Impersonate = rest.ImpersonationConfig{
				UserName: contract.AgentUser(name), Groups: []string{contract.AgentGroup, contract.JoinGroup(join), "system:authenticated"},
				Extra: map[string][]string{contract.CredentialIDKey: {contract.CredentialIDPrefix + "the-one-before"}},
			}
			agent, err := client.New(config, client.Options{Scheme: h.Scheme()})
			h.g.Expect(err).NotTo(HaveOccurred())
			request := h.askWith(ctx, agent, asked, name, "member-"+name, join)
			h.g.Expect(h.try(ctx, h.stage(h.Client), request)).To(Succeed())
			verdict, reason := h.verdict(ctx, request)
			h.g.Expect(verdict).To(Equal(denied))
			h.g.Expect(reason).To(Equal(contract.ReasonNotTheLastCertificate))
			h.g.Expect(h.cluster(ctx, name).Annotations[contract.CopiedAnnotation] != "").To(Equal(copied))
		})
	}
}

func TestAnOperatorAcceptsAJoin(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "manual")
	token := h.tokenOf(ctx, "manual", func(token *bootstrap.Token) { token.Manual, token.CreatedBy = true, "ann" })
	name := h.ask(ctx, token, "manual", "member-manual")
	for range 2 {
		h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	}
	verdict, _ := h.verdict(ctx, name)
	h.g.Expect(verdict).To(BeEmpty())
	h.g.Expect(h.events).To(HaveLen(1), "it is told once")
	h.g.Expect(h.events[0].Reason).To(Equal(contract.ReasonAwaitingApproval))
	h.g.Expect(apierrors.IsNotFound(h.Get(ctx, client.ObjectKey{Name: "manual"}, &clusterv1alpha1.Cluster{}))).To(BeTrue(), "nothing is made yet")
	csr := &certificatesv1.CertificateSigningRequest{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, csr)).To(Succeed())
	h.g.Expect(csr.Annotations[contract.PendingAnnotation]).To(ContainSubstring("hub clusters approve manual"))

	// The requester may claim anything; only the token counts.
	csr.Annotations[contract.AcceptedAnnotation] = "mallory"
	h.g.Expect(h.Update(ctx, csr)).To(Succeed())
	h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	verdict, _ = h.verdict(ctx, name)
	h.g.Expect(verdict).To(BeEmpty())

	secret := h.secret(ctx, token)
	bootstrap.Record(secret, bootstrap.Token{Accepted: []bootstrap.Acceptance{{Request: string(csr.UID), By: "bob", At: h.clock.Now()}}})
	h.g.Expect(h.Update(ctx, secret)).To(Succeed())
	h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	verdict, _ = h.verdict(ctx, name)
	h.g.Expect(verdict).To(Equal(approved))
	got := record.Read[record.Joined](h.cluster(ctx, "manual").Annotations, contract.JoinedAnnotation)
	h.g.Expect(got.AcceptedBy).To(Equal("bob"))
	h.g.Expect(got.TokenBy).To(Equal("ann"))
	h.g.Expect(got.Token).To(Equal(token.ID))
}

func TestATokenForManyLetsSoManyJoinAndGivesThemWhatItHas(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	token := h.tokenOf(ctx, "many-*", func(token *bootstrap.Token) {
		token.MaxUses = 2
		token.Gives = bootstrap.ClusterDefaults{Labels: map[string]string{"tier": "gold"}, Region: "eu", Zones: []string{"a", "b"}, Provider: "eu"}
	})
	verdicts := []string{}
	for _, cluster := range []string{"many-1", "other-1", "many-2", "many-3"} {
		h.namespace(ctx, cluster)
		name := h.ask(ctx, token, cluster, "member-"+cluster)
		h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
		verdict, reason := h.verdict(ctx, name)
		verdicts = append(verdicts, verdict+" "+reason)
	}
	h.g.Expect(verdicts).To(Equal([]string{
		"Approved JoinApproved", "Denied TokenOfAnotherCluster", "Approved JoinApproved", "Denied TokenUsed",
	}))
	cluster := h.cluster(ctx, "many-2")
	h.g.Expect(cluster.Labels).To(HaveKeyWithValue("tier", "gold"))
	h.g.Expect(cluster.Spec.Region).To(Equal("eu"))
	h.g.Expect(cluster.Spec.Zones).To(Equal([]string{"a", "b"}))
	h.g.Expect(cluster.Spec.Provider).To(Equal("eu"))
}

func TestAClusterThatIsForgottenIsLockedOutAtOnce(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "gone")
	name := h.ask(ctx, h.token(ctx, "gone"), "gone", "member-gone")
	h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	agent := h.asAgent("gone")
	works := func() error { return agent.List(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-gone")) }
	h.g.Eventually(works).WithTimeout(time.Minute).Should(Succeed())
	cluster := h.cluster(ctx, "gone")
	cluster.Finalizers = []string{contract.ClusterFinalizer} // as the cluster stage does
	h.g.Expect(h.Update(ctx, cluster)).To(Succeed())

	// Another stage updates the Cluster after it was read.
	fresh := cluster.DeepCopy()
	fresh.Labels = map[string]string{"written": "meanwhile"}
	h.g.Expect(h.Update(ctx, fresh)).To(Succeed())
	for range 2 { // the first run may have been interrupted
		h.g.Expect(Forget(ctx, h.Client, h.Client, cluster, "ann", h.clock.Now())).To(Succeed())
	}
	cluster = h.cluster(ctx, "gone")
	h.g.Expect(cluster.DeletionTimestamp).NotTo(BeNil())
	forbidden := MatchError(ContainSubstring("forbidden"))
	h.g.Eventually(works).WithTimeout(time.Minute).Should(forbidden)
	h.g.Eventually(func() error { return agent.Get(ctx, client.ObjectKey{Name: "gone"}, &clusterv1alpha1.Cluster{}) }).
		WithTimeout(time.Minute).Should(forbidden)

	t.Run("and stays so when somebody gives the rights back", func(t *testing.T) {
		g := NewWithT(t)
		r := h.stage(h.Client).rights
		_, err := r.Ensure(ctx, h.cluster(ctx, "gone"), h.Client)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = r.Reconcile(ctx, h.cluster(ctx, "gone"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Eventually(works).WithTimeout(time.Minute).Should(forbidden)
	})
	t.Run("its agent is told", func(t *testing.T) {
		g := NewWithT(t)
		told := &corev1.ConfigMap{}
		g.Eventually(func() error {
			return agent.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName("gone")}, told)
		}).WithTimeout(time.Minute).Should(Succeed())
		g.Expect(told.Data).To(HaveKeyWithValue(contract.RetiredMemberKey, "member-gone"))
		g.Expect(agent.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(contract.ClusterNamespace))).To(forbidden)
	})
	cluster.Finalizers = nil
	h.g.Expect(h.Update(ctx, cluster)).To(Succeed())
	join := func(g Gomega, member string) (string, string) {
		token := h.tokenOf(ctx, "gone", func(token *bootstrap.Token) { token.Member = member })
		name := h.ask(ctx, token, "gone", member)
		g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
		return h.verdict(ctx, name)
	}
	t.Run("another member does not get the name", func(t *testing.T) {
		g := NewWithT(t)
		_, reason := join(g, "member-other")
		g.Expect(reason).To(Equal(contract.ReasonNameReserved))
	})
	t.Run("the same member may come back", func(t *testing.T) {
		g := NewWithT(t)
		verdict, _ := join(g, "member-gone")
		g.Expect(verdict).To(Equal(approved))
		err := h.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName("gone")}, &corev1.ConfigMap{})
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
	})
	t.Run("a name that is released is anybody's", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(Forget(ctx, h.Client, h.Client, h.cluster(ctx, "gone"), "ann", h.clock.Now())).To(Succeed())
		g.Expect(Release(ctx, h.Client, "gone")).To(Succeed())
		verdict, _ := join(g, "member-other")
		g.Expect(verdict).To(Equal(approved))
	})
}

func TestAClusterThatIsDeletedIsForgotten(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "erased")
	name := h.ask(ctx, h.token(ctx, "erased"), "erased", "member-erased")
	r := h.stage(h.Client)
	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	agent := h.asAgent("erased")
	works := func() error {
		return agent.List(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-erased"))
	}
	h.g.Eventually(works).WithTimeout(time.Minute).Should(Succeed())
	cluster := h.cluster(ctx, "erased")
	cluster.Finalizers = []string{contract.ClusterFinalizer} // as the cluster stage does
	h.g.Expect(h.Update(ctx, cluster)).To(Succeed())
	h.g.Expect(h.Delete(ctx, cluster)).To(Succeed())

	leaving := &leaveReconciler{hubClient: h.Client, hubReader: h.Client, events: r.events, clock: h.clock}
	for range 2 {
		_, err := leaving.Reconcile(ctx, h.cluster(ctx, "erased"))
		h.g.Expect(err).NotTo(HaveOccurred())
	}
	h.g.Eventually(works).WithTimeout(time.Minute).Should(MatchError(ContainSubstring("forbidden")))
	kept := &corev1.ConfigMap{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName("erased")}, kept)).To(Succeed())
	h.g.Expect(kept.Data).To(HaveKeyWithValue(contract.RetiredMemberKey, "member-erased"))
	h.g.Expect(record.IsRetired(h.cluster(ctx, "erased").Annotations)).To(BeTrue())
}

func TestAClusterThatIsHalfForgottenWorksOrIsForgotten(t *testing.T) {
	t.Parallel()
	const (
		writes  = 8 // the record and its RBAC, the mark, three rights, the Cluster
		marking = 3 // the write that decides
	)
	for stop := range writes {
		t.Run(fmt.Sprintf("stopped after write %d", stop), func(t *testing.T) {
			t.Parallel()
			h, ctx := newHub(t), t.Context()
			name := fmt.Sprintf("half-%d", stop)
			member := "member-of-" + name
			h.namespace(ctx, name)
			request := h.ask(ctx, h.token(ctx, name), name, member)
			r := h.stage(h.Client)
			h.g.Expect(h.try(ctx, r, request)).To(Succeed())
			join := record.JoinOf(h.cluster(ctx, name).Annotations)
			h.g.Expect(Forget(ctx, failing(t, stop), h.Client, h.cluster(ctx, name), "ann", h.clock.Now())).NotTo(Succeed())
			leaving := &leaveReconciler{hubClient: h.Client, hubReader: h.Client, events: r.events, clock: h.clock}
			again := func() (verdict, reason string) {
				request := h.ask(ctx, h.tokenOf(ctx, name, func(token *bootstrap.Token) { token.Member = member }), name, member)
				h.g.Expect(h.try(ctx, r, request)).To(Succeed())
				return h.verdict(ctx, request)
			}

			if stop <= marking {
				_, err := leaving.Reconcile(ctx, h.cluster(ctx, name))
				h.g.Expect(err).NotTo(HaveOccurred())
				h.g.Expect(h.cluster(ctx, name).DeletionTimestamp).To(BeNil())
				// system:masters, so that the test need not wait for RBAC.
				renewal := h.askAs(ctx, h.as(contract.AgentUser(name), contract.AgentGroup, contract.JoinGroup(join), "system:masters"), name, member, join)
				h.g.Expect(h.try(ctx, r, renewal)).To(Succeed())
				verdict, reason := h.verdict(ctx, renewal)
				h.g.Expect(verdict).To(Equal(approved), reason)
				return
			}
			_, reason := again()
			h.g.Expect(reason).To(Equal(contract.ReasonClusterLeaving))
			_, err := leaving.Reconcile(ctx, h.cluster(ctx, name))
			h.g.Expect(err).NotTo(HaveOccurred())
			err = h.Get(ctx, client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{})
			h.g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "the hub goes on by itself")
			verdict, reason := again()
			h.g.Expect(verdict).To(Equal(approved), reason)
		})
	}
}

func TestATokenThatIsUsedUpFetchesTheCertificateAndIsClosed(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "once")
	token := h.token(ctx, "once")
	name := h.ask(ctx, token, "once", "member-once")
	r := h.stage(h.Client)
	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	secret := h.secret(ctx, token)
	h.g.Expect(string(secret.Data["auth-extra-groups"])).To(Equal(contract.UsedTokenGroup))
	h.g.Expect(string(secret.Data["usage-bootstrap-authentication"])).To(Equal("true"), "the certificate is to be fetched")
	h.g.Eventually(func(g Gomega) {
		csr := &certificatesv1.CertificateSigningRequest{}
		g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, csr)).To(Succeed())
		g.Expect(csr.Status.Certificate).NotTo(BeEmpty())
	}).WithTimeout(time.Minute).Should(Succeed())

	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	h.g.Expect(bootstrap.IsClosed(h.secret(ctx, token))).To(BeFalse())
	h.clock.SetTime(time.Now().Add(fetchTime)) // certificates are issued by the real clock
	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	h.g.Expect(bootstrap.IsClosed(h.secret(ctx, token))).To(BeTrue())
	kept, err := bootstrap.FromSecret(h.secret(ctx, token))
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(kept.Uses).To(HaveLen(1), "who joined with it can still be read")
}

func TestAJoinDuringAnOutageLeavesTimeToFetchTheCertificate(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "waited")
	token := h.token(ctx, "waited")
	name := h.ask(ctx, token, "waited", "member-waited")
	csr := &certificatesv1.CertificateSigningRequest{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, csr)).To(Succeed())
	// A hub was killed just after it had marked the token.
	secret := h.secret(ctx, token)
	token.Uses = []bootstrap.Use{{Cluster: "waited", Member: "member-waited", Request: string(csr.UID), At: h.clock.Now().Add(-time.Hour)}}
	bootstrap.Record(secret, token)
	bootstrap.UseUp(secret)
	h.g.Expect(h.Update(ctx, secret)).To(Succeed())

	r := h.stage(h.Client)
	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	h.g.Eventually(func(g Gomega) {
		g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, csr)).To(Succeed())
		g.Expect(csr.Status.Certificate).NotTo(BeEmpty())
	}).WithTimeout(time.Minute).Should(Succeed())
	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	h.g.Expect(bootstrap.IsClosed(h.secret(ctx, token))).To(BeFalse(), "the certificate came a moment ago")
	h.clock.SetTime(time.Now().Add(fetchTime))
	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	h.g.Expect(bootstrap.IsClosed(h.secret(ctx, token))).To(BeTrue())
}

func TestARequestForAnotherSignerIsRefused(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	token := h.token(ctx, "signer")
	ordinary := &certificatesv1.CertificateSigningRequest{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: h.ask(ctx, token, "signer", "member-signer")}, ordinary)).To(Succeed())
	csr := &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: "signer-kubelet"}, Spec: certificatesv1.CertificateSigningRequestSpec{
		Request: ordinary.Spec.Request, Usages: ordinary.Spec.Usages, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
	}}
	h.g.Expect(h.as(contract.BootstrapUserPrefix+token.ID, contract.BootstrapGroup).Create(ctx, csr)).To(Succeed())
	h.g.Expect(h.try(ctx, h.stage(h.Client), csr.Name)).To(Succeed())
	verdict, reason := h.verdict(ctx, csr.Name)
	h.g.Expect(verdict).To(Equal(denied))
	h.g.Expect(reason).To(Equal(contract.ReasonMalformedRequest))
}

func TestTwoAgentsOfOneMemberAreNoticed(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.g.Expect(h.Create(ctx, builder.MakeCluster("cloned").Obj())).To(Succeed())
	h.g.Expect(client.IgnoreAlreadyExists(h.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}))).To(Succeed())
	r := h.stage(h.Client)
	s := newSessions(h.Client, Deps{Events: r.events, Clock: h.clock})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: "cloned"}}
	_, err := apiutil.GVKForObject(lease, h.Scheme())
	h.g.Expect(err).NotTo(HaveOccurred())
	condition := func(sessions ...string) *metav1.Condition {
		for _, heard := range sessions {
			lease.Annotations = map[string]string{contract.SessionAnnotation: heard}
			s.hear(lease)
		}
		result, err := s.Reconcile(ctx, lease)
		h.g.Expect(err).NotTo(HaveOccurred())
		cluster := h.cluster(ctx, "cloned")
		found := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1alpha1.ClusterSeveralAgents)
		h.g.Expect(result == ctrl.Result{}).To(Equal(found == nil || found.Status != metav1.ConditionTrue))
		return found
	}
	h.g.Expect(condition("a", "b", "c")).To(BeNil(), "an agent was started again")
	h.g.Expect(condition("a", "c").Status).To(Equal(metav1.ConditionTrue))
	h.g.Expect(h.events).To(HaveLen(1))
	h.clock.SetTime(h.clock.Now().Add(calm + time.Minute))
	h.g.Expect(condition().Status).To(Equal(metav1.ConditionFalse))
	h.g.Expect(h.events).To(HaveLen(2))
}
