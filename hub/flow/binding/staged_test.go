package binding_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	"fairlead.dev/test/stagetest"
)

func TestStaged(t *testing.T) {
	s := start(t)
	for name, test := range map[string]func(*testing.T, *stage){
		"nothing is sent before the rollout":                                  nothingBeforeTheRollout,
		"an edit is sent only to the clusters of its wave":                    anEditWhereItWasAdmitted,
		"a wave does not wait for unchanged clusters":                         waveDoesNotWait,
		"an override is sent only to the clusters of its wave":                anOverrideWhereItWasAdmitted,
		"a revision without a change keeps its time if the content is stable": revisionWithoutChange,
		"scaling and suspension apply to the cluster's revision":              scalingGoesOn,
		"new and returning clusters get the stable revision":                  newClusterGetsStableRevision,
		"a tampered Work is restored with its own revision":                   aSpoiltWork,
		"the replacement of a purged copy gets the stable revision":           aPurgedCopy,
		"a quota applies to an old revision":                                  aQuotaForAnOldRevision,
		"unreadable content moves nothing":                                    aContentThatCannotBeRead,
		"content without its rules moves nothing":                             aContentWithoutItsRules,
		"an existing Work is adopted as r1, or waits for its wave":            existingWorkIsAdopted,
		"the same content under another number is not sent again":             theSameContentAgain,
		"a rollout that is created again continues the numbers":               aRolloutMadeAnew,
		"cluster-scoped templates are rolled out":                             clusterScopedRollout,
		"dependencies are rolled out with their workload":                     dependenciesAreRolledOut,
		"a cluster-scoped dependency does not follow a namespaced rollout":    clusterScopedDependency,
		"the slower of two workloads decides":                                 slowerWorkloadDecides,
		"a binding without a strategy any more gets the latest content":       setFree,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

func nothingBeforeTheRollout(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	web := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	b := w.createStaged(t, web, "a", "b")
	w.stays(t)
	r := w.rollOut(t, b)
	w.stays(t)
	r1 := r.cut(t, 1, "Edited", w.source(t, web, b))
	r.says(t, 0, map[string]int64{"a": 1, "b": 0}, r1)
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27 r1", "b": "nothing"}))
	work := w.work(t, "a", web)
	g.Expect(work.Annotations).To(HaveKey(contract.RevisionSinceAnnotation))
	g.Expect(manifest(t, work, "metadata", "annotations")).NotTo(HaveKey(contract.RevisionAnnotation), "the manifest has no revision")
	g.Expect(manifest(t, work, "spec", "replicas")).To(BeEquivalentTo(2))
	r.says(t, 1, nil)
	g.Eventually(func() map[string]string { return w.has(t, web, "b") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("b", "nginx:1.27 r1"))
	g.Expect(w.wrote()).To(Equal([]string{"POST", "POST"}), "each is written once")
}

// twoWaves is web in a and b with r1, and an edit of which r2 was made and a was sent.
func twoWaves(t *testing.T, s *stage, more ...string) (*world, *unstructured.Unstructured, *workv1alpha2.ResourceBinding, *rollout) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, append([]string{"a", "b"}, more...)...)
	web := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	b := w.createStaged(t, web, "a", "b")
	r := w.rollOut(t, b)
	r.says(t, 1, nil, r.cut(t, 1, "Edited", w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27 r1", "b": "nginx:1.27 r1"}))
	w.edit(t, web, b, image("nginx:2"))
	w.wrote()
	w.stays(t)
	r.says(t, 1, map[string]int64{"a": 2}, r.cut(t, 2, "Edited", w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	g.Expect(w.wrote()).To(Equal([]string{"PATCH"}))
	return w, web, b, r
}

func anEditWhereItWasAdmitted(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	w.edit(t, web, b, image("nginx:3"))
	w.stays(t)
	// Neither a relabelled cluster nor a look at everything brings what is newer.
	change(t, w, builder.MakeCluster(w.member("b")).Obj(), func(c *clusterv1alpha1.Cluster) { c.Labels = map[string]string{"ring": "1"} })
	w.stays(t)
	// A status that is older than the Works moves nothing back.
	r.says(t, 1, nil)
	w.stays(t)
	r.says(t, 2, nil)
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:2 r2"}))
	g.Expect(w.wrote()).To(Equal([]string{"PATCH"}))
}

// waveDoesNotWait sends a revision to one of many clusters. It must be written before the others are rendered.
func waveDoesNotWait(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	members := strings.Split("abcdefghijklmnop", "")
	w := s.world(t, members...)
	web := builder.MakeDeployment(w.namespace, "web").Replicas(2).Obj()
	b := w.createStaged(t, web, members...)
	r := w.rollOut(t, b)
	r.says(t, 1, nil, r.cut(t, 1, "Edited", w.source(t, web, b)))
	last := members[len(members)-1]
	g.Eventually(func() map[string]string { return w.has(t, web, members...) }, stagetest.Timeout, stagetest.Poll).Should(HaveEach("nginx:1.27 r1"))
	w.edit(t, web, b, image("nginx:2"))
	w.wrote()
	w.stays(t)
	r.says(t, 1, map[string]int64{last: 2}, r.cut(t, 2, "Edited", w.source(t, web, b)))
	g.Eventually(func() int { return w.setAfter(w.workKey(last, web).Namespace) }, stagetest.Timeout, stagetest.Poll).Should(BeNumerically(">=", len(members)))
	g.Expect(w.wrote()).To(Equal([]string{"PATCH"}))
}

func anOverrideWhereItWasAdmitted(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	r.says(t, 2, nil)
	g.Eventually(func() map[string]string { return w.has(t, web, "b") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("b", "nginx:2 r2"))
	w.wrote()
	ring := func(value string) *policyv1alpha1.ClusterAffinity {
		return &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"ring": value}}}
	}
	tier := func(value string) policyv1alpha1.Overriders {
		return policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"tier": value}}}}
	}
	op := builder.MakeOverride(w.namespace, "tier").Select("apps/v1", "Deployment", "web").Obj()
	op.Spec.OverrideRules = []policyv1alpha1.RuleWithCluster{{TargetCluster: ring("1"), Overriders: tier("one")}}
	g.Expect(w.hub.Create(t.Context(), op)).To(Succeed())
	w.stays(t)
	r3 := r.cut(t, 3, "Edited", w.source(t, web, b))
	r.says(t, 2, map[string]int64{"a": 3}, r3)
	g.Eventually(func() map[string]string { return w.has(t, web, "a") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("a", "nginx:2 r3"))
	since := w.work(t, "a", web).Annotations[contract.RevisionSinceAnnotation]
	g.Expect(since).NotTo(BeEmpty())
	g.Expect(w.wrote()).To(Equal([]string{"PATCH"}))

	// The labels of b come to match a rule that b was not admitted to; those of a one that it was.
	label := func(member string) {
		change(t, w, builder.MakeCluster(w.member(member)).Obj(), func(c *clusterv1alpha1.Cluster) { c.Labels = map[string]string{"ring": "1"} })
	}
	label("b")
	w.stays(t)
	g.Expect(w.has(t, web, "b")).To(HaveKeyWithValue("b", "nginx:2 r2"))
	label("a")
	g.Eventually(func() map[string]string { return w.has(t, web, "a") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("a", "nginx:2 one r3"))

	// An edit of the rule, and its end, wait like any other.
	change(t, w, op, func(o *policyv1alpha1.OverridePolicy) { o.Spec.OverrideRules[0].Overriders = tier("two") })
	g.Expect(w.hub.Delete(t.Context(), op)).To(Succeed())
	w.wrote()
	w.stays(t)
	g.Expect(w.has(t, web, "a", "b")).To(Equal(map[string]string{"a": "nginx:2 one r3", "b": "nginx:2 r2"}))
}

// revisionWithoutChange checks since when a has its content, by the clock of a hub that went back after the creation of r3.
func revisionWithoutChange(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s)
	elsewhere := func(number int64) fairleadv1alpha1.RevisionStatus {
		op := builder.MakeOverride(w.namespace, fmt.Sprint("tier-", number)).Select("apps/v1", "Deployment", "web").Obj()
		op.Spec.OverrideRules = []policyv1alpha1.RuleWithCluster{{
			TargetCluster: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{fmt.Sprint("elsewhere-", number)}},
			Overriders:    policyv1alpha1.Overriders{LabelsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"tier": "x"}}}},
		}}
		g.Expect(w.hub.Create(t.Context(), op)).To(Succeed())
		made := r.cut(t, number, "Edited", w.source(t, web, b))
		made.CreatedAt = metav1.NewTime(time.Now().Add(time.Duration(number) * time.Hour).Truncate(time.Second))
		return made
	}
	since := func(has string) time.Time {
		g.Eventually(func() map[string]string { return w.has(t, web, "a") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("a", has))
		at, err := time.Parse(time.RFC3339, w.work(t, "a", web).Annotations[contract.RevisionSinceAnnotation])
		g.Expect(err).NotTo(HaveOccurred())
		return at
	}
	r3 := elsewhere(3)
	r.says(t, 1, map[string]int64{"a": 3}, r3)
	g.Expect(since("nginx:2 r3")).To(BeTemporally("==", r3.CreatedAt.Time), "the time is new since r2 was never stable")
	r.says(t, 3, map[string]int64{"a": 4}, elsewhere(4))
	g.Expect(since("nginx:2 r4")).To(BeTemporally("==", r3.CreatedAt.Time), "the time stays since r3 was stable and r4 changes nothing in a")
}

