package evict

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

func TestWhatIsLeft(t *testing.T) {
	t.Parallel()
	disconnected := func(in *Input) { in.Clusters["edge-1"].Status.Conditions[0].Reason = "AgentDisconnected" }
	lostByCondition := func(in *Input) { in.ByCondition = sets.New("lost") }
	bySilence := func(in *Input) { in.BySilence = sets.New("lost") }
	seenFor := func(seconds int) func(*Input) {
		return func(in *Input) {
			in.SeenFor = map[string]map[string]time.Duration{"edge-1": {"lost": time.Duration(seconds) * time.Second}}
		}
	}
	nowhere := func(in *Input) { in.CouldPlaceWithout = func([]string) bool { return false } }
	of := func(apiVersion, kind string) func(*Input) {
		return func(in *Input) { in.Spec.Resource.APIVersion, in.Spec.Resource.Kind = apiVersion, kind }
	}
	tests := map[string]struct {
		in          Input
		want        []string
		wantReason  string
		wantRecheck time.Duration
	}{
		"nothing without a cause":                          {in: given()},
		"a tainted cluster, at once":                       {in: given(taint("edge-1")), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a cluster that is not a target, never":            {in: given(taint("edge-3"))},
		"a tolerated cluster, later":                       {in: given(taint("edge-1"), tolerated, now(100)), wantRecheck: 200 * time.Second},
		"a tolerated cluster, when its time is over":       {in: given(taint("edge-1"), tolerated, now(300)), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a cluster that is being removed, at once":         {in: given(removed), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"when it is its turn":                              {in: given(taint("edge-1"), func(in *Input) { in.RateLimit = func(string) time.Duration { return time.Second } }), wantRecheck: time.Second},
		"a silent cluster, once the others would be too":   {in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), now(5)), wantRecheck: 10 * time.Second},
		"a lost line, once the others would be silent too": {in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), disconnected, now(5)), wantRecheck: 50 * time.Second},
		"a lost line, after that":                          {in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), disconnected, now(55)), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a silent cluster, after that":                     {in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), now(15)), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a silent cluster that a person tainted, at once":  {in: given(taint("edge-1"), ready("edge-1", "Unknown"), now(5)), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a lost line that is tolerated for a while, later": {in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), disconnected, tolerated, now(300)), wantRecheck: 40 * time.Second},
		"a lost line that is tolerated for a while, when it and the silence are over": {
			in:   given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), disconnected, tolerated, now(340)),
			want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute,
		},
		"a silent cluster whose taint is older than it was seen for, in its time": {
			in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), tolerated, now(3600), seenFor(20)), wantRecheck: 280 * time.Second,
		},
		"a lost line whose taint is older than it was seen for, later": {
			in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), disconnected, tolerated, now(3600), seenFor(20)), wantRecheck: 320 * time.Second,
		},
		"and then it is left": {
			in:   given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), tolerated, now(3600), seenFor(300)),
			want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute,
		},
		"a silent cluster whose taint was seen for longer than it says, as it says": {
			in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), tolerated, now(100), seenFor(3600)), wantRecheck: 200 * time.Second,
		},
		"a lost line of which nothing is said, later": {in: given(taint("edge-1"), lostByCondition, bySilence, ready("edge-1", "Unknown"), disconnected, now(339)), wantRecheck: time.Second},
		"a cluster that was tainted before its line was lost, in its time": {
			in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), disconnected, tolerated, now(300), func(in *Input) {
				in.Clusters["edge-1"].Status.Conditions[0].LastTransitionTime = metav1.NewTime(second(100))
			}),
			want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute,
		},
		"a lost line of a cluster that a person tainted, in its time": {
			in:   given(taint("edge-1"), ready("edge-1", "Unknown"), disconnected, tolerated, now(300)),
			want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute,
		},
		"not if the hub suspects itself": {
			in:         given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), now(60), suspended),
			wantReason: "HubSuspectsItself",
		},
		"but if a person says so": {
			in:   given(taint("edge-1"), ready("edge-1", "Unknown"), now(60), suspended),
			want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute,
		},
		"and if a person says so of one that a policy tainted as well": {
			in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), now(60), suspended, func(in *Input) {
				in.Clusters["edge-1"].Spec.Taints = append(in.Clusters["edge-1"].Spec.Taints, corev1.Taint{Key: "by-hand", Effect: corev1.TaintEffectNoExecute})
			}),
			want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute,
		},
		"not because of a taint that is about to go":              {in: given(taint("edge-1"), lostByCondition, func(in *Input) { in.Expiring = map[string]sets.Set[string]{"edge-1": sets.New("lost")} })},
		"not for a policy if there is no other place":             {in: given(taint("edge-1"), lostByCondition, nowhere), wantReason: "NowhereToGo", wantRecheck: time.Minute},
		"not for a policy if nobody looks for another place":      {in: given(taint("edge-1"), lostByCondition, func(in *Input) { in.Unscheduled = true })},
		"for a person although there is none":                     {in: given(taint("edge-1"), nowhere), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"not for a policy if it is meant for every cluster":       {in: given(taint("edge-1"), lostByCondition, duplicated)},
		"for a person although it is":                             {in: given(taint("edge-1"), duplicated), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a definition of custom resources, never":                 {in: given(taint("edge-1"), of("apiextensions.k8s.io/v1", "CustomResourceDefinition"))},
		"a namespace, never":                                      {in: given(taint("edge-1"), of("v1", "Namespace"))},
		"but both when the cluster is being removed":              {in: given(removed, of("v1", "Namespace")), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a silent cluster, after five minutes if nothing is said": {in: given(taint("edge-1"), lostByCondition, bySilence, ready("edge-1", "Unknown"), now(299)), wantRecheck: time.Second},
		"a silent cluster, when these are over":                   {in: given(taint("edge-1"), lostByCondition, bySilence, ready("edge-1", "Unknown"), now(300)), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"a silent cluster, as the policy says": {
			in:   given(taint("edge-1"), lostByCondition, bySilence, ready("edge-1", "Unknown"), now(15), tolerated, func(in *Input) { in.Tolerations[0].TolerationSeconds = new(int64(0)) }),
			want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute,
		},
		"a silent cluster, not directly: the copy cannot go first": {
			in: given(taint("edge-1"), lostByCondition, ready("edge-1", "Unknown"), now(15), func(in *Input) { in.Options.PurgeMode = policyv1alpha1.PurgeDirectly }), wantReason: "WaitingForOldCopy",
		},
		"not if the state cannot be read": {
			in: given(taint("edge-1"), func(in *Input) {
				in.Spec.Failover = &policyv1alpha1.FailoverBehavior{Cluster: &policyv1alpha1.ClusterFailoverBehavior{
					PurgeMode:         policyv1alpha1.PurgeDirectly,
					StatePreservation: &policyv1alpha1.StatePreservation{Rules: make([]policyv1alpha1.StatePreservationRule, 1)},
				}}
				in.State = func(string, []policyv1alpha1.StatePreservationRule) (map[string]string, error) {
					return nil, errors.New("no")
				}
			}),
			wantReason: "StateNotPreserved", wantRecheck: 15 * time.Second,
		},
		"an unhealthy application, not without a rule":            {in: given(report("edge-1", workv1alpha1.Unhealthy, 0))},
		"an unhealthy application of a kind without rules, never": {in: given(failover(nil), unhealthySince("edge-1", 0), now(60), func(in *Input) { in.HasHealthRule = false })},
		"an unhealthy application, not at once":                   {in: given(failover(nil), report("edge-1", workv1alpha1.Unhealthy, 0)), wantRecheck: time.Minute},
		"an unhealthy application, after a while":                 {in: given(failover(nil), unhealthySince("edge-1", 0), now(60)), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"an application of which nothing is known, never":         {in: given(failover(nil), unhealthySince("edge-1", 0), report("edge-1", workv1alpha1.Unknown, 0), now(60))},
		"an application that was not applied, never":              {in: given(failover(nil), unhealthySince("edge-1", 0), now(60), func(in *Input) { in.Status.AggregatedStatus[0].Applied = false })},
		"an unhealthy application of a silent cluster, never":     {in: given(failover(nil), unhealthySince("edge-1", 0), ready("edge-1", "Unknown"), now(60))},
		"an unhealthy application that has nowhere to go, never":  {in: given(failover(nil), unhealthySince("edge-1", 0), now(60), func(in *Input) { in.CouldPlaceWithout = func([]string) bool { return false } }), wantReason: "NowhereToGo", wantRecheck: time.Minute},
		"an application that a rollout made unhealthy, never":     {in: given(failover(nil), unhealthySince("edge-1", 0), now(60), func(in *Input) { in.Unproven = func(cluster string) bool { return cluster == "edge-1" } }), wantReason: "RolloutJudges", wantRecheck: time.Minute},
		"what is unhealthy on a revision that is stable":          {in: given(failover(nil), unhealthySince("edge-1", 0), now(60), func(in *Input) { in.Unproven = func(cluster string) bool { return cluster == "edge-2" } }), want: []string{"edge-1"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"every cluster in which it is unhealthy, together":        {in: given(failover(nil), unhealthySince("edge-1", 0), unhealthySince("edge-2", 0), now(60)), want: []string{"edge-1", "edge-2"}, wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			var got []string
			for _, e := range d.Evictions {
				got = append(got, e.Cluster)
			}
			g.Expect(got).To(Equal(tc.want))
			g.Expect(d.RecheckAfter).To(Equal(tc.wantRecheck))
			g.Expect(d.Ended).To(BeEmpty())
			if tc.wantReason == "" {
				g.Expect(d.Condition).To(BeNil())
			} else {
				g.Expect(d.Condition).NotTo(BeNil())
				g.Expect(d.Condition.Reason).To(Equal(tc.wantReason))
			}
		})
	}
}

func TestWhatATaskSays(t *testing.T) {
	t.Parallel()
	by := func(mode policyv1alpha1.PurgeMode) func(*Input) {
		return func(in *Input) {
			in.Spec.Failover = &policyv1alpha1.FailoverBehavior{Cluster: &policyv1alpha1.ClusterFailoverBehavior{PurgeMode: mode}}
		}
	}
	app := func(mode policyv1alpha1.PurgeMode) Input {
		return given(failover(func(f *policyv1alpha1.ApplicationFailoverBehavior) {
			f.PurgeMode, f.GracePeriodSeconds = mode, new(int32(30))
			f.StatePreservation = &policyv1alpha1.StatePreservation{Rules: make([]policyv1alpha1.StatePreservationRule, 1)}
		}), unhealthySince("edge-1", 0), now(60), func(in *Input) {
			in.State = func(string, []policyv1alpha1.StatePreservationRule) (map[string]string, error) {
				return map[string]string{"job": "7"}, nil
			}
		})
	}
	taints := workv1alpha2.GracefulEvictionTask{
		FromCluster: "edge-1", Replicas: new(int32(2)), PurgeMode: policyv1alpha1.PurgeGracefully, CreationTimestamp: &metav1.Time{Time: start},
		Reason: "TaintUntolerated", Producer: "TaintManager", Message: "Cluster edge-1 has taint lost:NoExecute, which the policy does not tolerate.",
	}
	directly := taints
	directly.PurgeMode = policyv1alpha1.PurgeDirectly
	failed := workv1alpha2.GracefulEvictionTask{
		FromCluster: "edge-1", Replicas: new(int32(2)), CreationTimestamp: &metav1.Time{Time: second(60)},
		Reason: "ApplicationFailure", Producer: "resource-binding-application-failover-controller",
		Message:                "The application has not been healthy in cluster edge-1 for more than 60 s.",
		ClustersBeforeFailover: []string{"edge-1", "edge-2"}, PreservedLabelState: map[string]string{"job": "7"},
	}
	at, stays := failed, failed
	stays.PreservedLabelState, stays.ClustersBeforeFailover = nil, nil
	stays.Message += " Its state does not go along: with statePreservation that takes purgeMode Directly."
	gracefully, never, nothing := stays, stays, stays
	nothing.PurgeMode, nothing.Message = policyv1alpha1.PurgeDirectly, failed.Message
	stateless := app(policyv1alpha1.PurgeDirectly)
	stateless.Spec.Failover.Application.StatePreservation = nil
	gracefully.PurgeMode, gracefully.GracePeriodSeconds = policyv1alpha1.PurgeGracefully, new(int32(30))
	at.PurgeMode = policyv1alpha1.PurgeDirectly
	never.PurgeMode, never.SuppressDeletion = policyv1alpha1.PurgeNever, new(true)
	tests := map[string]struct {
		in   Input
		want workv1alpha2.GracefulEvictionTask
	}{
		"a taint":                                {given(taint("edge-1")), taints},
		"a taint, as the policy says":            {given(taint("edge-1"), by(policyv1alpha1.PurgeDirectly)), directly},
		"a taint, as the policy says of old":     {given(taint("edge-1"), by(policyv1alpha1.PurgeImmediately)), directly},
		"a taint, as the hub says":               {given(taint("edge-1"), func(in *Input) { in.Options.PurgeMode = policyv1alpha1.PurgeDirectly }), directly},
		"a failure":                              {app(""), gracefully},
		"a failure that is purged at once":       {app(policyv1alpha1.PurgeDirectly), at},
		"a failure without a state":              {stateless, nothing},
		"a failure whose old copy is never gone": {app(policyv1alpha1.PurgeNever), never},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			g.Expect(d.Evictions).To(HaveLen(1))
			g.Expect(d.Evictions[0].Task).To(BeComparableTo(tc.want))
			clusters, tasks := Apply(tc.in.Spec, &d, tc.in.Now)
			g.Expect(clusters).To(Equal([]workv1alpha2.TargetCluster{target("edge-2", 2)}))
			g.Expect(tasks).To(HaveLen(1))
		})
	}
}

func TestWhenATaskEnds(t *testing.T) {
	t.Parallel()
	moved := targets(target("edge-2", 2), target("edge-3", 2))
	short := targets(target("edge-2", 2))
	healthy := report("edge-3", workv1alpha1.Healthy, 2)
	lost := taint("edge-1")
	silent := ready("edge-1", "Unknown")
	again := func(in *Input) { in.WouldReturn = func(cluster string) bool { return cluster == "edge-1" } }
	vanished := func(in *Input) { delete(in.Works, "edge-1") }
	spread := func(in *Input) { in.Spec.Placement.SpreadConstraints = make([]policyv1alpha1.SpreadConstraint, 1) }
	mode := func(m policyv1alpha1.PurgeMode) func(*workv1alpha2.GracefulEvictionTask) {
		return func(task *workv1alpha2.GracefulEvictionTask) { task.PurgeMode = m }
	}
	preferred := func(task *workv1alpha2.GracefulEvictionTask) { task.Producer = workv1alpha2.ProducerScheduler }
	// Meanwhile something happens to the cluster.
	removedLate := func(in *Input) { in.Clusters["edge-1"].DeletionTimestamp = &metav1.Time{Time: second(3000)} }
	taintedLate := func(in *Input) {
		taint("edge-1")(in)
		in.Clusters["edge-1"].Spec.Taints[0].TimeAdded = &metav1.Time{Time: second(3000)}
	}
	timeless := func(in *Input) { in.Clusters["edge-1"].Spec.Taints[0].TimeAdded = nil }
	lapsed := func(in *Input) {
		in.ByCondition, in.Expiring = sets.New("lost"), map[string]sets.Set[string]{"edge-1": sets.New("lost")}
	}
	ill := report("edge-2", workv1alpha1.Unhealthy, 0)
	before := []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)}
	remembered := func(in *Input) { in.Past = append(in.Past, workv1alpha2.Eviction{From: "edge-1", Before: before}) }
	overQuota := func(in *Input) {
		scheduled("QuotaExceeded")(in)
		in.Status.SchedulerObservedGeneration = 2
	}
	over := func(in *Input) {
		in.Past = append(in.Past, workv1alpha2.Eviction{From: "edge-1", Ended: &metav1.Time{Time: start}, To: []string{"edge-2"}})
	}
	grown := func(in *Input) {
		in.Past = []workv1alpha2.Eviction{{From: "edge-1", Before: in.Spec.Clusters}}
		targets(target("edge-2", 4))(in)
		report("edge-2", workv1alpha1.Healthy, -1)(in)
	}
	tests := map[string]struct {
		in          Input
		want        string
		wantReason  string
		wantRecheck time.Duration
	}{
		"when every target is healthy":                   {in: given(lost, task(), moved, healthy), want: workv1alpha2.EvictionReplaced},
		"not while one is not":                           {in: given(lost, task(), moved, report("edge-3", workv1alpha1.Unhealthy, 0)), wantReason: "WaitingForReplacement"},
		"not while one has not reported":                 {in: given(lost, task(), moved), wantReason: "WaitingForReplacement"},
		"not while one is silent, whatever it said last": {in: given(lost, task(), moved, healthy, ready("edge-3", "Unknown")), wantReason: "WaitingForReplacement"},
		"not while one has not reported since it is heard from again": {
			in:         given(lost, task(), moved, healthy, func(in *Input) { in.item("edge-3").StaleSince = &metav1.Time{Time: start} }),
			wantReason: "WaitingForReplacement",
		},
		"not while one has not got all of its replicas":                            {in: given(lost, task(), targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 2)), wantReason: "WaitingForReplacement"},
		"after a while also if it counts fewer":                                    {in: given(lost, task(), targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 2), now(30)), want: workv1alpha2.EvictionReplaced},
		"of what counts no replicas, when it is applied":                           {in: given(lost, task(), moved, report("edge-3", workv1alpha1.Healthy, -1)), want: workv1alpha2.EvictionReplaced},
		"when who took its place is healthy, though another is not":                {in: given(lost, task(), remembered, moved, healthy, ill), want: workv1alpha2.EvictionReplaced},
		"not while who took its place is not healthy, though all others are":       {in: given(lost, task(), remembered, moved), wantReason: "WaitingForReplacement"},
		"not while one is not healthy, if it is not known who took its place":      {in: given(lost, task(), moved, healthy, ill), wantReason: "WaitingForReplacement"},
		"not while one is not healthy, if nobody took its place":                   {in: given(lost, task(), remembered, ill, targets(target("edge-2", 2)), func(in *Input) { in.Spec.Replicas = 2 }), wantReason: "WaitingForReplacement"},
		"not while who took the place is not healthy of one that left before it":   {in: given(lost, task(), over, remembered, moved), wantReason: "WaitingForReplacement"},
		"not before the scheduler has looked":                                      {in: given(lost, task(), moved, healthy, func(in *Input) { in.Status.SchedulerObservedGeneration = 2 }), wantReason: "WaitingForReplacement"},
		"not while replicas have no cluster":                                       {in: given(lost, task(), short, now(599)), wantReason: "WaitingForReplacement"},
		"not for its age while replicas have no cluster":                           {in: given(lost, task(), short, now(600)), wantReason: "WaitingForRoom"},
		"for its age although others are not healthy":                              {in: given(lost, task(), moved, now(600)), want: workv1alpha2.EvictionTimedOut},
		"not for its age while the new ones are young":                             {in: given(lost, task(), moved, now(600), func(in *Input) { in.Status.LastScheduledTime = &metav1.Time{Time: second(300)} }), wantReason: "WaitingForReplacement"},
		"for the age that its policy says":                                         {in: given(lost, task(func(t *workv1alpha2.GracefulEvictionTask) { t.GracePeriodSeconds = new(int32(5)) }), moved, now(5)), want: workv1alpha2.EvictionTimedOut},
		"for the age that the hub says":                                            {in: given(lost, task(), moved, now(5), func(in *Input) { in.Options.Grace = 5 * time.Second }), want: workv1alpha2.EvictionTimedOut},
		"for its age, if the copy is gone anyway":                                  {in: given(lost, vanished, task(mode(policyv1alpha1.PurgeDirectly)), short, now(600)), want: workv1alpha2.EvictionTimedOut},
		"never before the copy is gone that was to go first":                       {in: given(lost, task(mode(policyv1alpha1.PurgeDirectly)), moved, healthy, now(6000)), wantReason: "WaitingForOldCopy"},
		"when the copy is gone that was to go first":                               {in: given(lost, vanished, task(mode(policyv1alpha1.PurgeDirectly)), moved, healthy), want: workv1alpha2.EvictionReplaced},
		"not by fewer replicas that were counted before":                           {in: given(lost, task(), targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 2), now(300), func(in *Input) { in.Works["edge-2"] = Work{} }), wantReason: "WaitingForReplacement"},
		"not for its age while the scheduler finds no place":                       {in: given(duplicated, spread, lost, task(), targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), scheduled("Unschedulable"), now(6000)), wantReason: "WaitingForRoom"},
		"when it is back and the scheduler found no place":                         {in: given(duplicated, spread, task(), targets(target("edge-2", 4)), scheduled("Unschedulable")), want: workv1alpha2.EvictionReturned},
		"not when it is back and the scheduler found another":                      {in: given(duplicated, spread, task(), targets(target("edge-2", 4), target("edge-3", 4))), wantReason: "WaitingForReplacement"},
		"when the cluster is being removed and is silent":                          {in: given(removed, silent, task(), short), want: workv1alpha2.EvictionGone},
		"not when it is being removed and there is no room yet":                    {in: given(removed, task(), short, scheduled("Unschedulable"), now(600)), wantReason: "WaitingForRoom"},
		"when it is being removed and nothing else can have it":                    {in: given(removed, task(), targets(), scheduled("NoClusterFit")), want: workv1alpha2.EvictionAbandoned},
		"when it is being removed and nobody looks for another place":              {in: given(removed, task(), short, func(in *Input) { in.Unscheduled = true }), want: workv1alpha2.EvictionAbandoned},
		"never, if that is what was said":                                          {in: given(lost, task(mode(policyv1alpha1.PurgeNever)), moved, healthy, now(6000)), wantReason: "OldCopyKept"},
		"never, if somebody suppresses it":                                         {in: given(lost, task(func(t *workv1alpha2.GracefulEvictionTask) { t.SuppressDeletion = new(true) }), moved, healthy), wantReason: "OldCopyKept"},
		"when somebody lets it go":                                                 {in: given(lost, task(mode(policyv1alpha1.PurgeNever), func(t *workv1alpha2.GracefulEvictionTask) { t.SuppressDeletion = new(false) }), moved), want: workv1alpha2.EvictionReleased},
		"when the cluster is gone":                                                 {in: given(task(mode(policyv1alpha1.PurgeNever)), moved, func(in *Input) { delete(in.Clusters, "edge-1") }), want: workv1alpha2.EvictionGone},
		"when the cluster is back before anything took its place":                  {in: given(task(), short), want: workv1alpha2.EvictionReturned},
		"not when it is back too late":                                             {in: given(task(), moved), wantReason: "WaitingForReplacement"},
		"not when it is back and still tainted":                                    {in: given(task(), short, taint("edge-1")), wantReason: "WaitingForReplacement"},
		"not when it is not heard from":                                            {in: given(task(), short, silent), wantReason: "WaitingForCluster"},
		"not by time when nobody needed the move":                                  {in: given(task(preferred), moved, now(3600)), wantReason: "WaitingForReplacement"},
		"not while the scheduler has yet to look for a place":                      {in: given(task(preferred), short), wantReason: "WaitingForReplacement"},
		"when what was to go where it is preferred found no place after all":       {in: given(task(preferred), short, scheduled("Unschedulable")), want: workv1alpha2.EvictionReturned},
		"when it works where it is preferred":                                      {in: given(task(preferred), moved, healthy), want: workv1alpha2.EvictionReplaced},
		"when every target is healthy, and a quota forbids what it asks for since": {in: given(task(), moved, healthy, overQuota), want: workv1alpha2.EvictionReplaced},
		"for its age, and a quota forbids what it asks for since":                  {in: given(lost, task(), moved, overQuota, now(600)), want: workv1alpha2.EvictionTimedOut},
		"not when a quota forbade a place for some replicas":                       {in: given(lost, task(), short, overQuota, now(600)), wantReason: "WaitingForRoom"},
		"of what is not divided, when a quota forbids what it asks for since": {
			in:   given(duplicated, spread, task(), remembered, targets(target("edge-2", 4), target("edge-3", 4)), report("edge-2", workv1alpha1.Healthy, 4), report("edge-3", workv1alpha1.Healthy, 4), overQuota),
			want: workv1alpha2.EvictionReplaced,
		},
		"not of what is not divided, when a quota forbade another place": {
			in:         given(duplicated, spread, lost, task(), remembered, targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), overQuota),
			wantReason: "WaitingForReplacement",
		},
		"not when a quota forbids the place that is preferred":                          {in: given(task(preferred), short, scheduled("QuotaExceeded")), wantReason: "WaitingForReplacement"},
		"not when the placement cannot be used any more":                                {in: given(task(preferred), short, scheduled("SchedulerError")), wantReason: "WaitingForReplacement"},
		"not at once when the cluster is removed that nobody needed to leave":           {in: given(task(preferred), moved, removedLate, now(3599)), wantReason: "WaitingForReplacement", wantRecheck: time.Second},
		"in its time when the cluster is removed that nobody needed to leave":           {in: given(task(preferred), moved, removedLate, now(3600)), want: workv1alpha2.EvictionTimedOut},
		"not at once when the cluster is tainted that nobody needed to leave":           {in: given(task(preferred), moved, taintedLate, now(3599)), wantReason: "WaitingForReplacement", wantRecheck: time.Second},
		"in its time when the cluster is tainted that nobody needed to leave":           {in: given(task(preferred), moved, taintedLate, now(3600)), want: workv1alpha2.EvictionTimedOut},
		"not while the taint is tolerated":                                              {in: given(task(preferred), moved, taintedLate, tolerated, now(3100)), wantReason: "WaitingForReplacement", wantRecheck: 200 * time.Second},
		"not at once when the toleration is over":                                       {in: given(task(preferred), moved, taintedLate, tolerated, now(3899)), wantReason: "WaitingForReplacement", wantRecheck: time.Second},
		"in its time when the toleration is over":                                       {in: given(task(preferred), moved, taintedLate, tolerated, now(3900)), want: workv1alpha2.EvictionTimedOut},
		"not before it is known since when the taint is there":                          {in: given(task(preferred), moved, taint("edge-1"), timeless, now(3600)), wantReason: "WaitingForReplacement", wantRecheck: 10 * time.Minute},
		"not because of a taint that is about to go":                                    {in: given(task(preferred), moved, taintedLate, lapsed, now(6000)), wantReason: "WaitingForReplacement"},
		"not because of a taint while nobody needed the move and the cluster is silent": {in: given(task(preferred), moved, taintedLate, silent, now(6000)), wantReason: "WaitingForCluster"},
		"not while the cluster is silent, though every target is healthy":               {in: given(lost, silent, task(), moved, healthy), wantReason: "WaitingForCluster"},
		"not for its age while the cluster is silent":                                   {in: given(lost, silent, task(), moved, now(6000)), wantReason: "WaitingForCluster"},
		"not for its age just when the cluster is heard from again": {in: given(lost, task(), moved, now(600), func(in *Input) {
			in.HeardSince["edge-1"] = second(590)
		}), wantReason: "WaitingForReplacement", wantRecheck: 590 * time.Second},
		"not for its age when the taint is gone":                              {in: given(task(), moved, now(6000)), wantReason: "WaitingForReplacement"},
		"not while the taint is about to go":                                  {in: given(lost, lapsed, task(), moved, healthy), wantReason: "WaitingForReplacement"},
		"not while the scheduler would choose the cluster again":              {in: given(task(), moved, healthy, again), wantReason: "WaitingForReplacement", wantRecheck: time.Minute},
		"not before a larger share of what counts no replicas can be healthy": {in: given(lost, task(), grown), wantReason: "WaitingForReplacement", wantRecheck: 30 * time.Second},
		"not before a larger share of what counts no replicas is there":       {in: given(lost, task(), grown, now(300), func(in *Input) { in.Works["edge-2"] = Work{} }), wantReason: "WaitingForReplacement"},
		"when a larger share of what counts no replicas is healthy":           {in: given(lost, task(), grown, now(30)), want: workv1alpha2.EvictionReplaced},
		"when what goes everywhere is back":                                   {in: given(duplicated, task(), targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4)), want: workv1alpha2.EvictionReturned},
		"of what goes everywhere, when the others are healthy":                {in: given(duplicated, lost, task(), targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4)), want: workv1alpha2.EvictionReplaced},
		"of the only copy, never for its age":                                 {in: given(duplicated, lost, task(), targets(), now(6000)), wantReason: "WaitingForRoom"},
		"when the application is well again that had to leave":                {in: given(task(func(t *workv1alpha2.GracefulEvictionTask) { t.Producer = workv1alpha2.ProducerApplicationFailover }), short), want: workv1alpha2.EvictionReturned},
		"not while the application is unwell that had to leave":               {in: given(task(func(t *workv1alpha2.GracefulEvictionTask) { t.Producer = workv1alpha2.ProducerApplicationFailover }), short, report("edge-1", workv1alpha1.Unhealthy, 0)), wantReason: "WaitingForReplacement"},
		"not when somebody else made it, and there is no room left":           {in: given(task(func(t *workv1alpha2.GracefulEvictionTask) { t.Producer = "somebody" }), short), wantReason: "WaitingForReplacement"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			g.Expect(d.Evictions).To(BeEmpty())
			if tc.want == "" {
				g.Expect(d.Ended).To(BeEmpty())
				g.Expect(d.Condition.Reason).To(Equal(tc.wantReason))
				if tc.wantRecheck > 0 {
					g.Expect(d.RecheckAfter).To(Equal(tc.wantRecheck))
				}
				return
			}
			g.Expect(d.Ended).To(HaveLen(1))
			g.Expect(d.Ended[0].How).To(Equal(tc.want))
			g.Expect(d.Condition).To(BeNil())
			clusters, tasks := Apply(tc.in.Spec, &d, tc.in.Now)
			g.Expect(tasks).To(BeEmpty())
			if tc.want == workv1alpha2.EvictionReturned {
				g.Expect(clusters).To(ContainElement(HaveField("Name", "edge-1")))
			} else {
				g.Expect(clusters).To(BeComparableTo(tc.in.Spec.Clusters))
			}
		})
	}
}

