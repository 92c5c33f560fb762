package rollout

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
	"fairlead.dev/test/builder"
)

// canaryThenRest is one cluster, the first by its ring, and then all others.
func canaryThenRest() fairleadv1alpha1.RolloutStrategySpec {
	return fairleadv1alpha1.RolloutStrategySpec{
		Waves:   []fairleadv1alpha1.Wave{{Name: "canary", Size: new(intstr.FromInt32(1)), OrderByLabel: "ring"}},
		CatchUp: fairleadv1alpha1.CatchUp{Settle: &metav1.Duration{Duration: 10 * time.Millisecond}},
	}
}

func (w *world) secret(g Gomega, number int64) *revision.Kept {
	r := w.rollout(g)
	secret := &corev1.Secret{}
	g.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: revision.SecretName(r, number)}, secret)).To(Succeed())
	g.Expect(secret.Type).To(Equal(revision.SecretType))
	g.Expect(metav1.IsControlledBy(secret, r)).To(BeTrue(), "it goes with its rollout")
	kept, err := revision.Decode(secret.Data[revision.SecretKey], revision.Of(r.Status.Revisions, number))
	g.Expect(err).NotTo(HaveOccurred())
	return kept
}

func TestAnEditGoesToTheCanaryAndThenToTheRest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 3, canaryThenRest())
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{1, 1, 1})) })
	kept := w.secret(g, 1)
	g.Expect(kept.Strategy).To(Equal(w.strategy))
	g.Expect(kept.Waves).To(HaveLen(2))
	g.Expect(kept.Waves[0].Clusters).To(Equal(w.clusters[:1]), "by its label")
	g.Expect(kept.Main.Origin.UID).To(Equal(w.template.GetUID()))
	eventually(t, func(g Gomega) { // it is taken off after the rollout says that it is completed
		g.Expect(meta.FindStatusCondition(w.binding(g).Status.Conditions, workv1alpha2.BindingRollingOut)).To(BeNil())
	})

	w.set("unhealthy")
	w.edit("nginx:2")
	eventually(t, func(g Gomega) {
		g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1}))
		r := w.rollout(g)
		g.Expect(r.Status.Wave).To(Equal("canary"))
		g.Expect(r.Status.Waves[0].InFlight).To(BeEquivalentTo(1))
		g.Expect(r.Status.Waves[1].Held).To(BeEquivalentTo(2))
		rolling := meta.FindStatusCondition(w.binding(g).Status.Conditions, workv1alpha2.BindingRollingOut)
		g.Expect(rolling).NotTo(BeNil())
		g.Expect(rolling.Message).To(ContainSubstring("Revision 2 is on its way: wave canary (1 of 2)"))
	})
	w.set("healthy")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) {
		g.Expect(w.have(g)).To(Equal([]int64{2, 2, 2}))
		g.Expect(meta.FindStatusCondition(w.binding(g).Status.Conditions, workv1alpha2.BindingRollingOut)).To(BeNil())
	})
	eventually(t, func(g Gomega) { g.Expect(w.events.Notes("WavePassed")).NotTo(BeEmpty()) })
	eventually(t, func(g Gomega) { g.Expect(w.events.Notes("RevisionCut")).NotTo(BeEmpty()) })
}

// Who waits for a rollout to have caught up is not told so before each target was given what is stable, those too that were
// chosen later.
func TestATargetThatWasGivenNothingHasNotCaughtUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t, 2, canaryThenRest())
	w.withhold(true)
	w.bind()
	w.change(func(b *workv1alpha2.ResourceBinding) { b.Spec.Clusters = b.Spec.Clusters[:1] })
	w.awaitPhase(1, fairleadv1alpha1.RolloutCompleted)
	w.awaitCaughtUp(metav1.ConditionFalse, fairleadv1alpha1.ReasonRolloutBeingSent)
	w.withhold(false)
	w.awaitCaughtUp(metav1.ConditionTrue, fairleadv1alpha1.ReasonRolloutNobodyBehind)

	w.withhold(true)
	g.Expect(w.client.DeleteAllOf(t.Context(), &workv1alpha1.Work{}, client.InNamespace(executionNamespace(w.clusters[1])))).To(Succeed())
	w.change(func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.clusters[1], Replicas: 1})
	})
	w.awaitCaughtUp(metav1.ConditionFalse, fairleadv1alpha1.ReasonRolloutBeingSent)
	w.awaitPhase(1, fairleadv1alpha1.RolloutCompleted)
	w.withhold(false)
	w.awaitCaughtUp(metav1.ConditionTrue, fairleadv1alpha1.ReasonRolloutNobodyBehind)
	g.Expect(w.have(g)).To(Equal([]int64{1, 1}))
	g.Expect(w.events.Notes("CaughtUp")).To(BeEmpty(), "nobody was left behind")
}

