package rollouts

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/revision"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/test/builder"
)

func at(minute int) *metav1.Time {
	return &metav1.Time{Time: time.Date(2026, 1, 1, 21, minute, 0, 0, time.UTC)}
}

func web() applications.Template {
	return applications.Template{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
}

// shops is r5 on its way to 312 clusters, in wave 2 of 3: one cluster is lost and three are silent.
func shops(change ...func(*fairleadv1alpha1.StagedRollout)) *fairleadv1alpha1.StagedRollout {
	ro := &fairleadv1alpha1.StagedRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
	soak := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	ro.Status = fairleadv1alpha1.StagedRolloutStatus{
		Strategy: "shops", Phase: fairleadv1alpha1.RolloutSoaking, Revision: 5, Stable: 4, Wave: "tenth",
		Waves: []fairleadv1alpha1.WaveStatus{
			{Name: "canary", Size: 1, Healthy: 1, Soak: soak(5 * time.Minute), StartedAt: at(0), WellSince: at(1), PassedAt: at(6)},
			{Name: "tenth", Size: 32, Healthy: 28, Lost: 1, SetAside: 3, Soak: soak(10 * time.Minute), StartedAt: at(6), WellSince: at(7)},
			{Name: "rest", Size: 279, Held: 279},
		},
		Revisions: []fairleadv1alpha1.RevisionStatus{
			{Number: 3, Hash: "c", Cause: "Edited"}, {Number: 4, Hash: "d", Cause: "Edited"}, {Number: 5, Hash: "e", Cause: "Edited"},
		},
		Clusters: []fairleadv1alpha1.ClusterGroup{
			{State: fairleadv1alpha1.ClusterHealthy, Revision: 5, Names: []string{"shop-001", "shop-002"}},
			{State: fairleadv1alpha1.ClusterSetAside, Reason: "Silent", Names: []string{"shop-010", "shop-020", "shop-030"}},
			{State: fairleadv1alpha1.ClusterLost, Revision: 5, Names: []string{"shop-044"}},
		},
	}
	for _, c := range change {
		c(ro)
	}
	return ro
}

func condition(kind string, is bool, reason, message string) func(*fairleadv1alpha1.StagedRollout) {
	return func(ro *fairleadv1alpha1.StagedRollout) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
		if is {
			c.Status = metav1.ConditionTrue
		}
		ro.Status.Conditions = append(ro.Status.Conditions, c)
	}
}

func phase(p fairleadv1alpha1.RolloutPhase) func(*fairleadv1alpha1.StagedRollout) {
	return func(ro *fairleadv1alpha1.StagedRollout) { ro.Status.Phase = p }
}

func done(ro *fairleadv1alpha1.StagedRollout) {
	ro.Status.Phase, ro.Status.Stable, ro.Status.Wave = fairleadv1alpha1.RolloutCompleted, 5, ""
	ro.Status.Waves[2] = fairleadv1alpha1.WaveStatus{Name: "rest", Size: 279, Healthy: 88, SetAside: 191, StartedAt: at(7), PassedAt: at(9)}
}

const command = "`hub rollout "

// Whoever copies a command may have a context with another namespace than default.
func TestCommandsNameTheNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(Command("abort", applications.Template{Kind: "Deployment", Namespace: "default", Name: "web"})).To(Equal("hub rollout abort deployment/web -n default"))
	g.Expect(Command("abort", applications.Template{Kind: "ClusterRole", Name: "web"})).To(Equal("hub rollout abort clusterrole/web"))
}