func TestATaskOfSomebodyElseIsToldSinceWhenItIsThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := given(task(func(t *workv1alpha2.GracefulEvictionTask) { t.CreationTimestamp, t.Producer = nil, "somebody" }),
		targets(target("edge-2", 2), target("edge-3", 2)))
	d := Decide(in)
	g.Expect(d.Changes()).To(BeTrue())
	_, tasks := Apply(in.Spec, &d, in.Now)
	g.Expect(tasks[0].CreationTimestamp.Time).To(Equal(start))
	g.Expect(in.Spec.GracefulEvictionTasks[0].CreationTimestamp).To(BeNil(), "what is given stays as it is")
}

func TestAnApplicationDoesNotGoToAndFro(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var asked [][]string
	elsewhere := func(in *Input) {
		in.CouldPlaceWithout = func(without []string) bool { asked = append(asked, without); return len(without) < 3 }
	}
	in := given(failover(nil), unhealthySince("edge-1", 0), targets(target("edge-1", 4)), now(60), elsewhere)
	d := Decide(in)
	g.Expect(d.Evictions).To(HaveLen(1))
	past := Remember(&in, &d)
	g.Expect(workv1alpha2.FailedIn(past, "7", in.Now)).To(Equal([]string{"edge-1"}))

	again := given(failover(nil), targets(target("edge-2", 4)), now(200), elsewhere, unhealthySince("edge-2", 100))
	again.Past = past
	d = Decide(again)
	g.Expect(d.Evictions).To(HaveLen(1))
	past = Remember(&again, &d)
	once := given(failover(nil), targets(target("edge-3", 4)), now(400), elsewhere, unhealthySince("edge-3", 300))
	once.Past = past
	d = Decide(once)
	g.Expect(d.Evictions).To(BeEmpty(), "it has failed everywhere")
	g.Expect(asked).To(Equal([][]string{{"edge-1"}, {"edge-1", "edge-2"}, {"edge-1", "edge-2", "edge-3"}}))

	once.Spec.Resource.ResourceVersion = "8"
	g.Expect(Decide(once).Evictions).To(BeEmpty(), "another version gets its time")
	once.Memory.Template = "8"
	g.Expect(Decide(once).Evictions).To(HaveLen(1), "and may go to all of them")
}

