package rollout

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/flow/rollout/judge"
)

// runningWithConfig is such a world whose template needs a ConfigMap.
func runningWithConfig(t *testing.T) *world {
	t.Helper()
	w := start(t, 3, canaryThenRest())
	w.needsConfig()
	w.bind()
	w.awaitPhase(1, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{1, 1, 1})) })
	w.awaitCaughtUp(metav1.ConditionTrue, fairleadv1alpha1.ReasonRolloutNobodyBehind)
	return w
}

// TestACanaryIsWellOnceItHasWhatItNeeds edits only a ConfigMap: in the workload's Work nothing but the revision changes, so that its former
// report still holds.
func TestACanaryIsWellOnceItHasWhatItNeeds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := runningWithConfig(t)
	w.setConfig("withheld")
	w.editConfig("2")
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1})) })
	g.Consistently(func(g Gomega) {
		g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1}))
		g.Expect(w.rollout(g).Status.Waves[0].Healthy).To(BeZero())
	}, "1s", "50ms").Should(Succeed(), "its agent has not seen what changed")
	w.setConfig("")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
	eventually(t, func(g Gomega) { g.Expect(w.have(g)).To(Equal([]int64{2, 2, 2})) })
}

func TestACanaryThatRefusesWhatItNeedsStopsTheRest(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	w := runningWithConfig(t)
	w.setConfig("refused")
	w.editConfig("2")
	r := w.awaitPhase(2, fairleadv1alpha1.RolloutHalted)
	g.Expect(r.Status.Waves[0].Failed).To(BeEquivalentTo(1))
	g.Expect(w.have(g)).To(Equal([]int64{2, 1, 1}))
}

// TestACanaryDoesNotWaitForWhatAnotherRolloutHoldsUp has another workload, whose rollout has not begun, share a dependency: the binding
// stage leaves the dependency unchanged until that rollout defines its revision.
func TestACanaryDoesNotWaitForWhatAnotherRolloutHoldsUp(t *testing.T) {
	t.Parallel()
	w := runningWithConfig(t)
	other := w.bindOther("other", "no-such-strategy")
	w.changeConfigBinding(func(b *workv1alpha2.ResourceBinding) {
		b.Spec.RequiredBy = append(b.Spec.RequiredBy, workv1alpha2.BindingSnapshot{Namespace: w.namespace, Name: other.Name, Clusters: b.Spec.RequiredBy[0].Clusters})
	})
	w.setConfig("withheld")
	w.editConfig("2")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
}

// TestACanaryDoesNotWaitForAClaimThatNobodyMounts depends on a PersistentVolumeClaim whose volume is bound on first use.
func TestACanaryDoesNotWaitForAClaimThatNobodyMounts(t *testing.T) {
	t.Parallel()
	w := runningWithConfig(t)
	w.setConfig("unmounted")
	w.editConfig("more room")
	w.awaitPhase(2, fairleadv1alpha1.RolloutCompleted)
}

func TestWhetherAnotherRolloutSaysWhatAPartIsToBe(t *testing.T) {
	t.Parallel()
	r1 := fairleadv1alpha1.RevisionStatus{Number: 1, Hash: "a"}
	held := func(number int64) []fairleadv1alpha1.ClusterGroup {
		return []fairleadv1alpha1.ClusterGroup{{State: fairleadv1alpha1.ClusterHeld, Revision: number, Names: []string{"c1"}}}
	}
	has := func(id string) map[string]*workv1alpha1.Work {
		return map[string]*workv1alpha1.Work{"c1": {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RevisionAnnotation: id}}}}
	}
	for name, c := range map[string]struct {
		status fairleadv1alpha1.StagedRolloutStatus
		works  map[string]*workv1alpha1.Work
		target string
		want   bool
	}{
		"not before it has begun":                     {target: "c1"},
		"not where its workload is not":               {target: "c2", status: fairleadv1alpha1.StagedRolloutStatus{Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{r1}}, works: has("1-a")},
		"not where its workload waits for its turn":   {target: "c1", status: fairleadv1alpha1.StagedRolloutStatus{Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{r1}, Clusters: held(0)}},
		"where that keeps what it was given":          {target: "c1", status: fairleadv1alpha1.StagedRolloutStatus{Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{r1}, Clusters: held(0)}, works: has("1-a"), want: true},
		"where that is being sent it":                 {target: "c1", status: fairleadv1alpha1.StagedRolloutStatus{Revisions: []fairleadv1alpha1.RevisionStatus{r1}, Clusters: held(1)}, want: true},
		"where that has what is stable":               {target: "c1", status: fairleadv1alpha1.StagedRolloutStatus{Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{r1}}, works: has("1-a"), want: true},
		"not where what was there before it may stay": {target: "c1", status: fairleadv1alpha1.StagedRolloutStatus{Stable: 1, Revisions: []fairleadv1alpha1.RevisionStatus{r1}}, works: has("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: c.target}}}}
			o := sharer{binding: b, plan: revision.NewPlan(&c.status), works: c.works}
			NewWithT(t).Expect(o.says("c1")).To(Equal(c.want))
		})
	}
}