func TestARolloutInOneLine(t *testing.T) {
	t.Parallel()
	halted := func(ro *fairleadv1alpha1.StagedRollout) {
		ro.Status.Phase, ro.Status.Waves[1].WellSince, ro.Status.Waves[1].Failed, ro.Status.Waves[1].Healthy = fairleadv1alpha1.RolloutHalted, nil, 2, 26
		ro.Status.Clusters = append(ro.Status.Clusters, fairleadv1alpha1.ClusterGroup{State: fairleadv1alpha1.ClusterFailed, Revision: 5, Names: []string{"shop-002", "shop-003"}})
	}
	for name, c := range map[string]struct {
		ro         *fairleadv1alpha1.StagedRollout
		line, next string
		waits      string
	}{
		"a wave that soaks": {
			shops(condition("Progressing", true, "Soaking", "Wave tenth is well.")),
			"deployment/web r5 (stable r4) wave 2/3 tenth: 28/29 healthy, 1 lost, 3 set aside, soak 3m of 10m", "", "Wave tenth is well.",
		},
		"one that waits for a person": {
			shops(phase(fairleadv1alpha1.RolloutWaiting), condition("Progressing", false, "WaitingForApproval", "Wave tenth is to be approved.")),
			"deployment/web r5 (stable r4) wave 2/3 tenth: 28/29 healthy, 1 lost, 3 set aside, soak 3m of 10m; waiting",
			command + "approve deployment/web -n shop --revision 5` goes on; " + command + "abort deployment/web -n shop` takes it back.", "Wave tenth is to be approved.",
		},
		"one of which too few are heard from": {
			shops(phase(fairleadv1alpha1.RolloutWaiting), condition("Progressing", false, "TooFewHeardFrom", "Nobody of wave tenth is heard from.")),
			"deployment/web r5 (stable r4) wave 2/3 tenth: 28/29 healthy, 1 lost, 3 set aside, soak 3m of 10m; waiting",
			"It goes on by itself once more clusters of the wave are heard from; " + command + "skip deployment/web -n shop` CLUSTER leaves one out.",
			"Nobody of wave tenth is heard from.",
		},
		"one that failed": {
			shops(halted, condition("Halted", true, "TooManyFailed", "2 clusters failed."), condition("Progressing", false, "TooManyFailed", "Halted.")),
			"deployment/web r5 (stable r4) wave 2/3 tenth: 26/29 healthy, 2 failed, 1 lost, 3 set aside; halted",
			"Correct the template, which makes a new revision; or " + command + "retry deployment/web -n shop` retries the clusters that failed, " +
				command + "abort deployment/web -n shop` takes it back where it was sent.", "2 clusters failed.",
		},
		"one of which the clusters that failed are well by now": {
			shops(phase(fairleadv1alpha1.RolloutHalted), condition("Halted", true, "TooManyFailed", "2 clusters failed.")),
			"deployment/web r5 (stable r4) wave 2/3 tenth: 28/29 healthy, 1 lost, 3 set aside, soak 3m of 10m; halted",
			"The clusters that failed are healthy now: " + command + "retry deployment/web -n shop` goes on; " +
				command + "abort deployment/web -n shop` takes it back where it was sent.", "2 clusters failed.",
		},
		"one that is halted since clusters are lost": {
			shops(phase(fairleadv1alpha1.RolloutHalted), condition("Halted", true, "ClustersLost", "1 cluster is lost.")),
			"deployment/web r5 (stable r4) wave 2/3 tenth: 28/29 healthy, 1 lost, 3 set aside, soak 3m of 10m; halted",
			"It goes on by itself once the clusters that are lost are healthy again. " + command + "abort deployment/web -n shop` takes it back where it was sent.",
			"1 cluster is lost.",
		},
		"one that is paused": {
			shops(phase(fairleadv1alpha1.RolloutPaused), func(ro *fairleadv1alpha1.StagedRollout) { ro.Spec.Paused = true }),
			"deployment/web r5 (stable r4) wave 2/3 tenth: 28/29 healthy, 1 lost, 3 set aside, soak 3m of 10m; paused",
			command + "resume deployment/web -n shop` goes on; " + command + "abort deployment/web -n shop` takes it back.", "",
		},
		"one that is over while clusters are behind": {
			shops(done, condition("Progressing", true, "Completed", "All waves have passed."), condition("CaughtUp", false, "ClustersBehind", "194 clusters are behind.")),
			"deployment/web r5 completed: 117/118 healthy, 1 lost, 194 set aside", "", "",
		},
		"one that goes to all at once": {
			shops(func(ro *fairleadv1alpha1.StagedRollout) { ro.Status.Immediately = true }, phase(fairleadv1alpha1.RolloutProgressing)),
			"deployment/web r5 (stable r4) to all at once: 29/309 healthy, 1 lost, 279 held, 3 set aside", "", "",
		},
		"one without a revision": {&fairleadv1alpha1.StagedRollout{}, "deployment/web: there is no revision yet", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r := Of(c.ro, web(), at(10).Time)
			g.Expect(r.Line).To(Equal(c.line))
			g.Expect(r.Next).To(Equal(c.next))
			g.Expect(r.Waits).To(Equal(c.waits))
		})
	}
}

