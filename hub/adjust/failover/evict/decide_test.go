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
	"fairlead.dev/common/evictions"
)

func TestClustersAreLeftByTheirTaints(t *testing.T) {
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

func TestFieldsOfATask(t *testing.T) {
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
	stays.Message += " Its state is not preserved: statePreservation works only with purgeMode Directly."
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
	g.Expect(evictions.FailedIn(past, "7", in.Now)).To(Equal([]string{"edge-1"}))

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

func TestAnEvictionIsRemembered(t *testing.T) {
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
		// The line is lost from second 50 until back. The application has left at wants, and not a second earlier.
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
