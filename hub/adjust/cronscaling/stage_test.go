package cronscaling_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
	"fairlead.dev/hub/adjust/cronscaling"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/cluster"
	"fairlead.dev/test/stagetest"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// noon is when the tests begin.
func noon() time.Time { return time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC) }

// world is a hub's API with this stage running, and a clock that the test sets.
type world struct {
	hub       *cluster.Cluster
	client    client.Client
	namespace string
	clock     *clocktesting.FakePassiveClock
	events    stagetest.Events
	stop      func()
}

func start(t *testing.T) *world {
	t.Helper()
	hub := cluster.Shared(t, cluster.Options{Profile: cluster.Hub})
	w := &world{hub: hub, client: hub.Client(t), namespace: hub.Namespace(t), clock: clocktesting.NewFakePassiveClock(noon())}
	w.run(t)
	return w
}

// run starts a hub.
func (w *world) run(t *testing.T) {
	t.Helper()
	mgr := stagetest.Manager(t, w.hub.Config, func(o *manager.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{w.namespace: {}} // each test has its own clock
	})
	NewWithT(t).Expect(cronscaling.Register(mgr, cronscaling.Deps{Events: w.events.Record, Clock: w.clock})).To(Succeed())
	w.stop = stagetest.Run(t, mgr)
}

// deploy creates the Deployment web with two replicas.
func (w *world) deploy(t *testing.T) {
	t.Helper()
	NewWithT(t).Expect(w.client.Create(t.Context(), builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj())).To(Succeed())
}

func (w *world) replicas(t *testing.T) func() int32 {
	t.Helper()
	return func() int32 {
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
		NewWithT(t).Expect(w.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, got)).To(Succeed())
		n, _, err := unstructured.NestedInt64(got.Object, "spec", "replicas")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return int32(n)
	}
}

func rule(name, schedule string, replicas int32) autoscalingv1alpha1.CronFederatedHPARule {
	return autoscalingv1alpha1.CronFederatedHPARule{Name: name, Schedule: schedule, TargetReplicas: &replicas}
}

// scaler creates a CronFederatedHPA and waits until it has been reconciled.
func (w *world) scaler(t *testing.T, kind, name string, rules ...autoscalingv1alpha1.CronFederatedHPARule) *autoscalingv1alpha1.CronFederatedHPA {
	t.Helper()
	one := &autoscalingv1alpha1.CronFederatedHPA{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, GenerateName: name + "-"},
		Spec: autoscalingv1alpha1.CronFederatedHPASpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kind, Name: name}, Rules: rules,
		},
	}
	NewWithT(t).Expect(w.client.Create(t.Context(), one)).To(Succeed())
	w.await(t, one, func(g Gomega) { g.Expect(one.Status.ExecutionHistories).To(HaveLen(len(rules))) })
	return one
}

// await waits until check passes for a CronFederatedHPA.
func (w *world) await(t *testing.T, one *autoscalingv1alpha1.CronFederatedHPA, check func(Gomega)) {
	t.Helper()
	NewWithT(t).Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(one), one)).To(Succeed())
		check(g)
	}, stagetest.Timeout, stagetest.Poll).Should(Succeed())
}

// edit updates a CronFederatedHPA.
func (w *world) edit(t *testing.T, one *autoscalingv1alpha1.CronFederatedHPA, change func()) {
	t.Helper()
	stagetest.Change(t, w.client, one, change)
}

// next is when a rule of a CronFederatedHPA is due, as its status says.
func next(one *autoscalingv1alpha1.CronFederatedHPA, i int) time.Time {
	if at := one.Status.ExecutionHistories[i].NextExecutionTime; at != nil {
		return at.UTC()
	}
	return time.Time{}
}

