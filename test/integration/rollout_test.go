package integration

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/operate"
	"fairlead.dev/test/builder"
)

func TestACanaryThatFailsKeepsTheRestFromTheEdit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	strategy := s.staged(t, "edge-1", func(*fairleadv1alpha1.RolloutStrategySpec) {})
	template := builder.MakeDeployment(ns, "web").Obj()
	setEnv(g, template, "one", "")
	s.create(t, by(strategy, builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").Obj()), template)
	s.awaitRollout(t, template, 1, fairleadv1alpha1.RolloutCompleted)
	has := func(g Gomega, member, value string) {
		g.Expect(env(s.inMember(t, g, member, template))).To(Equal(value), member)
	}
	eventually(t, func(g Gomega) {
		has(g, "edge-1", "one")
		has(g, "edge-2", "one")
	})

	s.progressWithin(t, strategy, 5*time.Second)
	s.update(t, template, func(obj *unstructured.Unstructured) { setEnv(g, obj, "two", "nowhere") })
	r := s.awaitRollout(t, template, 2, fairleadv1alpha1.RolloutHalted)
	g.Expect(meta.IsStatusConditionTrue(r.Conditions, fairleadv1alpha1.RolloutConditionHalted)).To(BeTrue())
	g.Expect(r.Stable).To(BeEquivalentTo(1))
	has(g, "edge-2", "one")
	eventually(t, func(g Gomega) {
		has(g, "edge-1", "two")
		g.Expect(s.eventReasons(t, g, ns, "web")).To(ContainElements("RevisionCut", "WaveStarted", "Halted"))
	})

	// The held clusters are still managed: they are scaled, and changes there are reverted, to their current revision
	// and not to the template.
	s.update(t, template, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(obj.Object, int64(2), "spec", "replicas")).To(Succeed())
	})
	eventually(t, func(g Gomega) {
		for _, member := range []string{"edge-1", "edge-2"} {
			g.Expect(integer(s.inMember(t, g, member, template), "spec", "replicas")).To(BeEquivalentTo(2), member)
		}
	})
	before := s.inMember(t, g, "edge-2", template)
	drifted := before.DeepCopy()
	setEnv(g, drifted, "mine", "")
	g.Expect(s.member("edge-2").Client(t).Patch(t.Context(), drifted, client.MergeFrom(before))).To(Succeed())
	g.Expect(env(drifted)).To(Equal("mine"))
	eventually(t, func(g Gomega) { has(g, "edge-2", "one") })
	g.Expect(s.rolled(t, g, template).Revision).To(BeEquivalentTo(2), "to scale is no edit")

	// Undo at once: the template stays as it is, which is not a new edit.
	g.Expect(s.tell(t, s.hub.Client(t), template, func(spec *fairleadv1alpha1.StagedRolloutSpec) {
		spec.Target = &fairleadv1alpha1.RolloutTarget{Revision: 1, Over: 2, Immediately: true}
	})).To(Succeed())
	s.awaitRollout(t, template, 3, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) {
		has(g, "edge-1", "one")
		has(g, "edge-2", "one")
	})
	g.Expect(env(s.onHub(t, g, template))).To(Equal("two"))

	// The next edit passes the canary, and then goes to the rest.
	s.progressWithin(t, strategy, time.Minute)
	s.update(t, template, func(obj *unstructured.Unstructured) { setEnv(g, obj, "three", "") })
	r = s.awaitRollout(t, template, 4, fairleadv1alpha1.RolloutCompleted)
	g.Expect(r.Stable).To(BeEquivalentTo(4))
	eventually(t, func(g Gomega) {
		has(g, "edge-1", "three")
		has(g, "edge-2", "three")
	})
}

