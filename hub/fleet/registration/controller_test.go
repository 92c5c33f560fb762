package registration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/grant"
	"fairlead.dev/hub/fleet/registration/record"
	"fairlead.dev/test/builder"
)

const (
	approved = "Approved"
	denied   = "Denied"
)

func TestAMemberJoinsAndGetsItsRights(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	token := h.token(ctx, "joins")
	name := h.ask(ctx, token, "joins", "member-joins")
	r := h.stage(h.Client)

	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	verdict, _ := h.verdict(ctx, name)
	h.g.Expect(verdict).To(BeEmpty(), "there is no execution namespace yet")
	kept, err := bootstrap.FromSecret(h.secret(ctx, token))
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(kept.Uses).To(HaveLen(1))
	h.g.Expect(kept.Uses[0].Cluster).To(Equal("joins"))
	h.g.Expect(kept.Uses[0].Member).To(Equal("member-joins"))
	h.g.Expect(kept.Uses[0].At).To(BeTemporally("==", h.clock.Now()))

	h.namespace(ctx, "joins")
	h.g.Expect(h.try(ctx, r, name)).To(Succeed())
	verdict, reason := h.verdict(ctx, name)
	h.g.Expect(verdict).To(Equal(approved))
	h.g.Expect(reason).To(Equal(contract.ReasonJoinApproved))

	cluster := &clusterv1alpha1.Cluster{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Name: "joins"}, cluster)).To(Succeed())
	h.g.Expect(cluster.Spec.ID).To(Equal("member-joins"))
	h.g.Expect(cluster.Spec.SyncMode).To(Equal(clusterv1alpha1.Pull))

	h.g.Eventually(func(g Gomega) {
		csr := &certificatesv1.CertificateSigningRequest{}
		g.Expect(h.Get(ctx, client.ObjectKey{Name: name}, csr)).To(Succeed())
		g.Expect(csr.Status.Certificate).NotTo(BeEmpty())
	}).WithTimeout(time.Minute).Should(Succeed())
}