func TestAPartIsJudgedByItsOwnWork(t *testing.T) {
	t.Parallel()
	const web = "shop/web-deployment"
	r1, r2 := revision.ID{Number: 1, Hash: "a"}, revision.ID{Number: 2, Hash: "b"}
	work := func(id revision.ID, of string) *workv1alpha1.Work {
		w := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{contract.RevisionAnnotation: id.String(), contract.RevisionOfAnnotation: of}}}
		w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: metav1.ConditionTrue}}
		w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{Health: workv1alpha1.Unhealthy}}
		return w
	}
	reported, waits, ignored := reportOf(work(r1, web)), judge.Report{}, judge.Report{Current: true, Applied: true, Health: judge.Healthy}
	for name, c := range map[string]struct {
		work    *workv1alpha1.Work
		shared  bool
		held    bool
		adopted revision.ID
		want    judge.Report
	}{
		"what has the revision":                              {work: work(r2, web), want: reported},
		"what has the same by an older number":               {work: work(revision.ID{Number: 1, Hash: "b"}, web), want: reported},
		"what has another one is waited for":                 {work: work(r1, web), want: waits},
		"what has no revision yet is, too":                   {work: work(revision.ID{}, ""), want: waits},
		"and what is not there":                              {want: waits},
		"what was there before the rollout":                  {work: work(revision.ID{}, ""), adopted: r2, want: reported},
		"what another rollout gives is not waited for":       {work: work(r1, "shop/other"), want: ignored},
		"nor what another one holds up":                      {shared: true, want: ignored},
		"nor what another one keeps as it was without one":   {shared: true, work: work(revision.ID{}, ""), want: ignored},
		"what is shared and has the revision is reported on": {shared: true, work: work(r2, web), want: reported},
		"what is shared and is about to get it":              {shared: true, work: work(r1, web), want: waits},
		"not what another one keeps as this one gave it":     {shared: true, held: true, work: work(r1, web), want: ignored},
		"what is held, and has the revision all the same":    {shared: true, held: true, work: work(r2, web), want: reported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := part{works: map[string]*workv1alpha1.Work{}, wanted: map[string]bool{"c1": true}, shared: c.shared, held: map[string]bool{"c1": c.held}}
			if c.work != nil {
				p.works["c1"] = c.work
			}
			NewWithT(t).Expect(p.reportIn("c1", web, r2, c.adopted)).To(Equal(c.want))
		})
	}
	NewWithT(t).Expect((&part{}).reportIn("c1", web, r2, r1)).To(Equal(ignored), "it is not attached there")
}

func TestAnApplicationIsAsTheWorstOfItsParts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	well := judge.Report{Current: true, Applied: true, Health: judge.Healthy}
	from := []judge.Report{
		{Current: true, Refused: true}, {}, {Current: true}, {Current: true, Applied: true, Health: judge.Unhealthy}, {Current: true, Applied: true}, well,
	}
	for i, bad := range from {
		for _, better := range from[i:] {
			g.Expect(worse(bad, better)).To(Equal(bad))
			g.Expect(worse(better, bad)).To(Equal(bad))
		}
	}
}