func TestWhatIsRememberedOfAnEviction(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := metav1.NewTime(start)
	in := given(taint("edge-1"))
	d := Decide(in)
	past := Remember(&in, &d)
	g.Expect(past).To(Equal([]workv1alpha2.Eviction{{
		From: "edge-1", At: at, Reason: "TaintUntolerated", Message: "Cluster edge-1 has taint lost:NoExecute, which the policy does not tolerate.",
		Template: "7", Before: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)},
	}}))

	in = given(taint("edge-1"), task(), targets(target("edge-2", 2), target("edge-3", 2)), now(5))
	in.Past = past
	d = Decide(in)
	g.Expect(Remember(&in, &d)).To(Equal(past), "it is under way")
	report("edge-3", workv1alpha1.Healthy, 2)(&in)
	d = Decide(in)
	over := Remember(&in, &d)
	g.Expect(over).To(HaveLen(1))
	g.Expect(over[0].To).To(Equal([]string{"edge-3"}))
	g.Expect(over[0].How).To(Equal("Replaced"))
	g.Expect(over[0].Ended.Time).To(Equal(second(5)))
	g.Expect(over[0].Before).To(BeEmpty())
	g.Expect(past[0].Ended).To(BeNil(), "what is given stays as it is")

	in.Spec.GracefulEvictionTasks = nil
	in.Past = past
	g.Expect(Remember(&in, &Decision{})[0].How).To(Equal("Released"), "somebody removed the task")
}