func TestAnAgentMayDoItsWorkAndNoMore(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	for _, cluster := range []string{"mine", "theirs"} {
		h.namespace(ctx, cluster)
		obj := joinedCluster(cluster)
		h.g.Expect(h.Create(ctx, obj)).To(Succeed())
		ready, err := h.stage(h.Client).rights.Ensure(ctx, obj, h.Client)
		h.g.Expect(err).NotTo(HaveOccurred())
		h.g.Expect(ready.All).To(BeTrue())
		h.g.Expect(h.Create(ctx, builder.MakeWork(cluster, "web").Obj())).To(Succeed())
	}
	agent := h.asAgent("mine")
	touch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"x":"y"}}}`))
	status := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"conditions":[]}}`))
	renew := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"renewTime":"2026-05-01T12:00:00.000000Z"}}`))
	work := func(cluster string) *workv1alpha1.Work { return builder.MakeWork(cluster, "web").Obj() }
	lease := func(cluster string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: cluster}}
	}
	h.g.Eventually(func() error {
		return agent.Get(ctx, client.ObjectKey{Name: "mine"}, &clusterv1alpha1.Cluster{})
	}).WithTimeout(time.Minute).Should(Succeed())

	tests := map[string]struct {
		do   func() error
		want bool
	}{
		"list its Works":     {want: true, do: func() error { return agent.List(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-mine")) }},
		"patch its Work":     {want: true, do: func() error { return agent.Patch(ctx, work("mine"), touch) }},
		"report on its Work": {want: true, do: func() error { return agent.Status().Patch(ctx, work("mine"), status) }},
		"list its Cluster": {want: true, do: func() error {
			return agent.List(ctx, &clusterv1alpha1.ClusterList{}, client.MatchingFields{"metadata.name": "mine"})
		}},
		"report on its Cluster": {want: true, do: func() error { return agent.Status().Patch(ctx, builder.MakeCluster("mine").Obj(), status) }},
		"renew its lease":       {want: true, do: func() error { return agent.Patch(ctx, lease("mine"), renew) }},
		"delete its Work":       {do: func() error { return agent.Delete(ctx, work("mine")) }},
		"change its Cluster":    {do: func() error { return agent.Patch(ctx, builder.MakeCluster("mine").Obj(), touch) }},
		"list the Works of another": {do: func() error {
			return agent.List(ctx, &workv1alpha1.WorkList{}, client.InNamespace("karmada-es-theirs"))
		}},
		"list all Works":                {do: func() error { return agent.List(ctx, &workv1alpha1.WorkList{}) }},
		"report on a Work of another":   {do: func() error { return agent.Status().Patch(ctx, work("theirs"), status) }},
		"list all Clusters":             {do: func() error { return agent.List(ctx, &clusterv1alpha1.ClusterList{}) }},
		"read the Cluster of another":   {do: func() error { return agent.Get(ctx, client.ObjectKey{Name: "theirs"}, &clusterv1alpha1.Cluster{}) }},
		"renew the lease of another":    {do: func() error { return agent.Patch(ctx, lease("theirs"), renew) }},
		"read Secrets":                  {do: func() error { return agent.List(ctx, &corev1.SecretList{}) }},
		"read the Secrets of its space": {do: func() error { return agent.List(ctx, &corev1.SecretList{}, client.InNamespace("karmada-es-mine")) }},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			if tc.want {
				g.Eventually(tc.do).WithTimeout(time.Minute).Should(Succeed(), "RBAC may see one binding later than another")
				return
			}
			g.Expect(tc.do()).To(MatchError(ContainSubstring("forbidden")))
		})
	}
}

func TestAJoinThatIsStoppedAnywhereGoesOn(t *testing.T) {
	t.Parallel()
	const writes = 10 // token, Cluster, seven rights, approval
	for stop := range writes {
		t.Run(fmt.Sprintf("after write %d", stop), func(t *testing.T) {
			t.Parallel()
			h, ctx := newHub(t), t.Context()
			cluster := fmt.Sprintf("stopped-%d", stop)
			token := h.token(ctx, cluster)
			h.namespace(ctx, cluster)
			name, rival := h.ask(ctx, token, cluster, "member-of-"+cluster), h.ask(ctx, token, cluster, "member-of-"+cluster)

			h.g.Expect(h.try(ctx, h.stage(failing(t, stop)), name)).NotTo(Succeed())
			verdict, _ := h.verdict(ctx, name)
			h.g.Expect(verdict).To(BeEmpty())

			h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
			verdict, _ = h.verdict(ctx, name)
			h.g.Expect(verdict).To(Equal(approved))

			h.g.Expect(h.try(ctx, h.stage(h.Client), rival)).To(Succeed())
			verdict, reason := h.verdict(ctx, rival)
			h.g.Expect(verdict).To(Equal(denied))
			h.g.Expect(reason).To(Equal(contract.ReasonTokenUsed))
		})
	}
}

func TestOfRequestsThatRaceForATokenOneIsApproved(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	token := h.token(ctx, "race")
	h.namespace(ctx, "race")
	names := []string{}
	for range 4 {
		names = append(names, h.ask(ctx, token, "race", "member-race"))
	}
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			for range 20 { // the queue retries conflicts
				_ = h.try(ctx, h.stage(h.Client), name)
			}
		})
	}
	all.Wait()
	verdicts := map[string]int{}
	for _, name := range names {
		verdict, _ := h.verdict(ctx, name)
		verdicts[verdict]++
	}
	h.g.Expect(verdicts).To(Equal(map[string]int{approved: 1, denied: 3}))
}

func TestRequestsAreRefusedWithTheReasonAndAnEvent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		cluster string
		ask     func(h *hub, ctx context.Context, cluster string) string
		want    string
	}{
		"the token has expired": {
			cluster: "expired", want: contract.ReasonTokenExpired,
			ask: func(h *hub, ctx context.Context, cluster string) string {
				token := h.token(ctx, cluster)
				h.clock.SetTime(h.clock.Now().Add(2 * time.Hour))
				return h.ask(ctx, token, cluster, "member-1234")
			},
		},
		"the token was deleted": {
			cluster: "deleted", want: contract.ReasonTokenUnknown,
			ask: func(h *hub, ctx context.Context, cluster string) string {
				token := h.token(ctx, cluster)
				name := h.ask(ctx, token, cluster, "member-1234")
				h.g.Expect(h.Delete(ctx, h.secret(ctx, token))).To(Succeed())
				return name
			},
		},
		"the token is for another cluster": {
			cluster: "wrong", want: contract.ReasonTokenOfAnotherCluster,
			ask: func(h *hub, ctx context.Context, cluster string) string {
				return h.ask(ctx, h.token(ctx, "right"), cluster, "member-1234")
			},
		},
		"the name is taken": {
			cluster: "taken", want: contract.ReasonNameTaken,
			ask: func(h *hub, ctx context.Context, cluster string) string {
				obj := builder.MakeCluster(cluster).Obj()
				obj.Spec.ID = "member-5678"
				h.g.Expect(h.Create(ctx, obj)).To(Succeed())
				return h.ask(ctx, h.token(ctx, cluster), cluster, "member-1234")
			},
		},
		"the member has another name": {
			cluster: "twin", want: contract.ReasonMemberAlreadyJoined,
			ask: func(h *hub, ctx context.Context, cluster string) string {
				obj := builder.MakeCluster("first-name").Obj()
				obj.Spec.ID = "member-twin"
				h.g.Expect(h.Create(ctx, obj)).To(Succeed())
				return h.ask(ctx, h.token(ctx, cluster), cluster, "member-twin")
			},
		},
		"there is no token": {
			cluster: "admin", want: contract.ReasonNotAToken,
			ask: func(h *hub, ctx context.Context, cluster string) string {
				return h.askAs(ctx, h.Client, cluster, "member-1234", "")
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, ctx := newHub(t), t.Context()
			csr := tc.ask(h, ctx, tc.cluster)
			h.g.Expect(h.try(ctx, h.stage(h.Client), csr)).To(Succeed())
			verdict, reason := h.verdict(ctx, csr)
			h.g.Expect(verdict).To(Equal(denied))
			h.g.Expect(reason).To(Equal(tc.want))
			h.g.Expect(h.events).To(HaveLen(1))
			h.g.Expect(h.events[0].Type).To(Equal(corev1.EventTypeWarning))

			h.g.Expect(h.try(ctx, h.stage(h.Client), csr)).To(Succeed())
			h.g.Expect(h.events).To(HaveLen(1), "a decision is made once")
		})
	}
}

func TestAMemberComesBackAndAnAgentRenews(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "back")
	var former client.Client
	for again := range 2 {
		token := h.tokenOf(ctx, "back", func(token *bootstrap.Token) {
			if again > 0 {
				token.Member = "member-back"
			}
		})
		name := h.ask(ctx, token, "back", "member-back")
		h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
		verdict, _ := h.verdict(ctx, name)
		h.g.Expect(verdict).To(Equal(approved))
		if again == 0 {
			former = h.asAgent("back")
		}
	}
	h.g.Eventually(func() error { return former.Get(ctx, client.ObjectKey{Name: "back"}, &clusterv1alpha1.Cluster{}) }).
		WithTimeout(time.Minute).Should(MatchError(ContainSubstring("forbidden")), "rights belong to the last join")
	join := record.JoinOf(h.cluster(ctx, "back").Annotations)
	name := h.askAs(ctx, h.asAgent("back"), "back", "member-back", join)
	h.g.Expect(h.try(ctx, h.stage(h.Client), name)).To(Succeed())
	verdict, reason := h.verdict(ctx, name)
	h.g.Expect(verdict).To(Equal(approved))
	h.g.Expect(reason).To(Equal(contract.ReasonRenewalApproved))
}

func TestRightsAreCorrectedAndOtherwiseLeftAlone(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "rights")
	cluster := joinedCluster("rights")
	h.g.Expect(h.Create(ctx, cluster)).To(Succeed())
	rights := h.stage(h.Client).rights
	ensure := func() {
		_, err := rights.Reconcile(ctx, cluster)
		h.g.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	}
	ensure()
	role := &rbacv1.Role{}
	key := client.ObjectKey{Namespace: "karmada-es-rights", Name: "system:karmada:rights:agent-work"}
	h.g.Expect(h.Get(ctx, key, role)).To(Succeed())
	h.g.Expect(role.OwnerReferences).To(HaveLen(1))
	want := role.DeepCopy()

	ensure()
	h.g.Expect(h.Get(ctx, key, role)).To(Succeed())
	h.g.Expect(role.ResourceVersion).To(Equal(want.ResourceVersion), "nothing is written when nothing changes")

	role.Rules, role.OwnerReferences, role.Labels = nil, nil, map[string]string{"mine": "x"}
	h.g.Expect(h.Update(ctx, role)).To(Succeed())
	ensure()
	h.g.Expect(h.Get(ctx, key, role)).To(Succeed())
	h.g.Expect(role.Rules).To(Equal(want.Rules))
	h.g.Expect(role.OwnerReferences).To(Equal(want.OwnerReferences))
	h.g.Expect(role.Labels).To(Equal(map[string]string{"mine": "x", contract.SystemLabel: "true"}))

	lease := &coordinationv1.Lease{}
	h.g.Expect(h.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: "rights"}, lease)).To(Succeed())
	lease.Spec.HolderIdentity = nil
	h.g.Expect(h.Update(ctx, lease)).To(Succeed())
	ensure()
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
	h.g.Expect(lease.Spec.HolderIdentity).To(BeNil(), "what is in the lease is the agent's")
}

// Only the garbage collector removes them if somebody removes a Cluster by force.
func TestRightsGoWithTheirCluster(t *testing.T) {
	t.Parallel()
	h, ctx := newHub(t), t.Context()
	h.namespace(ctx, "vanishes")
	cluster := joinedCluster("vanishes")
	h.g.Expect(h.Create(ctx, cluster)).To(Succeed())
	_, err := h.stage(h.Client).rights.Reconcile(ctx, cluster)
	h.g.Expect(err).NotTo(HaveOccurred())
	rights := grant.To(cluster, "karmada-es-vanishes")
	all := []client.Object{rights.Cluster, rights.ClusterBinding, rights.Works, rights.WorksBinding, rights.Lease, rights.LeaseBinding, rights.Heartbeat}
	for _, right := range all {
		h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(right), right)).To(Succeed())
	}

	h.g.Expect(h.Delete(ctx, cluster)).To(Succeed())

	for _, right := range all {
		h.g.Eventually(func() bool {
			return apierrors.IsNotFound(h.Get(ctx, client.ObjectKeyFromObject(right), right))
		}).WithTimeout(time.Minute).Should(BeTrue(), "%T %s", right, right.GetName())
	}
}

// failing returns a client whose writes fail after the allowed number.
func failing(t *testing.T, allowed int) client.Client {
	t.Helper()
	c, err := client.NewWithWatch(shared(t).Config, client.Options{Scheme: shared(t).Client(t).Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	write := func(do func() error) error {
		if allowed == 0 {
			return errors.New("stopped")
		}
		allowed--
		return do()
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			return write(func() error { return c.Create(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return write(func() error { return c.Delete(ctx, obj, opts...) })
		},
		SubResourceUpdate: func(
			ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption,
		) error {
			return write(func() error { return c.SubResource(sub).Update(ctx, obj, opts...) })
		},
	})
}