func scalingGoesOn(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, _ := twoWaves(t, s)
	since := w.work(t, "b", web).Annotations[contract.RevisionSinceAnnotation]
	change(t, w, web, func(o *unstructured.Unstructured) {
		g.Expect(unstructured.SetNestedField(o.Object, int64(5), "spec", "replicas")).To(Succeed())
	})
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Replicas, b.Spec.Resource.ResourceVersion = 5, web.GetResourceVersion()
		for i := range b.Spec.Clusters {
			b.Spec.Clusters[i].Replicas = 5
		}
	})
	for _, member := range []string{"a", "b"} {
		g.Eventually(func() any { return manifest(t, w.work(t, member, web), "spec", "replicas") }, stagetest.Timeout, stagetest.Poll).Should(BeEquivalentTo(5))
	}
	g.Expect(w.has(t, web, "a", "b")).To(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	g.Expect(w.work(t, "b", web).Annotations[contract.RevisionSinceAnnotation]).To(Equal(since), "the time stays with the content")
	g.Expect(w.wrote()).To(Equal([]string{"PATCH", "PATCH"}))

	// What the template says is newer than r2 now; that is no write for those that do not get it.
	w.edit(t, web, b, image("nginx:3"))
	w.stays(t)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{
			DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{w.member("b")}},
		}}
	})
	g.Eventually(func() *bool { return w.work(t, "b", web).Spec.SuspendDispatching }, stagetest.Timeout, stagetest.Poll).Should(HaveValue(BeTrue()))
	g.Expect(w.has(t, web, "a", "b")).To(Equal(map[string]string{"a": "nginx:2 r2", "b": "nginx:1.27 r1"}))
	g.Expect(w.wrote()).To(Equal([]string{"PATCH"}))
}