func TestTheCopyInAClusterThatIsBackTakesItsPlaceAgain(t *testing.T) {
	t.Parallel()
	was := []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)}
	past := func(in *Input) { in.Past = []workv1alpha2.Eviction{{From: "edge-1", Before: was}} }
	spread := func(in *Input) { in.Spec.Placement.SpreadConstraints = make([]policyv1alpha1.SpreadConstraint, 1) }
	lineLost := func(in *Input) {
		in.Clusters["edge-2"].Status.Conditions[0].Reason = clusterv1alpha1.ReasonAgentDisconnected
	}
	stale := func(in *Input) { in.item("edge-3").StaleSince = &metav1.Time{Time: start} }
	noRoom := func(in *Input) { in.item("edge-3").AppliedMessage = bindings.TooLargePrefix + "9 bytes" }
	whole := targets(target("edge-2", 4), target("edge-3", 4))
	almost := report("edge-3", workv1alpha1.Unhealthy, 3)
	ill := report("edge-1", workv1alpha1.Unhealthy, 0)
	tests := map[string]struct {
		in          Input
		want        []workv1alpha2.TargetCluster // nil: the task lasts
		wantRecheck time.Duration
	}{
		"from what is not healthy yet": {
			in:   given(task(), past, targets(target("edge-2", 2), target("edge-3", 2))),
			want: was,
		},
		"from what has grown and is not healthy with that": {
			in:   given(task(), past, targets(target("edge-2", 4))),
			want: was,
		},
		"from what is silent by now": {
			in:   given(task(), past, targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), ready("edge-2", "Unknown")),
			want: was,
		},
		"from what has been silent for long enough since its line was lost": {
			in:   given(task(), past, targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), ready("edge-2", "Unknown"), lineLost, now(40)),
			want: was,
		},
		"not from what works and whose line was lost a moment ago": {
			in:          given(task(), past, targets(target("edge-2", 4)), report("edge-2", workv1alpha1.Healthy, 4), ready("edge-2", "Unknown"), lineLost, now(3)),
			wantRecheck: 37 * time.Second,
		},
		"not in part either, as long as nobody knows of the other": {
			in:          given(task(), past, targets(target("edge-2", 3), target("edge-3", 1)), ready("edge-2", "Unknown"), lineLost, now(3)),
			wantRecheck: 37 * time.Second,
		},
		"not from what has not reported since it is heard from again": {
			in: given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Unhealthy, 0), stale),
		},
		"not from what says more than the binding has room for": {
			in: given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Unhealthy, -1), noRoom),
		},
		"nor of what is not divided": {
			in: given(duplicated, spread, task(), past, whole, report("edge-3", workv1alpha1.Unhealthy, -1), noRoom, ill, now(60)),
		},
		"as far as the other has not got ready, whatever the copy is like": {
			in:   given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Unhealthy, 1), ill),
			want: []workv1alpha2.TargetCluster{target("edge-1", 1), target("edge-2", 2), target("edge-3", 1)},
		},
		"not if all that the other lacks was its own before": {
			in: given(task(), past, targets(target("edge-2", 3), target("edge-3", 1)), report("edge-2", workv1alpha1.Unhealthy, 3), report("edge-3", workv1alpha1.Unhealthy, 1)),
		},
		"not of what is not divided while some of the other is ready and the copy is not healthy": {
			in: given(duplicated, spread, task(), past, whole, almost, ill, now(60)),
		},
		"not of what is not divided while the copy may be as it was before": {
			in: given(duplicated, spread, task(), past, whole, almost, now(10)), wantRecheck: 20 * time.Second,
		},
		"of what is not divided when the copy is healthy and the other is not": {
			in:   given(duplicated, spread, task(), past, whole, almost, now(30)),
			want: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 4)},
		},
		"of what is not divided when nothing of the other is ready": {
			in:   given(duplicated, spread, task(), past, whole, report("edge-3", workv1alpha1.Unhealthy, 0), ill),
			want: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 4)},
		},
		"and leaves what is healthy": {
			in:   given(task(), past, targets(target("edge-2", 3), target("edge-3", 1)), report("edge-2", workv1alpha1.Healthy, 3)),
			want: []workv1alpha2.TargetCluster{target("edge-1", 1), target("edge-2", 3)},
		},
		"as a whole cluster of what is not divided": {
			in:   given(duplicated, spread, task(), past, targets(target("edge-2", 4), target("edge-3", 4)), report("edge-2", workv1alpha1.Healthy, 4)),
			want: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 4)},
		},
		"not from who had it before, however unhealthy": {
			in: given(task(), past, targets(target("edge-2", 2), target("edge-3", 2)), report("edge-2", workv1alpha1.Unhealthy, 0), report("edge-3", workv1alpha1.Healthy, 2),
				func(in *Input) { in.WouldReturn = func(string) bool { return true } }),
		},
		"not while it is tainted": {in: given(task(), past, taint("edge-1"), targets(target("edge-2", 4)))},
		"not if it was to go at once": {
			in: given(task(func(t *workv1alpha2.GracefulEvictionTask) { t.PurgeMode = policyv1alpha1.PurgeDirectly }), past, targets(target("edge-2", 4))),
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			clusters, tasks := Apply(tc.in.Spec, &d, tc.in.Now)
			if tc.want == nil {
				g.Expect(tasks).To(HaveLen(1))
				g.Expect(d.Withdrawn).To(BeEmpty())
				if tc.wantRecheck > 0 {
					g.Expect(d.RecheckAfter).To(Equal(tc.wantRecheck))
				}
				return
			}
			g.Expect(d.Ended).To(HaveLen(1))
			g.Expect(d.Ended[0].How).To(Equal(workv1alpha2.EvictionReturned))
			g.Expect(tasks).To(BeEmpty())
			g.Expect(clusters).To(BeComparableTo(tc.want))
		})
	}
}