func TestRulesScaleAtTheirTimes(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.deploy(t)
	w.clock.SetTime(noon().Add(-500 * time.Millisecond))
	one := w.scaler(t, "Deployment", "web", rule("day", "0 12 * * *", 7), rule("night", "0 20 * * *", 0))
	g.Expect(next(one, 0)).To(Equal(noon()))
	g.Expect(next(one, 1)).To(Equal(noon().Add(8 * time.Hour)))
	g.Consistently(w.replicas(t), time.Second, stagetest.Poll).Should(BeEquivalentTo(2), "it is not noon yet")

	w.clock.SetTime(noon().Add(time.Second))
	g.Eventually(w.replicas(t), stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(7))
	w.await(t, one, func(g Gomega) {
		g.Expect(one.Status.ExecutionHistories[0].SuccessfulExecutions).To(HaveLen(1))
		done := one.Status.ExecutionHistories[0].SuccessfulExecutions[0]
		g.Expect(done.ScheduleTime.UTC()).To(Equal(noon()))
		g.Expect(done.ExecutionTime.UTC()).To(Equal(noon().Add(time.Second)))
		g.Expect(*done.AppliedReplicas).To(BeEquivalentTo(7))
		g.Expect(next(one, 0)).To(Equal(noon().Add(24 * time.Hour)))
		g.Expect(one.Status.ExecutionHistories[1].SuccessfulExecutions).To(BeEmpty())
		g.Expect(meta.IsStatusConditionTrue(one.Status.Conditions, autoscalingv1alpha1.CronRulesValid)).To(BeTrue())
	})
	g.Eventually(func() []string { return w.events.Notes("ScaleSucceed") }, stagetest.Timeout, stagetest.Poll).
		Should(HaveExactElements("Rule day scaled Deployment web to 7 replicas."))
}

func TestRulesThatAreEditedSuspendedAndRemoved(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.deploy(t)
	w.clock.SetTime(noon().Add(-500 * time.Millisecond))
	one := w.scaler(t, "Deployment", "web", rule("edited", "0 12 * * *", 7), rule("suspended", "0 12 * * *", 8), rule("removed", "0 12 * * *", 9))
	w.edit(t, one, func() {
		one.Spec.Rules = one.Spec.Rules[:2]
		one.Spec.Rules[0].Schedule = "5 12 * * *"
		one.Spec.Rules[1].Suspend = new(true)
	})
	w.await(t, one, func(g Gomega) {
		g.Expect(one.Status.ExecutionHistories).To(HaveLen(2))
		g.Expect(next(one, 0)).To(Equal(noon().Add(5 * time.Minute)))
		g.Expect(next(one, 1)).To(BeZero())
	})
	w.clock.SetTime(noon().Add(time.Second))
	w.edit(t, one, func() { one.Spec.Rules[0].TargetReplicas = new(int32(6)) })
	g.Consistently(w.replicas(t), time.Second, stagetest.Poll).Should(BeEquivalentTo(2))
	w.edit(t, one, func() { one.Spec.Rules[0].TargetReplicas, one.Spec.Rules[1].Suspend = new(int32(5)), new(false) })
	w.await(t, one, func(g Gomega) { g.Expect(next(one, 1)).To(Equal(noon().Add(24 * time.Hour))) })

	w.clock.SetTime(noon().Add(5 * time.Minute))
	w.edit(t, one, func() { one.Spec.Rules[1].TargetReplicas = new(int32(9)) }) // triggers a reconcile, if the clock alone did not
	g.Eventually(w.replicas(t), stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(5))
	g.Expect(w.events.Notes("ScaleMissed")).To(BeEmpty(), "nobody was away")
}

