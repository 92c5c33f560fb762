package rollout

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
)

// password is what a ClusterOverridePolicy puts into the template in one cluster.
const password = "hunter2"

// withPassword makes a world with a ClusterOverridePolicy for its template.
func withPassword(t *testing.T, strategy fairleadv1alpha1.RolloutStrategySpec) (*world, *policyv1alpha1.ClusterOverridePolicy) {
	t.Helper()
	g := NewWithT(t)
	w := start(t, 2, strategy)
	g.Expect(client.IgnoreAlreadyExists(w.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}))).To(Succeed())
	policy := builder.MakeOverride("", "proxy-"+w.namespace).Select("apps/v1", "Deployment", "web").
		Add(w.clusters[0], "/metadata/labels", map[string]string{"proxy": password}).ClusterObj()
	policy.Spec.ResourceSelectors[0].Namespace = w.namespace
	g.Expect(w.client.Create(t.Context(), policy)).To(Succeed())
	t.Cleanup(func() { _ = w.client.Delete(context.WithoutCancel(t.Context()), policy) })
	w.bind()
	w.awaitPhase(1, fairleadv1alpha1.RolloutCompleted)
	return w, policy
}

// kept reads a revision as the stages do.
func (w *world) kept(g Gomega, number int64) *revision.Kept {
	r := w.rollout(g)
	kept, err := kube.ReadRevision(w.t.Context(), w.client, r, revision.Of(r.Status.Revisions, number))
	g.Expect(err).NotTo(HaveOccurred())
	return kept
}

// readable returns the contents of all Secrets in the namespace.
func (w *world) readable(g Gomega) string {
	var list corev1.SecretList
	g.Expect(w.client.List(w.t.Context(), &list, client.InNamespace(w.namespace))).To(Succeed())
	var out bytes.Buffer
	for i := range list.Items {
		for _, data := range list.Items[i].Data {
			out.Write(data)
			if zip, err := gzip.NewReader(bytes.NewReader(data)); err == nil {
				_, err := io.Copy(&out, zip)
				g.Expect(err).NotTo(HaveOccurred())
			}
		}
	}
	return out.String()
}

// ruleSecrets returns the names of the Secrets with rules of its rollouts.
func (w *world) ruleSecrets(g Gomega) []string {
	var list corev1.SecretList
	g.Expect(w.client.List(w.t.Context(), &list, client.InNamespace(contract.ClusterNamespace), client.HasLabels{contract.RolloutUIDLabel})).To(Succeed())
	var out []string
	for i := range list.Items {
		if of, ok := revision.RulesOfSecret(&list.Items[i]); ok && of.Rollout == w.key() {
			out = append(out, list.Items[i].Name)
		}
	}
	return out
}

func TestRulesOfClusterPoliciesAreKeptOutsideTheNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	strategy := canaryThenRest()
	strategy.HistoryLimit = new(int32(0))
	w, policy := withPassword(t, strategy)
	r := w.rollout(g)
	g.Expect(w.kept(g, 1).Main.Rules).To(ConsistOf(HaveField("Policy", policy.Name)))
	g.Expect(w.readable(g)).To(And(ContainSubstring(`"kind":"Deployment"`), Not(ContainSubstring(password))))
	g.Expect(w.ruleSecrets(g)).To(ConsistOf(revision.RulesName(r, 1)))

	// The rules of a revision are deleted with it.
	w.edit("nginx:2")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(w.ruleSecrets(g)).To(ConsistOf(revision.RulesName(r, 2))) })

	// Without such rules no Secret is stored elsewhere.
	g.Expect(w.client.Delete(t.Context(), policy)).To(Succeed())
	w.awaitPhase(3, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(w.ruleSecrets(g)).To(BeEmpty()) })
	g.Expect(w.kept(g, 3).Main.Rules).To(BeEmpty())
}

func TestRulesOfARolloutThatEndsAreDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w, _ := withPassword(t, canaryThenRest())
	g.Expect(w.ruleSecrets(g)).To(HaveLen(1))
	w.change(func(b *workv1alpha2.ResourceBinding) { delete(b.Annotations, contract.RolloutStrategyAnnotation) })
	eventually(t, func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), w.key(), &fairleadv1alpha1.StagedRollout{})).To(Satisfy(apierrors.IsNotFound))
		g.Expect(w.ruleSecrets(g)).To(BeEmpty())
	})
}

// TestRulesOfARolloutThatEndedWithoutAHubAreDeleted has the next hub find these rules, and those that a killed hub left behind.
func TestRulesOfARolloutThatEndedWithoutAHubAreDeleted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w, _ := withPassword(t, canaryThenRest())
	w.stopHub()
	r := w.rollout(g)
	left := &corev1.Secret{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: contract.ClusterNamespace, Name: revision.RulesName(r, 1)}, left)).To(Succeed())
	left.ResourceVersion, left.UID, left.Name = "", "", revision.RulesName(r, 2)
	left.Annotations[contract.RevisionAnnotation] = "2-of-another-time"
	left.Data = map[string][]byte{revision.RulesKey: []byte("of another time")}
	g.Expect(w.client.Create(t.Context(), left)).To(Succeed())
	w.edit("nginx:2")
	w.startHub()
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	g.Expect(w.kept(g, 2).Main.Rules).To(HaveLen(1), "it was written anew")

	w.stopHub()
	g.Expect(w.client.Delete(t.Context(), w.binding(g))).To(Succeed())
	g.Expect(client.IgnoreNotFound(w.client.Delete(t.Context(), r))).To(Succeed())
	g.Expect(w.ruleSecrets(g)).To(HaveLen(2))
	w.startHub()
	eventually(t, func(g Gomega) { g.Expect(w.ruleSecrets(g)).To(BeEmpty()) })
}

// TestARevisionOfAnOlderHubIsRead has a revision with such rules be in one Secret.
func TestARevisionOfAnOlderHubIsRead(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w, _ := withPassword(t, canaryThenRest())
	w.stopHub()
	r, kept := w.rollout(g), w.kept(g, 1)
	whole, err := revision.Encode(kept)
	g.Expect(err).NotTo(HaveOccurred())
	one := &corev1.Secret{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: revision.SecretName(r, 1)}, one)).To(Succeed())
	g.Expect(w.client.Delete(t.Context(), one)).To(Succeed())
	one.ResourceVersion, one.UID, one.Data = "", "", map[string][]byte{revision.SecretKey: whole}
	g.Expect(w.client.Create(t.Context(), one)).To(Succeed())
	g.Expect(w.client.DeleteAllOf(t.Context(), &corev1.Secret{}, client.InNamespace(contract.ClusterNamespace),
		client.MatchingLabels{contract.RolloutUIDLabel: string(r.UID)})).To(Succeed())
	w.startHub()
	w.edit("nginx:2")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	g.Expect(w.readable(g)).To(ContainSubstring(password))

	// A rollback to it is stored in the current form.
	w.tell(func(s *fairleadv1alpha1.StagedRolloutSpec) {
		s.Target = &fairleadv1alpha1.RolloutTarget{Revision: 1, Over: 2}
	})
	w.awaitPhase(3, fairleadv1alpha1.RolloutCompleted)
	g.Expect(w.kept(g, 3).Main.Rules).To(Equal(kept.Main.Rules))
	g.Expect(w.ruleSecrets(g)).To(ConsistOf(revision.RulesName(r, 2), revision.RulesName(r, 3)))
}