// TestByWhoseStateATaskEnds holds which clusters are to be read live before.
func TestByWhoseStateATaskEnds(t *testing.T) {
	t.Parallel()
	past := func(in *Input) {
		in.Past = []workv1alpha2.Eviction{{From: "edge-1", Before: []workv1alpha2.TargetCluster{target("edge-1", 2), target("edge-2", 2)}}}
	}
	moved, healthy := targets(target("edge-2", 2), target("edge-3", 2)), report("edge-3", workv1alpha1.Healthy, 2)
	for name, tc := range map[string]struct {
		in      Input
		how     string
		restsOn []string
	}{
		"by what took the place":                 {given(taint("edge-1"), task(), past, moved, healthy), "Replaced", []string{"edge-1", "edge-3"}},
		"by all if it is not known what did":     {given(taint("edge-1"), task(), moved, healthy), "Replaced", []string{"edge-1", "edge-2", "edge-3"}},
		"by what was to take the place":          {given(task(), past, moved), "Returned", []string{"edge-1", "edge-3"}},
		"by the cluster alone":                   {given(taint("edge-1"), task(), past, moved, now(600)), "TimedOut", []string{"edge-1"}},
		"by the cluster alone, which is no more": {given(task(), past, moved, func(in *Input) { delete(in.Clusters, "edge-1") }), "Gone", []string{"edge-1"}},
		"by none, since somebody let it go":      {given(task(func(t *workv1alpha2.GracefulEvictionTask) { t.SuppressDeletion = new(false) }), past, moved), "Released", nil},
		"by none while it lasts":                 {given(taint("edge-1"), task(), past, moved), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			d := Decide(tc.in)
			if tc.how != "" {
				g.Expect(d.Ended).To(ConsistOf(HaveField("How", tc.how)))
			}
			g.Expect(sets.List(d.RestsOn)).To(ConsistOf(tc.restsOn))
		})
	}
}

