package rollout

import (
	"context"
	"errors"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
)

// ruleWorld is an API server with Secrets of rules, which counts requests.
type ruleWorld struct {
	client.Client
	g              *WithT
	lists, deletes int
	// refuses is the error for deletions of Secrets, and unserved that for reads of StagedRollouts.
	refuses, unserved error
}

func newRuleWorld(t *testing.T, objects ...client.Object) *ruleWorld {
	t.Helper()
	w := &ruleWorld{g: NewWithT(t)}
	scheme, err := kube.NewScheme()
	w.g.Expect(err).NotTo(HaveOccurred())
	w.Client = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			w.lists++
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(kube.Rollout); ok && w.unserved != nil {
				return w.unserved
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			if w.refuses != nil {
				return w.refuses
			}
			w.deletes++
			return c.Delete(ctx, obj, opts...)
		},
	})
	return w
}

// names returns the names of the existing Secrets.
func (w *ruleWorld) names(t *testing.T) []string {
	t.Helper()
	var list corev1.SecretList
	w.g.Expect(w.Client.List(t.Context(), &list)).To(Succeed())
	w.lists--
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].Name)
	}
	return out
}

func stagedRollout(name string, uid types.UID, newest int64, named ...int64) *fairleadv1alpha1.StagedRollout {
	r := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid}}
	r.Status.Revision = newest
	for _, number := range named {
		r.Status.Revisions = append(r.Status.Revisions, fairleadv1alpha1.RevisionStatus{Number: number, Hash: "a"})
	}
	return r
}

// rulesOf returns a Secret with rules of a rollout.
func rulesOf(rollout metav1.Object, number int64) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: contract.ClusterNamespace, Name: revision.RulesName(rollout, number), Labels: map[string]string{contract.RolloutUIDLabel: string(rollout.GetUID())},
		Annotations: map[string]string{
			contract.RevisionOfAnnotation: rollout.GetNamespace() + "/" + rollout.GetName(), contract.RevisionAnnotation: revision.ID{Number: number, Hash: "a"}.String(),
		},
	}}
}

func TestLeftoverRuleSecretsAreDeletedAtTheStart(t *testing.T) {
	t.Parallel()
	there, before, gone := stagedRollout("web", "u-2", 5, 3, 5), stagedRollout("web", "u-1", 0), stagedRollout("db", "u-3", 0)
	unknown := rulesOf(gone, 9)
	unknown.Annotations = nil
	w := newRuleWorld(t, there, rulesOf(there, 3), rulesOf(there, 4), rulesOf(there, 5), rulesOf(there, 6), rulesOf(before, 3), rulesOf(gone, 1), rulesOf(gone, 2), unknown,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: contract.ClusterNamespace, Name: "clusterrollout-x-r1"}})
	s := newRuleSecrets(w, w)
	_, err := s.Reconcile(t.Context(), reconcile.Request{})
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(w.names(t)).To(ConsistOf("rollout-rules-u-2-r3", "rollout-rules-u-2-r5", "clusterrollout-x-r1", "rollout-rules-u-3-r9",
		"rollout-rules-u-2-r6"), "r6 may have been made just now, and what says nothing is not the hub's")
	w.g.Expect(w.lists).To(Equal(1))
	w.g.Expect(w.deletes).To(Equal(4))

	// The list is not read again, and a rollout without rules costs no request.
	w.g.Expect(s.drop(t.Context(), there, 4)).To(Succeed())
	w.g.Expect(s.drop(t.Context(), stagedRollout("other", "u-9", 1), 1)).To(Succeed())
	w.g.Expect(s.mayHave(types.NamespacedName{Namespace: "shop", Name: "other"})).To(BeFalse())
	w.g.Expect([]int{w.lists, w.deletes}).To(Equal([]int{1, 4}))
	w.g.Expect(s.drop(t.Context(), there, 3)).To(Succeed())
	w.g.Expect(w.names(t)).NotTo(ContainElement("rollout-rules-u-2-r3"))
}

// TestRulesStayWhileStagedRolloutsAreNotServed has an API server answer NotFound because it does not serve StagedRollouts.
func TestRulesStayWhileStagedRolloutsAreNotServed(t *testing.T) {
	t.Parallel()
	rollout := stagedRollout("web", "u-1", 1, 1)
	w := newRuleWorld(t, rollout, rulesOf(rollout, 1))
	w.unserved = apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{Resource: "stagedrollouts"}, "web", "404 page not found", 0, true)
	w.g.Expect(apierrors.IsNotFound(w.unserved)).To(BeTrue())
	s := newRuleSecrets(w, w)
	_, err := s.Reconcile(t.Context(), reconcile.Request{})
	w.g.Expect(err).To(MatchError(w.unserved))
	w.g.Expect(w.names(t)).To(HaveLen(1))
}

// TestRulesStayWithTheRestOfTheirRevision has a restored status that does not name a revision which clusters still have.
func TestRulesStayWithTheRestOfTheirRevision(t *testing.T) {
	t.Parallel()
	rollout := stagedRollout("web", "u-1", 6, 3, 6)
	rest := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rollout.Namespace, Name: revision.SecretName(rollout, 5)}}
	w := newRuleWorld(t, rollout, rulesOf(rollout, 4), rulesOf(rollout, 5), rest)
	s := newRuleSecrets(w, w)
	_, err := s.Reconcile(t.Context(), reconcile.Request{})
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(w.names(t)).To(ConsistOf(revision.RulesName(rollout, 5), rest.Name))
}

func TestRulesGoWithTheirRollout(t *testing.T) {
	t.Parallel()
	rollout := stagedRollout("web", "u-1", 2, 1, 2)
	w := newRuleWorld(t, rollout)
	s := newRuleSecrets(w, w)
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(rollout)}
	for _, number := range []int64{1, 2} {
		secret := rulesOf(rollout, number)
		s.remember(secret)
		w.g.Expect(w.Create(t.Context(), secret)).To(Succeed())
	}
	_, err := s.Reconcile(t.Context(), req)
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(w.names(t)).To(HaveLen(2), "it is there")

	w.g.Expect(w.Client.Delete(t.Context(), rollout)).To(Succeed())
	w.refuses = errors.New("the API server is away")
	_, err = s.Reconcile(t.Context(), req)
	w.g.Expect(err).To(MatchError(w.refuses))
	w.refuses = nil
	result, err := s.Reconcile(t.Context(), req)
	w.g.Expect(err).NotTo(HaveOccurred())
	w.g.Expect(w.names(t)).To(BeEmpty())
	w.g.Expect(result.RequeueAfter).To(Equal(sweepAgain), "a write may have been on its way")
	w.g.Expect(s.Reconcile(t.Context(), req)).To(BeZero())
}