func TestReplicasAndPlacementsAreNoEdit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 2, canaryThenRest())
	live := w.template.DeepCopy()
	g.Expect(unstructured.SetNestedField(live.Object, int64(7), "spec", "replicas")).To(Succeed())
	g.Expect(w.client.Update(t.Context(), live)).To(Succeed())
	w.template = live
	w.change(func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Resource, b.Spec.Replicas = w.ref(), 7
		b.Spec.Clusters[0].Replicas = 4
	})
	g.Consistently(func(g Gomega) { g.Expect(w.rollout(g).Status.Revision).To(BeEquivalentTo(1)) }, "700ms", "50ms").Should(Succeed())
}

func TestACanaryThatFailsStopsTheRest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 3, canaryThenRest())
	w.set("refused")
	w.edit("nginx:2")
	r := w.awaitPhase(2, fairleadv1alpha1.RolloutHalted)
	g.Expect(meta.IsStatusConditionTrue(r.Status.Conditions, fairleadv1alpha1.RolloutConditionHalted)).To(BeTrue())
	g.Expect(r.Status.Stable).To(BeEquivalentTo(1))
	g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1}))
	eventually(t, func(g Gomega) { g.Expect(w.events.Notes("Halted")).NotTo(BeEmpty(), "%v", w.events.All()) })

	// The next hub finds the same state.
	w.stopHub()
	before := len(w.events.All())
	w.startHub()
	g.Consistently(func(g Gomega) {
		g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1}))
		g.Expect(w.rollout(g).Status.Phase).To(Equal(fairleadv1alpha1.RolloutHalted))
	}, "700ms", "50ms").Should(Succeed())
	g.Expect(w.events.All()).To(HaveLen(before), "and says nothing again")

	w.tell(func(s *fairleadv1alpha1.StagedRolloutSpec) {
		s.Target = &fairleadv1alpha1.RolloutTarget{Revision: 1, Over: 2, Immediately: true}
	})
	r = w.awaitPhase(3, fairleadv1alpha1.RolloutCompleted)
	g.Expect(r.Status.Revisions[len(r.Status.Revisions)-1].ContentOf).To(BeEquivalentTo(1))
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{3, 1, 1}), "who has the content is not written") })
	g.Expect(w.secret(g, 3).Content.Main.Object).To(Equal(w.secret(g, 1).Main.Object))
	g.Consistently(func(g Gomega) { g.Expect(w.rollout(g).Status.Revision).To(BeEquivalentTo(3)) }, "500ms", "50ms").
		Should(Succeed(), "the template, which is still as it was edited, is no new edit")
}

func TestSilentClustersAreSetAsideAndCatchUpOneAfterTheOther(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	strategy := canaryThenRest()
	strategy.CatchUp.MaxClusters = new(int32(1))
	w := running(t, 5, strategy)
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{1, 1, 1, 1, 1})) })
	w.goes(3, false)
	w.goes(4, false)
	w.edit("nginx:2")
	r := w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	g.Expect(w.have(g)).To(Equal([]int64{2, 2, 2, 1, 1}))
	g.Expect(meta.IsStatusConditionFalse(r.Status.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)).To(BeTrue())
	g.Expect(revision.Names(r.Status.Clusters, fairleadv1alpha1.ClusterSetAside)).To(ConsistOf(w.clusters[3:]))
	g.Consistently(func(g Gomega) { g.Expect(w.have(g)[3:]).To(Equal([]int64{1, 1})) }, "500ms", "50ms").Should(Succeed())

	// The second waits for the first, and no other event could enqueue it.
	w.heard(w.clusters[3], true)
	w.heard(w.clusters[4], true)
	waits := func(g Gomega) { g.Expect(w.have(g)[3:]).To(ConsistOf(BeEquivalentTo(2), BeEquivalentTo(1))) }
	eventually(t, waits)
	g.Consistently(waits, "2500ms", "100ms").Should(Succeed())
	w.reports(3, true)
	w.reports(4, true)
	eventually(t, func(g Gomega) {
		g.Expect(w.have(g)).To(Equal([]int64{2, 2, 2, 2, 2}))
		g.Expect(meta.IsStatusConditionTrue(w.rollout(g).Status.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)).To(BeTrue())
	})
}

func TestWithoutItsStrategyNothingGoesOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t, 2, canaryThenRest())
	strategy := &fairleadv1alpha1.RolloutStrategy{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Name: w.strategy}, strategy)).To(Succeed())
	w.bind()
	w.awaitPhase(1, fairleadv1alpha1.RolloutCompleted)
	g.Expect(w.client.Delete(t.Context(), strategy)).To(Succeed())
	w.edit("nginx:2")
	w.awaitReason(fairleadv1alpha1.ReasonRolloutStrategyAbsent)
	eventually(t, func(g Gomega) {
		rolling := meta.FindStatusCondition(w.binding(g).Status.Conditions, workv1alpha2.BindingRollingOut)
		g.Expect(rolling).NotTo(BeNil())
		g.Expect(rolling.Message).To(ContainSubstring("There is no RolloutStrategy"))
	})
	g.Expect(w.rollout(g).Status.Revision).To(BeEquivalentTo(1))
	g.Expect(w.client.Create(t.Context(), &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: w.strategy}, Spec: strategy.Spec})).To(Succeed())
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
}

// TestOneCanGoBackWithoutTheStrategy aborts and undoes while the RolloutStrategy does not exist.
func TestOneCanGoBackWithoutTheStrategy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 3, canaryThenRest())
	w.set("unhealthy")
	w.edit("nginx:2")
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1})) })
	g.Expect(w.client.Delete(t.Context(), &fairleadv1alpha1.RolloutStrategy{ObjectMeta: metav1.ObjectMeta{Name: w.strategy}})).To(Succeed())
	w.awaitPhase(2, fairleadv1alpha1.RolloutWaiting)

	back := func(to, over int64, immediately bool) {
		w.tell(func(s *fairleadv1alpha1.StagedRolloutSpec) {
			s.Target = &fairleadv1alpha1.RolloutTarget{Revision: to, Over: over, Immediately: immediately}
		})
	}
	back(1, 2, true)
	r := w.awaitPhase(3, fairleadv1alpha1.RolloutCompleted)
	g.Expect(r.Status.Strategy).To(Equal(w.strategy))
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{3, 1, 1})) })
	back(2, 3, false)
	r = w.awaitPhase(4, fairleadv1alpha1.RolloutCompleted)
	g.Expect(r.Status.Waves).To(HaveLen(2), "in the waves that were kept")
	g.Expect(r.Status.Waves[1].StartedAt.Before(r.Status.Waves[0].PassedAt)).To(BeFalse())
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{4, 4, 4})) })

	w.edit("nginx:5")
	g.Consistently(func(g Gomega) { g.Expect(w.rollout(g).Status.Revision).To(BeEquivalentTo(4)) }, "500ms", "50ms").
		Should(Succeed(), "what is new waits for a strategy")
}

func TestARolloutEndsWithItsStrategysAnnotation(t *testing.T) {
	t.Parallel()
	w := running(t, 2, canaryThenRest())
	w.change(func(b *workv1alpha2.ResourceBinding) { delete(b.Annotations, contract.RolloutStrategyAnnotation) })
	eventually(t, func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), w.key(), &fairleadv1alpha1.StagedRollout{})).To(Satisfy(apierrors.IsNotFound))
	})
}

// TestANumberIsNeverUsedTwice deletes a rollout, and with it its status and its revisions.
func TestANumberIsNeverUsedTwice(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 2, canaryThenRest())
	w.edit("nginx:2")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{2, 2})) })
	g.Expect(w.client.Delete(t.Context(), w.rollout(g))).To(Succeed())
	w.awaitPhase(3, fairleadv1alpha1.RolloutCompleted)
}