func newClusterGetsStableRevision(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, r := twoWaves(t, s, "c")
	// A new target.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.member("c"), Replicas: 2})
	})
	g.Eventually(func() map[string]string { return w.has(t, web, "c") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("c", "nginx:1.27 r1"))
	// One that is evicted, and returns.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = slices.DeleteFunc(b.Spec.Clusters, func(c workv1alpha2.TargetCluster) bool { return c.Name == w.member("b") })
	})
	g.Eventually(func() []string { return w.works(t, "web-") }, stagetest.Timeout, stagetest.Poll).Should(Equal([]string{"a", "b going", "c"}))
	w.release(t, w.work(t, "b", web))
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = append(b.Spec.Clusters, workv1alpha2.TargetCluster{Name: w.member("b"), Replicas: 2})
	})
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b", "c") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{
		"a": "nginx:2 r2", "b": "nginx:1.27 r1", "c": "nginx:1.27 r1",
	}))
	// One whose Work somebody deletes while it is held: it is not known what it had. That c is sent r2 shows that the stage knows of both.
	r.says(t, 1, map[string]int64{"a": 2, "b": 0, "c": 2})
	g.Eventually(func() map[string]string { return w.has(t, web, "c") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("c", "nginx:2 r2"))
	work := w.work(t, "b", web)
	g.Expect(w.hub.Delete(t.Context(), work)).To(Succeed())
	w.release(t, work)
	g.Eventually(func() map[string]string { return w.has(t, web, "b") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("b", "nothing"))
	g.Consistently(func() map[string]string { return w.has(t, web, "b") }, stagetest.Quiet, stagetest.Poll).Should(HaveKeyWithValue("b", "nothing"))
	r.says(t, 1, map[string]int64{"a": 2})
	g.Eventually(func() map[string]string { return w.has(t, web, "b") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("b", "nginx:1.27 r1"))
}

func clusterScopedRollout(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}
	_ = w.hub.Create(t.Context(), ns) // another test may have it
	role := builder.MakeClusterRole(w.namespace).Label("tier", "one").Obj()
	g.Expect(w.hub.Create(t.Context(), role)).To(Succeed())
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), role) })
	b := &workv1alpha2.ClusterResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name: contract.BindingName("ClusterRole", w.namespace), Labels: map[string]string{contract.ClusterResourceBindingPermanentIDLabel: "id-of-" + w.namespace},
			Annotations: map[string]string{contract.RolloutStrategyAnnotation: "careful"},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource: workv1alpha2.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: w.namespace, UID: role.GetUID()},
			Clusters: w.shares("a", "b"),
		},
	}
	g.Expect(w.hub.Create(t.Context(), b)).To(Succeed())
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), b) })
	r := w.rollOut(t, b)
	r.says(t, 1, nil, r.cut(t, 1, "Edited", w.source(t, role, b)))
	g.Eventually(func() map[string]string { return w.has(t, role, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "one r1", "b": "one r1"}))
	change(t, w, role, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"tier": "two"}) })
	r.says(t, 1, map[string]int64{"a": 2}, r.cut(t, 2, "Edited", w.source(t, role, b)))
	g.Eventually(func() map[string]string { return w.has(t, role, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "two r2", "b": "one r1"}))
}