func TestAHubThatWasAwaySaysWhatItMissed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.deploy(t)
	one := w.scaler(t, "Deployment", "web", rule("day", "0 13 * * *", 7))
	w.stop()
	w.clock.SetTime(noon().Add(49*time.Hour + 5*time.Minute))
	w.run(t)
	w.await(t, one, func(g Gomega) {
		g.Expect(one.Status.ExecutionHistories[0].FailedExecutions).To(HaveExactElements(HaveField("Message", ContainSubstring("for 3 times from 2026-03-28T13:00:00Z to 2026-03-30T13:00:00Z"))))
		g.Expect(next(one, 0)).To(Equal(noon().Add(73 * time.Hour)))
	})
	g.Expect(w.replicas(t)()).To(BeEquivalentTo(2), "it does not catch up")
	g.Eventually(func() []string { return w.events.Notes("ScaleMissed") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
}

// TestARuleThatIsEditedWhileNoHubWorksIsFollowed edits at a time of the API server's clock, which the test cannot set.
func TestARuleThatIsEditedWhileNoHubWorksIsFollowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	w.deploy(t)
	due := time.Now().UTC().Truncate(time.Minute).Add(5 * time.Minute)
	w.clock.SetTime(due.Add(-10 * time.Minute))
	one := w.scaler(t, "Deployment", "web", rule("yearly", "0 0 1 1 *", 9))
	w.stop()
	w.edit(t, one, func() { one.Spec.Rules = append(one.Spec.Rules, rule("added", due.Format("4 15 * * *"), 7)) })
	w.clock.SetTime(due.Add(10 * time.Second))
	w.run(t)
	g.Eventually(w.replicas(t), stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(7))
	g.Expect(w.events.Notes("ScaleMissed")).To(BeEmpty())
}

func TestAScalerWithoutTargetSaysWhy(t *testing.T) {
	t.Parallel()
	w := start(t)
	tests := map[string]struct{ kind, want string }{
		"nothing of the name": {"Deployment", "there is no Deployment absent in namespace " + w.namespace},
		"no such kind":        {"Sails", "the hub knows no kind Sails of apps/v1"},
	}
	w.clock.SetTime(noon().Add(-500 * time.Millisecond))
	scalers := map[string]*autoscalingv1alpha1.CronFederatedHPA{}
	for name, tt := range tests {
		scalers[name] = w.scaler(t, tt.kind, "absent", rule("day", "0 12 * * *", 7))
	}
	w.clock.SetTime(noon())
	for name, tt := range tests {
		one := scalers[name]
		w.await(t, one, func(g Gomega) {
			g.Expect(one.Status.ExecutionHistories[0].FailedExecutions).To(HaveExactElements(HaveField("Message", ContainSubstring(tt.want))), name)
		})
	}
	NewWithT(t).Eventually(func() []string { return w.events.Notes("ScaleFailed") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(2))
}

func TestAKindWithoutScaleSaysSo(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	g.Expect(w.client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": w.namespace, "name": "conf"},
	}})).To(Succeed())
	w.clock.SetTime(noon().Add(-500 * time.Millisecond))
	one := w.scaler(t, "Deployment", "conf", rule("day", "0 12 * * *", 7))
	w.edit(t, one, func() { one.Spec.ScaleTargetRef.APIVersion, one.Spec.ScaleTargetRef.Kind = "v1", "ConfigMap" })
	w.clock.SetTime(noon())
	w.await(t, one, func(g Gomega) {
		g.Expect(one.Status.ExecutionHistories[0].FailedExecutions).To(HaveExactElements(HaveField("Message",
			ContainSubstring("kind ConfigMap of v1 has no subresource scale"))))
	})
}

func TestAScheduleThatAdmissionCannotJudgeIsSaid(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := start(t)
	one := w.scaler(t, "Deployment", "web", rule("leap", "0 0 30 2 *", 7), rule("day", "0 13 * * *", 7))
	w.await(t, one, func(g Gomega) {
		c := meta.FindStatusCondition(one.Status.Conditions, autoscalingv1alpha1.CronRulesValid)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Message).To(Equal(`Rule leap is never due: schedule "0 0 30 2 *": it names a time that never comes.`))
		g.Expect(c.Reason).To(Equal(autoscalingv1alpha1.ReasonInvalidRule))
		g.Expect(next(one, 1)).To(Equal(noon().Add(time.Hour)), "others are followed")
	})
	g.Eventually(func() []string { return w.events.Notes("StartRuleFailed") }, stagetest.Timeout, stagetest.Poll).Should(HaveLen(1))
}

func TestRegisterSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	NewWithT(t).Expect(cronscaling.Register(nil, cronscaling.Deps{})).NotTo(Succeed())
}