// TestALineThatIsLostForAMomentKeepsTheTimeOfAnUnhealthyApplication: who is unhealthy for 60 s leaves edge-1, without the time
// for which nobody knew.
func TestALineThatIsLostForAMomentKeepsTheTimeOfAnUnhealthyApplication(t *testing.T) {
	t.Parallel()
	disconnected := func(at int) func(*Input) {
		return func(in *Input) {
			ready("edge-1", metav1.ConditionUnknown)(in)
			c := &in.Clusters["edge-1"].Status.Conditions[0]
			c.Reason, c.LastTransitionTime = clusterv1alpha1.ReasonAgentDisconnected, metav1.NewTime(second(at))
		}
	}
	for name, tc := range map[string]struct {
		// The line is lost at 50 s until back; at wants it has left, and a second earlier it has not.
		back, wants int
	}{
		"a blip":                     {back: 53, wants: 63},
		"almost given up":            {back: 89, wants: 99},
		"given up, and told so":      {back: 91, wants: 151},
		"not lost at all":            {back: 50, wants: 60},
		"away for far longer":        {back: 500, wants: 560},
		"away for as long as it has": {back: 90, wants: 150},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			look := func(memory Memory, at int, changes ...func(*Input)) Decision {
				in := given(append([]func(*Input){failover(nil), func(in *Input) { report("edge-1", workv1alpha1.Unhealthy, 0)(in) }, now(at)}, changes...)...)
				in.Memory = memory
				return Decide(in)
			}
			d := look(Memory{}, 0)
			if tc.back > 50 {
				for _, at := range []int{50, min(51, tc.back)} {
					d = look(d.Memory, at, disconnected(50))
					g.Expect(d.Evictions).To(BeEmpty(), "at %d s", at)
				}
			}
			for _, at := range []int{tc.back, tc.wants - 1} {
				d = look(d.Memory, at)
				g.Expect(d.Evictions).To(BeEmpty(), "at %d s", at)
			}
			g.Expect(look(d.Memory, tc.wants).Evictions).To(HaveLen(1))
		})
	}
}