// clusterScopedDependency has a workload in a namespace that needs a cluster-scoped object of an administrator. The workload's rollout, which
// its users pause and roll back, must neither delay an edit of that object nor restore content of it that an earlier version of the hub
// kept.
func clusterScopedDependency(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	_ = w.hub.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.ClusterNamespace}}) // another test may have it
	role := builder.MakeClusterRole(w.namespace).Label("tier", "one").Obj()
	g.Expect(w.hub.Create(t.Context(), role)).To(Succeed())
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), role) })
	web := builder.MakeDeployment(w.namespace, "web").Obj()
	b := w.createStaged(t, web, "a", "b")
	needed := &workv1alpha2.ClusterResourceBinding{
		ObjectMeta: metav1.ObjectMeta{
			Name: contract.BindingName("ClusterRole", w.namespace), Labels: map[string]string{contract.ClusterResourceBindingPermanentIDLabel: "id-of-" + w.namespace},
		},
		Spec: workv1alpha2.ResourceBindingSpec{
			Resource:   workv1alpha2.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: w.namespace, UID: role.GetUID()},
			RequiredBy: []workv1alpha2.BindingSnapshot{{Namespace: b.Namespace, Name: b.Name, Clusters: w.shares("a", "b")}},
		},
	}
	r := w.rollOut(t, b)
	r.says(t, 1, nil, r.cut(t, 1, "Edited", w.source(t, web, b), w.source(t, role, needed)))
	g.Expect(w.hub.Create(t.Context(), needed)).To(Succeed())
	t.Cleanup(func() { _ = w.hub.Delete(context.WithoutCancel(t.Context()), needed) })
	has := func() map[string]string { return w.has(t, role, "a", "b") }
	g.Eventually(has, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "one", "b": "one"}))
	change(t, w, role, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"tier": "two"}) })
	change(t, w, needed, func(b *workv1alpha2.ClusterResourceBinding) {
		b.Spec.Resource.ResourceVersion = role.GetResourceVersion()
	})
	g.Eventually(has, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "two", "b": "two"}))
}