func TestWhatAnApplicationNeedsMovesWithItAndAPersonApproves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	ns := s.namespace(t)
	strategy := s.staged(t, "edge-1", func(spec *fairleadv1alpha1.RolloutStrategySpec) {
		spec.Waves[1].Approval = fairleadv1alpha1.ApprovalBefore
		spec.FirstTime = fairleadv1alpha1.FirstTimeAllAtOnce // later revisions need approval
	})
	settings := builder.MakeConfigMap(ns, "settings", "colour", "blue").Obj()
	template := builder.MakeDeployment(ns, "web").
		Set([]any{map[string]any{"name": "settings", "configMap": map[string]any{"name": "settings"}}}, "spec", "template", "spec", "volumes").Obj()
	s.create(t, settings, by(strategy, builder.MakePolicy(ns, "web").Select("apps/v1", "Deployment", "web").Clusters("edge-1", "edge-2").WithDependencies().Obj()), template)
	colour := func(g Gomega, member string) string {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, member, settings).Object, "data")
		return data["colour"]
	}
	eventually(t, func(g Gomega) {
		g.Expect(colour(g, "edge-1")).To(Equal("blue"))
		g.Expect(colour(g, "edge-2")).To(Equal("blue"))
	})
	first := s.awaitRollout(t, template, 1, fairleadv1alpha1.RolloutCompleted).Revision // the revision includes its dependencies

	s.update(t, settings, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(obj.Object, "green", "data", "colour")).To(Succeed())
	})
	eventually(t, func(g Gomega) {
		r := s.rolled(t, g, template)
		g.Expect(r.Revision).To(BeNumerically(">", first))
		g.Expect(r.Phase).To(Equal(fairleadv1alpha1.RolloutWaiting), "%+v", r)
		g.Expect(colour(g, "edge-1")).To(Equal("green"))
	})
	newest := s.rolled(t, g, template).Revision
	g.Expect(colour(g, "edge-2")).To(Equal("blue"))

	// An author may pause, but not approve.
	approve := func(spec *fairleadv1alpha1.StagedRolloutSpec) {
		spec.Approvals = append(spec.Approvals, fairleadv1alpha1.WaveApproval{Revision: newest, Wave: fairleadv1alpha1.WaveRest})
	}
	author := s.author(t, ns)
	g.Eventually(func() error {
		return s.tell(t, author, template, func(spec *fairleadv1alpha1.StagedRolloutSpec) { spec.Paused = true })
	}).WithTimeout(waitTimeout).Should(Succeed(), "the authorizer reads roles a moment later")
	g.Expect(s.tell(t, author, template, approve)).To(Satisfy(apierrors.IsForbidden))
	g.Expect(s.tell(t, s.hub.Client(t), template, approve)).To(Succeed())
	s.awaitRollout(t, template, newest, fairleadv1alpha1.RolloutPaused)
	g.Expect(colour(g, "edge-2")).To(Equal("blue"), "what is paused goes nowhere, approved or not")
	g.Expect(s.tell(t, author, template, func(spec *fairleadv1alpha1.StagedRolloutSpec) { spec.Paused = false })).To(Succeed())
	s.awaitRollout(t, template, newest, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(colour(g, "edge-2")).To(Equal("green")) })
}

// TestWhatHasNoNamespaceGoesOutInWavesAndBackInWaves rolls out a ClusterRole, and undoes that.
func TestWhatHasNoNamespaceGoesOutInWavesAndBackInWaves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := shared(t)
	strategy := s.staged(t, "edge-1", func(spec *fairleadv1alpha1.RolloutStrategySpec) {
		spec.Waves[1].Approval = fairleadv1alpha1.ApprovalBefore
		spec.FirstTime = fairleadv1alpha1.FirstTimeAllAtOnce // later revisions need approval
	})
	role := builder.MakeClusterRole("integration:rolled").Obj()
	policy := builder.MakePolicy("", "rolled").Select("rbac.authorization.k8s.io/v1", "ClusterRole", role.GetName()).Clusters("edge-1", "edge-2").ClusterObj()
	policy.Annotations = map[string]string{contract.RolloutStrategyAnnotation: strategy}
	s.create(t, policy, role)
	mayRead := func(obj *unstructured.Unstructured) string {
		rules, _, _ := unstructured.NestedSlice(obj.Object, "rules")
		rule, _ := rules[0].(map[string]any)
		resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
		return resources[0]
	}
	have := func(first, second string) {
		t.Helper()
		eventually(t, func(g Gomega) {
			g.Expect(mayRead(s.inMember(t, g, "edge-1", role))).To(Equal(first))
			g.Expect(mayRead(s.inMember(t, g, "edge-2", role))).To(Equal(second))
		})
	}
	approved := func(number int64) {
		t.Helper()
		_, _, err := operate.Rollout{Hub: s.hub.Client(t), FieldManager: "test", ObjectKey: rolloutOf(role)}.Approve(t.Context(), "")
		g.Expect(err).NotTo(HaveOccurred())
		s.awaitRollout(t, role, number, fairleadv1alpha1.RolloutCompleted)
	}
	s.awaitRollout(t, role, 1, fairleadv1alpha1.RolloutCompleted)
	have("configmaps", "configmaps")

	s.update(t, role, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedSlice(obj.Object, []any{map[string]any{
			"apiGroups": []any{""}, "resources": []any{"services"}, "verbs": []any{"get"},
		}}, "rules")).To(Succeed())
	})
	s.awaitRollout(t, role, 2, fairleadv1alpha1.RolloutWaiting)
	have("services", "configmaps")
	approved(2)
	have("services", "services")

	// It is undone in the same order: the canary first, the others when approved. The template stays.
	_, err := operate.Rollout{Hub: s.hub.Client(t), FieldManager: "test", ObjectKey: rolloutOf(role)}.Undo(t.Context(), 0, false)
	g.Expect(err).NotTo(HaveOccurred())
	s.awaitRollout(t, role, 3, fairleadv1alpha1.RolloutWaiting)
	have("configmaps", "services")
	approved(3)
	have("configmaps", "configmaps")
	g.Expect(mayRead(s.onHub(t, g, role))).To(Equal("services"))
	g.Expect(s.rolled(t, g, role).Revisions[2]).To(And(HaveField("ContentOf", BeEquivalentTo(1)), HaveField("Cause", fairleadv1alpha1.CauseUndone)))

	// Everything that was kept for it is deleted with its binding.
	g.Expect(s.hub.Client(t).Delete(t.Context(), role)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(s.hub.Client(t).Get(t.Context(), rolloutOf(role), &fairleadv1alpha1.ClusterStagedRollout{})).To(Satisfy(apierrors.IsNotFound))
		for _, member := range []string{"edge-1", "edge-2"} {
			g.Expect(s.get(t, s.member(member), role)).To(Satisfy(apierrors.IsNotFound), member)
		}
	})
}