// TestAHubThatDiedBeforeTheStatus leaves a Secret behind that no status names.
func TestAHubThatDiedBeforeTheStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 2, canaryThenRest())
	w.stopHub()
	r := w.rollout(g)
	left := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: revision.SecretName(r, 2)}, Type: revision.SecretType,
		Immutable: new(true), Data: map[string][]byte{revision.SecretKey: []byte("of another time")},
	}
	g.Expect(w.client.Create(t.Context(), left)).To(Succeed())
	w.edit("nginx:2")
	w.startHub()
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	w.secret(g, 2)
}

func TestAForgedRevisionMovesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 3, canaryThenRest())
	w.set("unhealthy")
	w.edit("nginx:2")
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1})) })
	w.stopHub()
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: w.namespace, Name: revision.SecretName(w.rollout(g), 2)}
	g.Expect(w.client.Get(t.Context(), key, secret)).To(Succeed())
	g.Expect(w.client.Delete(t.Context(), secret)).To(Succeed())
	secret.ResourceVersion, secret.UID = "", ""
	one := &corev1.Secret{}
	g.Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: revision.SecretName(w.rollout(g), 1)}, one)).To(Succeed())
	secret.Data = one.Data
	g.Expect(w.client.Create(t.Context(), secret)).To(Succeed())
	w.set("healthy")
	w.startHub()
	w.awaitReason(fairleadv1alpha1.ReasonRolloutRevisionAbsent)
	g.Consistently(func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1})) }, "500ms", "50ms").Should(Succeed())
	w.edit("nginx:3")
	w.awaitPhase(3, fairleadv1alpha1.RolloutCompleted)
}

func TestATemplateThatIsTooLargeIsSentNowhere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 2, canaryThenRest())
	random := rand.New(rand.NewPCG(1, 2))
	var noise strings.Builder
	for range 1300 << 10 {
		noise.WriteByte(byte('!' + random.IntN(90)))
	}
	w.edit(noise.String())
	g.Expect(w.awaitReason(fairleadv1alpha1.ReasonRolloutTooLarge)).To(ContainSubstring("1 MiB"))
	g.Expect(w.have(g)).To(Equal([]int64{1, 1}))
	w.edit("nginx:2")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	w.edit(noise.String() + "!")
	w.awaitReason(fairleadv1alpha1.ReasonRolloutTooLarge)
	w.tell(func(s *fairleadv1alpha1.StagedRolloutSpec) {
		s.Target = &fairleadv1alpha1.RolloutTarget{Revision: 1, Over: 2}
	})
	w.awaitPhase(3, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{3, 3}), "one can go back all the same") })
}

func TestTheStatusIsWrittenOnceASecond(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 8, fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{{Name: "all", MaxConcurrent: new(intstr.FromInt32(1))}}})
	before, since := w.writes.statuses.Load(), time.Now()
	w.edit("nginx:2")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	took := time.Since(since)
	// The cut and the end are written at once.
	g.Expect(w.writes.statuses.Load()-before).To(BeNumerically("<=", int64(took.Seconds())+3), "in %s", took)
}

func TestABindingWithoutAStrategyCostsNoRequest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := running(t, 1, canaryThenRest())
	idle := builder.MakeDeployment(w.namespace, "idle").Obj()
	g.Expect(w.client.Create(t.Context(), idle)).To(Succeed())
	for _, name := range []string{"idle-a", "idle-b", "idle-c"} {
		b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: name, Labels: map[string]string{contract.ResourceBindingPermanentIDLabel: name},
		}}
		if name == "idle-b" {
			b.Annotations = map[string]string{contract.RolloutStrategyAnnotation: contract.RolloutStrategyNone}
		}
		b.Spec.Resource = w.ref()
		b.Spec.Resource.Name, b.Spec.Resource.UID, b.Spec.Resource.ResourceVersion = idle.GetName(), idle.GetUID(), idle.GetResourceVersion()
		b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: w.clusters[0]}}
		g.Expect(w.client.Create(t.Context(), b)).To(Succeed())
		b.Spec.Replicas = 3
		g.Expect(w.client.Update(t.Context(), b)).To(Succeed())
	}
	w.edit("nginx:2") // of the one that has a strategy: when that is done, what was told before of the others is, too
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	rollouts := 0
	for _, request := range w.writes.requests() {
		g.Expect(request).NotTo(ContainSubstring("idle"))
		if request == "POST stagedrollouts" {
			rollouts++
		}
	}
	g.Expect(rollouts).To(Equal(1))
}
