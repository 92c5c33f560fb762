package evict

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

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