// TestAClusterThatWasAwayCatchesUpAfterTheHubWasToo stops an agent before an edit, and the hub in the middle of the
// rollout.
func TestAClusterThatWasAwayCatchesUpAfterTheHubWasToo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := exclusive(t)
	ns := s.namespace(t)
	strategy := s.staged(t, "shop-1", func(spec *fairleadv1alpha1.RolloutStrategySpec) {
		spec.Waves[0].Approval = fairleadv1alpha1.ApprovalAfter
		spec.FirstTime = fairleadv1alpha1.FirstTimeAllAtOnce // later revisions need approval
	})
	template := builder.MakeConfigMap(ns, "prices", "bread", "1").Obj()
	s.create(t, by(strategy, builder.MakePolicy(ns, "prices").Select("v1", "ConfigMap", "prices").
		Clusters("shop-1", "shop-2", "shop-3").Tolerate("cluster.karmada.io/unreachable").Obj()), template)
	bread := func(g Gomega, member string) string {
		data, _, _ := unstructured.NestedStringMap(s.inMember(t, g, member, template).Object, "data")
		return data["bread"]
	}
	eventually(t, func(g Gomega) {
		for _, member := range []string{"shop-1", "shop-2", "shop-3"} {
			g.Expect(bread(g, member)).To(Equal("1"))
		}
	})
	s.awaitRollout(t, template, 1, fairleadv1alpha1.RolloutCompleted)

	s.stop(t, "shop-3")
	g.Eventually(func(g Gomega) {
		c := &clusterv1alpha1.Cluster{}
		g.Expect(s.hub.Client(t).Get(t.Context(), client.ObjectKey{Name: "shop-3"}, c)).To(Succeed())
		g.Expect(meta.IsStatusConditionPresentAndEqual(c.Status.Conditions, clusterv1alpha1.ClusterReady, metav1.ConditionUnknown)).To(BeTrue())
	}).WithTimeout(2 * waitTimeout).WithPolling(poll).Should(Succeed())
	s.update(t, template, func(obj *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(obj.Object, "2", "data", "bread")).To(Succeed())
	})
	s.awaitRollout(t, template, 2, fairleadv1alpha1.RolloutWaiting)
	g.Expect(bread(g, "shop-1")).To(Equal("2"))
	g.Expect(bread(g, "shop-2")).To(Equal("1"))

	s.stop(t, hubName)
	g.Expect(s.tell(t, s.hub.Client(t), template, func(spec *fairleadv1alpha1.StagedRolloutSpec) {
		spec.Approvals = []fairleadv1alpha1.WaveApproval{{Revision: 2, Wave: "canary"}}
	})).To(Succeed())
	g.Consistently(func(g Gomega) { g.Expect(bread(g, "shop-2")).To(Equal("1")) }).WithTimeout(quiet).WithPolling(poll).Should(Succeed())
	s.startHub(context.WithoutCancel(t.Context()), t)

	r := s.awaitRollout(t, template, 2, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(bread(g, "shop-2")).To(Equal("2")) })
	g.Expect(revision.Names(r.Clusters, fairleadv1alpha1.ClusterSetAside)).To(Equal([]string{"shop-3"}))
	g.Expect(meta.IsStatusConditionFalse(r.Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)).To(BeTrue())
	work := s.work(t, g, "shop-3", template)
	g.Expect(revision.Parse(work.Annotations[contract.RevisionAnnotation]).Number).To(BeNumerically("<", 2), "it would apply it on return, ungated")

	s.startAgent(context.WithoutCancel(t.Context()), t, "shop-3")
	g.Eventually(func(g Gomega) {
		g.Expect(bread(g, "shop-3")).To(Equal("2"))
		g.Expect(meta.IsStatusConditionTrue(s.rolled(t, g, template).Conditions, fairleadv1alpha1.RolloutConditionCaughtUp)).To(BeTrue())
	}).WithTimeout(2 * waitTimeout).WithPolling(poll).Should(Succeed())
}