func TestARolloutIsOverBeforeAllHaveCaughtUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := Of(shops(), web(), at(10).Time)
	g.Expect([]bool{r.Done, r.CaughtUp}).To(Equal([]bool{false, false}))
	r = Of(shops(done, condition("CaughtUp", false, "ClustersBehind", "194 clusters are behind.")), web(), at(10).Time)
	g.Expect([]bool{r.Done, r.CaughtUp}).To(Equal([]bool{true, false}))
	g.Expect(r.Behind).To(Equal("194 clusters are behind."))
	r = Of(shops(done, condition("CaughtUp", true, "NobodyBehind", "All have it.")), web(), at(10).Time)
	g.Expect([]bool{r.Done, r.CaughtUp}).To(Equal([]bool{true, true}))
	g.Expect(r.Behind).To(BeEmpty())
}

func TestWavesInWords(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var said []string
	for _, w := range Of(shops(), web(), at(10).Time).Waves {
		said = append(said, w.Progress(at(10).Time))
	}
	g.Expect(said).To(Equal([]string{"passed 4m ago", "well for 3m of 10m", "not begun"}))
	g.Expect(Wave{StartedAt: &at(1).Time}.Progress(at(10).Time)).To(Equal("began 9m ago"))
	g.Expect(Wave{StartedAt: &at(1).Time, WellSince: &at(2).Time}.Progress(at(10).Time)).To(Equal("well for 8m"))
	g.Expect(Wave{StartedAt: &at(12).Time}.Progress(at(10).Time)).To(Equal("began 0s ago"), "a clock that is behind")
}

func TestClustersTellTheirRevisionAndWhy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ro := shops(func(ro *fairleadv1alpha1.StagedRollout) {
		ro.Status.Clusters = append(ro.Status.Clusters,
			fairleadv1alpha1.ClusterGroup{State: fairleadv1alpha1.ClusterFailed, Revision: 5, Reason: "Unhealthy", Names: []string{"shop-050"}})
	})
	since := at(7).Time
	all := Clusters(&ro.Status, []string{"shop-100", "shop-001", "shop-010", "shop-044", "shop-050", "shop-new", "shop-100"}, map[string]Sent{
		"shop-001": {ID: revision.ID{Number: 5, Hash: "e"}, Since: since}, "shop-010": {ID: revision.ID{Number: 3, Hash: "c"}},
		"shop-044": {ID: revision.ID{Number: 5, Hash: "e"}}, "shop-050": {ID: revision.ID{Number: 5, Hash: "e"}, PodReasons: []workv1alpha1.PodReason{{Reason: "ImagePullBackOff", Container: "web", Pods: 2, Pod: "web-1"}}},
		"shop-100": {ID: revision.ID{Number: 4, Hash: "d"}}, "other": {ID: revision.ID{Number: 4, Hash: "d"}},
	})
	g.Expect(all).To(Equal([]Cluster{
		{Name: "shop-001", State: "Healthy", Has: 5, Wanted: 5, Since: &since},
		{Name: "shop-010", State: "SetAside", Has: 3, Wanted: 3, Why: "It catches up when it returns; nothing is sent there until then (Silent)."},
		{Name: "shop-044", State: "Lost", Has: 5, Wanted: 5, Why: "It was sent r5 and has been silent since."},
		{Name: "shop-050", State: "Failed", Has: 5, Wanted: 5, Why: "It was sent r5 and failed (Unhealthy). 2 pods: ImagePullBackOff of container web."},
		{Name: "shop-100", State: "Held", Has: 4, Wanted: 4, Why: "It waits for its turn with r4."},
		{Name: "shop-new", State: "Held", Wanted: 4, Why: "It waits for its turn with what it has."},
	}))
}

func TestThoseToBeLookedAtComeFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	groups := Of(shops(), web(), at(10).Time).Groups
	g.Expect(groups).To(HaveLen(3))
	g.Expect(groups[0].State).To(Equal(fairleadv1alpha1.ClusterLost))
	g.Expect(groups[1].Names(2)).To(Equal("shop-010, shop-020 and 1 more"))
	g.Expect(groups[1].Names(3)).To(Equal("shop-010, shop-020, shop-030"))
	g.Expect(States()).To(HaveLen(10), "each state has its place")
}

func TestRevisionsAndTheirClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := Of(shops(func(ro *fairleadv1alpha1.StagedRollout) {
		ro.Status.Revisions = append(ro.Status.Revisions, fairleadv1alpha1.RevisionStatus{Number: 6, Hash: "d", Cause: "Aborted", ContentOf: 4})
	}), web(), at(10).Time)
	r.Count(map[string]int64{"a": 4, "b": 4, "c": 6, "d": 0})
	g.Expect(r.Revisions).To(HaveLen(4))
	g.Expect(r.Revisions[0].Cause).To(Equal("aborted to the content of r4"))
	g.Expect(*r.Revisions[0].Clusters).To(Equal(1))
	g.Expect(*r.Revisions[2].Clusters).To(Equal(2))
	g.Expect(*r.Revisions[3].Clusters).To(BeZero())
}

func TestTheWavesOfAChangeThatIsNotMadeYet(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	targets := make([]*clusterv1alpha1.Cluster, 10)
	for i := range targets {
		targets[i] = builder.MakeCluster(fmt.Sprintf("shop-%d", i)).Label("ring", fmt.Sprint(i)).Obj()
		ready := metav1.Condition{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}
		if i == 0 || i == 9 {
			ready.Status = metav1.ConditionUnknown
		}
		targets[i].Status.Conditions = []metav1.Condition{ready}
	}
	size, half := intstr.FromInt32(1), intstr.FromString("50%")
	strategy := fairleadv1alpha1.RolloutStrategySpec{Waves: []fairleadv1alpha1.Wave{
		{Name: "canary", Size: &size, OrderByLabel: "ring", Soak: &metav1.Duration{Duration: 5 * time.Minute}},
		{Name: "odd", Size: &half, OrderByLabel: "place", MaxFailures: &half, Approval: fairleadv1alpha1.ApprovalAfter},
		{Name: "nobody", Clusters: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"elsewhere"}}},
	}}
	waves := Planned(strategy, "seed", targets)
	g.Expect(waves).To(HaveLen(4))
	g.Expect(waves[0]).To(Equal(PlannedWave{
		Name: "canary", Clusters: []string{"shop-0"}, Silent: []string{"shop-0"}, AtOnce: 1, MustUpdate: 1, Soak: "5m",
		Remark: "It waits until 1 of its clusters are heard from.",
	}))
	g.Expect(waves[1].Clusters).To(HaveLen(5))
	g.Expect(waves[1].MayFail).To(Equal((5 - len(waves[1].Silent)) / 2))
	g.Expect(waves[1].Approval).To(Equal("After"))
	g.Expect(waves[1].Remark).To(Equal("No cluster has the label place that it is ordered by."))
	g.Expect(waves[2].Remark).To(Equal("No cluster is in it: it passes at once."))
	g.Expect(waves[3].Name).To(Equal("rest"))
	g.Expect(waves[3].Clusters).To(HaveLen(4))
}

func TestTheSameContentUnderAnotherNumber(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ro := shops(done, func(ro *fairleadv1alpha1.StagedRollout) {
		ro.Status.Revision, ro.Status.Stable, ro.Status.Clusters = 6, 6, nil
		ro.Status.Revisions = append(ro.Status.Revisions, fairleadv1alpha1.RevisionStatus{Number: 6, Hash: "d", ContentOf: 4})
	})
	all := Clusters(&ro.Status, []string{"a", "b"}, map[string]Sent{"a": {ID: revision.ID{Number: 4, Hash: "d"}}, "b": {ID: revision.ID{Number: 5, Hash: "e"}}})
	g.Expect(all[0].Why).To(Equal("It has the content of r6."))
	g.Expect(all[1].Why).To(Equal("It should have r6."))
}