func dependenciesAreRolledOut(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	web, config, late := builder.MakeDeployment(w.namespace, "web").Obj(), builder.MakeConfigMap(w.namespace, "config", "key", "1").Obj(), builder.MakeConfigMap(w.namespace, "late", "key", "1").Obj()
	b := w.createStaged(t, web, "a", "b")
	bc := w.create(t, config)
	w.needs(t, bc, b)
	w.stays(t)
	r := w.rollOut(t, b)
	r.says(t, 1, nil, r.cut(t, 1, "Edited", w.source(t, web, b), w.source(t, config, bc)))
	g.Eventually(func() map[string]string { return w.has(t, config, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "1 r1", "b": "1 r1"}))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27 r1", "b": "nginx:1.27 r1"}))
	g.Expect(w.work(t, "a", config).Annotations).To(HaveKeyWithValue(contract.RevisionOfAnnotation, w.namespace+"/web-deployment"))
	w.wrote()

	// An edit of what is needed goes with the workload, and so does what is needed anew.
	w.edit(t, config, bc, value("2"))
	bl := w.create(t, late)
	w.needs(t, bl, b)
	w.stays(t)
	r.says(t, 1, map[string]int64{"a": 2}, r.cut(t, 2, "Edited", w.source(t, web, b), w.source(t, config, bc), w.source(t, late, bl)))
	g.Eventually(func() map[string]string { return w.has(t, config, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "2 r2", "b": "1 r1"}))
	g.Eventually(func() map[string]string { return w.has(t, late, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "1 r2", "b": "nothing"}))
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:1.27 r2", "b": "nginx:1.27 r1"}), "the Work gets the number r2 although its content is unchanged")
	w.wrote()

	// A revision that needs it no more takes nothing away where it was, and an edit reaches nobody.
	r.says(t, 1, map[string]int64{"a": 3}, r.cut(t, 3, "Edited", w.source(t, web, b)))
	g.Eventually(func() map[string]string { return w.has(t, web, "a") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("a", "nginx:1.27 r3"))
	w.edit(t, config, bc, value("3"))
	w.wrote()
	w.stays(t)
	g.Expect(w.has(t, config, "a", "b")).To(Equal(map[string]string{"a": "2 r2", "b": "1 r1"}))

	// While the workload leaves a cluster, what it needs there stays as it is.
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) {
		b.Spec.Clusters = b.Spec.Clusters[:1]
		b.Spec.GracefulEvictionTasks = []workv1alpha2.GracefulEvictionTask{{FromCluster: w.member("b"), PurgeMode: policyv1alpha1.PurgeGracefully, Reason: "TaintUntolerated", Producer: "test"}}
		b.Spec.Suspension = &workv1alpha2.Suspension{Suspension: policyv1alpha1.Suspension{
			DispatchingOnClusters: &policyv1alpha1.SuspendClusters{ClusterNames: []string{w.member("a")}},
		}}
	})
	g.Eventually(func() *bool { return w.work(t, "a", web).Spec.SuspendDispatching }, stagetest.Timeout, stagetest.Poll).
		Should(HaveValue(BeTrue()), "the stage has seen that")
	r.says(t, 2, nil)
	w.wrote()
	w.stays(t)
	g.Expect(w.has(t, config, "a", "b")).To(Equal(map[string]string{"a": "2 r2", "b": "1 r1"}))
}

func slowerWorkloadDecides(t *testing.T, s *stage) {
	t.Helper()
	g, w := NewWithT(t), s.world(t, "a", "b")
	web, api, config := builder.MakeDeployment(w.namespace, "web").Obj(), builder.MakeDeployment(w.namespace, "api").Obj(), builder.MakeConfigMap(w.namespace, "config", "key", "1").Obj()
	bw, ba := w.createStaged(t, web, "a", "b"), w.createStaged(t, api, "a")
	bc := w.create(t, config)
	rw, ra := w.rollOut(t, bw), w.rollOut(t, ba)
	w.needs(t, bc, bw, ba)
	rw.says(t, 1, nil, rw.cut(t, 1, "Edited", w.source(t, web, bw), w.source(t, config, bc)))
	ra.says(t, 1, nil, ra.cut(t, 1, "Edited", w.source(t, api, ba), w.source(t, config, bc)))
	g.Eventually(func() map[string]string { return w.has(t, config, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "1 r1", "b": "1 r1"}))
	w.edit(t, config, bc, value("2"))
	rw.says(t, 2, nil, rw.cut(t, 2, "Edited", w.source(t, web, bw), w.source(t, config, bc)))
	g.Eventually(func() map[string]string { return w.has(t, config, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "1 r1", "b": "2 r2"}))
	g.Consistently(func() map[string]string { return w.has(t, config, "a") }, stagetest.Quiet, stagetest.Poll).Should(HaveKeyWithValue("a", "1 r1"))
	ra.says(t, 2, nil, ra.cut(t, 2, "Edited", w.source(t, api, ba), w.source(t, config, bc)))
	g.Eventually(func() map[string]string { return w.has(t, config, "a") }, stagetest.Timeout, stagetest.Poll).Should(HaveKeyWithValue("a", "2 r2"))
}

func setFree(t *testing.T, s *stage) {
	t.Helper()
	g := NewWithT(t)
	w, web, b, _ := twoWaves(t, s)
	change(t, w, b, func(b *workv1alpha2.ResourceBinding) { delete(b.Annotations, contract.RolloutStrategyAnnotation) })
	g.Eventually(func() map[string]string { return w.has(t, web, "a", "b") }, stagetest.Timeout, stagetest.Poll).Should(Equal(map[string]string{"a": "nginx:2", "b": "nginx:2"}))
	for key := range w.work(t, "b", web).Annotations {
		g.Expect(key).NotTo(HavePrefix("fairlead.dev/revision"))
	}
}
