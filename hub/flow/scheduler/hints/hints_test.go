package hints_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/hub/flow/scheduler/hints"
	"fairlead.dev/test/builder"
)

func cpus(n string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(n)}
}

// serving adds kinds of an apiVersion to those that a cluster serves.
func serving(groupVersion string, kinds ...string) func(*clusterv1alpha1.Cluster) {
	return func(c *clusterv1alpha1.Cluster) {
		served := clusterv1alpha1.APIEnablement{GroupVersion: groupVersion}
		for _, kind := range kinds {
			served.Resources = append(served.Resources, clusterv1alpha1.APIResource{Name: strings.ToLower(kind) + "s", Kind: kind})
		}
		c.Status.APIEnablements = append(c.Status.APIEnablements, served)
	}
}

// complete marks the cluster's list of APIs as complete.
func complete(c *clusterv1alpha1.Cluster) {
	c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterCompleteAPIEnablements, Status: metav1.ConditionTrue}}
}

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*clusterv1alpha1.Cluster)
		want   hints.Event
	}{
		"a heartbeat": {func(c *clusterv1alpha1.Cluster) {
			c.ResourceVersion = "2"
			c.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterReady, Status: metav1.ConditionTrue}}
		}, hints.None},
		"less capacity": {func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary.Allocated = cpus("3") }, hints.None},
		"fewer pods":    {func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary.Allocated = cpus("500m") }, hints.Capacity},
		"a new node":    {func(c *clusterv1alpha1.Cluster) { c.Status.ResourceSummary.Allocatable = cpus("8") }, hints.Capacity},
		"a larger node": {func(c *clusterv1alpha1.Cluster) {
			c.Status.ResourceSummary.AllocatableModelings = []clusterv1alpha1.AllocatableModeling{{Grade: 3, Count: 1}}
		}, hints.Capacity},
		"more left by a ResourceQuota": {func(c *clusterv1alpha1.Cluster) {
			c.Status.NamespaceQuotas = []clusterv1alpha1.NamespaceQuota{{Namespace: "shop", Free: cpus("2")}}
		}, hints.Capacity},
		"a label": {func(c *clusterv1alpha1.Cluster) { c.Labels = map[string]string{"a": "b"} }, hints.Feasibility},
		"a taint": {func(c *clusterv1alpha1.Cluster) {
			c.Generation++
			c.Spec.Taints = append(c.Spec.Taints, corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute})
		}, hints.Worse},
		"a taint that is removed": {func(c *clusterv1alpha1.Cluster) { c.Generation++; c.Spec.Taints = nil }, hints.Feasibility},
		"a taint with a weaker effect": {func(c *clusterv1alpha1.Cluster) {
			c.Generation++
			c.Spec.Taints = []corev1.Taint{{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}}
		}, hints.Feasibility},
		"a taint and another region": {func(c *clusterv1alpha1.Cluster) {
			c.Generation++
			c.Spec.Region = "south"
			c.Spec.Taints = append(c.Spec.Taints, corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute})
		}, hints.Feasibility},
		"a taint and a label": {func(c *clusterv1alpha1.Cluster) {
			c.Generation++
			c.Labels = map[string]string{"a": "b"}
			c.Spec.Taints = append(c.Spec.Taints, corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute})
		}, hints.Feasibility},
		"its removal": {func(c *clusterv1alpha1.Cluster) { c.DeletionTimestamp = new(metav1.Now()) }, hints.Worse},
		"another API": {serving("shop.example.com/v1", "Till"), hints.API},
		"another API and a label": {func(c *clusterv1alpha1.Cluster) {
			c.Labels = map[string]string{"a": "b"}
			serving("shop.example.com/v1", "Till")(c)
		}, hints.Feasibility},
		"another API and a taint": {func(c *clusterv1alpha1.Cluster) {
			c.Generation++
			c.Spec.Taints = append(c.Spec.Taints, corev1.Taint{Key: "lost", Effect: corev1.TaintEffectNoExecute})
			serving("shop.example.com/v1", "Till")(c)
		}, hints.Feasibility},
		"a group without a kind": {serving("shop.example.com/v1"), hints.None},
		"APIs in another order":  {func(c *clusterv1alpha1.Cluster) { slices.Reverse(c.Status.APIEnablements) }, hints.None},
		"a group without a kind and fewer pods": {func(c *clusterv1alpha1.Cluster) {
			serving("shop.example.com/v1")(c)
			c.Status.ResourceSummary.Allocated = cpus("500m")
		}, hints.Capacity},
		"all APIs are gone":                {func(c *clusterv1alpha1.Cluster) { c.Status.APIEnablements = nil }, hints.Feasibility},
		"the list of APIs became complete": {complete, hints.API},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := builder.MakeCluster("m").Taint("old", corev1.TaintEffectNoSchedule).Obj()
			before.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: cpus("4"), Allocated: cpus("1")}
			before.Status.NamespaceQuotas = []clusterv1alpha1.NamespaceQuota{{Namespace: "shop", Free: cpus("1")}}
			serving("v1", "Pod")(before)
			serving("apps/v1", "Deployment", "DaemonSet")(before)
			after := before.DeepCopy()
			tt.change(after)
			NewWithT(t).Expect(hints.Of(before, after).Event).To(Equal(tt.want))
		})
	}
}

func TestConcern(t *testing.T) {
	t.Parallel()
	const placed = ""
	south := &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": "south"}}}
	divided := func(s *workv1alpha2.ResourceBindingSpec) {
		s.Replicas = 2
		s.Placement.ReplicaScheduling = &policyv1alpha1.ReplicaSchedulingStrategy{ReplicaSchedulingType: policyv1alpha1.Divided}
	}
	moved := func(from, to string) hints.Change {
		return hints.Change{Event: hints.Feasibility, Before: builder.MakeCluster("m").Label("site", from).Obj(), After: builder.MakeCluster("m").Label("site", to).Obj()}
	}
	overflowing := func(s *workv1alpha2.ResourceBindingSpec) {
		divided(s)
		s.Placement.ClusterAffinities = []policyv1alpha1.ClusterAffinityTerm{{
			ClusterAffinity:    policyv1alpha1.ClusterAffinity{ClusterNames: []string{"b"}},
			OverflowAffinities: []policyv1alpha1.OverflowAffinityTerm{{ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m"}}}},
		}}
	}
	bounded := func(s *workv1alpha2.ResourceBindingSpec) {
		divided(s)
		s.Placement.ReplicaScheduling.ReplicaBounds = []policyv1alpha1.ClusterReplicaBounds{{MaxReplicas: new(int32(1))}}
	}
	room := hints.Change{Event: hints.Capacity, After: builder.MakeCluster("m").Obj()}
	worse := hints.Change{Event: hints.Worse, Before: builder.MakeCluster("m").Label("site", "south").Obj(), After: builder.MakeCluster("m").Label("site", "south").Obj()}
	api := func(changes ...func(*clusterv1alpha1.Cluster)) hints.Change {
		before := builder.MakeCluster("m").Label("site", "south").Obj()
		serving("apps/v1", "Deployment")(before)
		after := before.DeepCopy()
		for _, change := range changes {
			change(after)
		}
		return hints.Of(before, after)
	}
	roomier := func(c *clusterv1alpha1.Cluster) {
		c.Status.ResourceSummary = &clusterv1alpha1.ResourceSummary{Allocatable: cpus("4")}
	}
	till := serving("shop.example.com/v1", "Till")
	of := func(apiVersion, kind string) func(*workv1alpha2.ResourceBindingSpec) {
		return func(s *workv1alpha2.ResourceBindingSpec) { s.Resource.APIVersion, s.Resource.Kind = apiVersion, kind }
	}
	deployment, ofTill := of("apps/v1", "Deployment"), of("shop.example.com/v1", "Till")
	tests := map[string]struct {
		change  hints.Change
		spec    func(*workv1alpha2.ResourceBindingSpec)
		waits   string
		away    bool
		targets []string
		want    bool
	}{
		"no change does not affect a binding that waits":                                {change: hints.Change{}, waits: workv1alpha2.ReasonUnschedulable},
		"a worse cluster affects a binding that has it":                                 {change: worse, targets: []string{"m"}, want: true},
		"a worse cluster does not affect a binding in other clusters":                   {change: worse, targets: []string{"a"}},
		"a worse cluster affects a binding that waits":                                  {change: worse, waits: workv1alpha2.ReasonNoClusterFit, want: true},
		"a worse cluster affects a binding that prefers other clusters":                 {change: worse, targets: []string{"a"}, away: true, want: true},
		"capacity affects a binding that waits for capacity":                            {change: room, waits: workv1alpha2.ReasonUnschedulable, want: true},
		"capacity does not affect a binding that waits for something else":              {change: room, waits: workv1alpha2.ReasonNoClusterFit},
		"capacity does not affect a binding that is placed":                             {change: room, waits: placed, targets: []string{"m"}},
		"capacity in any cluster affects a binding that prefers other clusters":         {change: hints.Change{Event: hints.Capacity}, away: true, targets: []string{"a"}, want: true},
		"capacity in a selected cluster affects a binding that prefers other clusters":  {change: hints.Change{Event: hints.Capacity, After: moved("x", "south").After}, away: true, targets: []string{"a"}, want: true},
		"capacity in a cluster that is not selected does not":                           {change: room, away: true, targets: []string{"a"}},
		"capacity in an overflow cluster affects a binding that prefers other clusters": {change: room, away: true, targets: []string{"a"}, want: true, spec: overflowing},
		"a new cluster affects a binding that overflowed":                               {change: moved("x", "south"), away: true, targets: []string{"a"}, want: true, spec: overflowing},
		"a cluster that may fit affects a binding without clusters":                     {change: moved("x", "south"), waits: workv1alpha2.ReasonNoClusterFit, want: true},
		"any change affects a binding that waits":                                       {change: moved("x", "y"), spec: divided, waits: workv1alpha2.ReasonUnschedulable, want: true},
		"a change of a target affects a divided binding":                                {change: moved("x", "y"), spec: divided, targets: []string{"a", "m"}, want: true},
		"a new cluster does not affect a binding divided among others":                  {change: moved("x", "south"), spec: divided, targets: []string{"a"}},
		"a new cluster affects a binding with replicas beyond its bounds":               {change: moved("x", "south"), spec: bounded, targets: []string{"a"}, want: true},
		"a cluster that is not selected does not affect the same":                       {change: moved("x", "y"), spec: bounded, targets: []string{"a"}},
		"a new cluster does not affect a binding divided within its bounds":             {change: moved("x", "south"), spec: bounded, targets: []string{"a", "b"}},
		"a cluster that the placement selects now":                                      {change: moved("x", "south"), targets: []string{"a"}, want: true},
		"a cluster that the placement selected before":                                  {change: moved("south", "x"), targets: []string{"a"}, want: true},
		"a cluster that the placement does not select":                                  {change: moved("x", "y"), targets: []string{"a"}},
		"a cluster of a later affinity group": {change: moved("x", "south"), targets: []string{"a"}, want: true, spec: func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement = &policyv1alpha1.Placement{ClusterAffinities: []policyv1alpha1.ClusterAffinityTerm{
				{ClusterAffinity: policyv1alpha1.ClusterAffinity{ClusterNames: []string{"a"}}}, {ClusterAffinity: *south},
			}}
		}},
		"a kind affects a binding that waits for it":                                   {change: api(till), spec: ofTill, waits: workv1alpha2.ReasonNoClusterFit, want: true},
		"a kind affects a binding that waits for another of its versions":              {change: api(till), spec: of("shop.example.com/v2", "Till"), waits: workv1alpha2.ReasonNoClusterFit, want: true},
		"a kind does not affect a binding of another kind":                             {change: api(till), spec: of("shop.example.com/v1", "Desk"), waits: workv1alpha2.ReasonNoClusterFit},
		"a kind does not affect a binding of another group":                            {change: api(till), spec: of("ship.example.com/v1", "Till"), waits: workv1alpha2.ReasonNoClusterFit},
		"a kind affects a binding of that kind for every cluster":                      {change: api(till), spec: ofTill, targets: []string{"a"}, want: true},
		"a kind does not affect a binding of another kind for every cluster":           {change: api(till), spec: deployment, targets: []string{"a"}},
		"a kind does not affect a binding of another kind in the cluster":              {change: api(till), spec: deployment, targets: []string{"m"}},
		"a kind affects a binding of that kind that prefers other clusters":            {change: api(till), spec: ofTill, targets: []string{"a"}, away: true, want: true},
		"a kind does not affect a binding of another kind that prefers other clusters": {change: api(till), spec: deployment, targets: []string{"a"}, away: true},
		"a kind and capacity affect a binding that waits for capacity":                 {change: api(till, roomier), spec: deployment, waits: workv1alpha2.ReasonUnschedulable, want: true},
		"a kind and capacity do not affect a binding that is placed":                   {change: api(till, roomier), spec: deployment, targets: []string{"m"}},
		"a complete list without the kind affects a binding in the cluster":            {change: api(complete), spec: ofTill, targets: []string{"a", "m"}, want: true},
		"a complete list with the kind does not affect a binding in the cluster":       {change: api(complete), spec: deployment, targets: []string{"m"}},
		"a complete list does not affect a binding in other clusters":                  {change: api(complete), spec: ofTill, targets: []string{"a"}},
		"a complete list affects a binding that waits":                                 {change: api(complete), spec: deployment, waits: workv1alpha2.ReasonUnschedulable, want: true},
		"a cluster that joined":     {change: hints.Change{Event: hints.Feasibility, After: builder.MakeCluster("m").Label("site", "south").Obj()}, targets: []string{"a"}, want: true},
		"a target that was deleted": {change: hints.Change{Event: hints.Feasibility, Before: builder.MakeCluster("m").Obj()}, spec: divided, targets: []string{"m"}, want: true},
		"an invalid selector counts as affected": {change: moved("x", "y"), want: true, spec: func(s *workv1alpha2.ResourceBindingSpec) {
			s.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"no key": ""}}}
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := &workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinity: south}}
			if tt.spec != nil {
				tt.spec(spec)
			}
			at := hints.BindingState{Waits: tt.waits, NotPreferred: tt.away}
			for _, name := range tt.targets {
				at.Targets = append(at.Targets, workv1alpha2.TargetCluster{Name: name, Replicas: 1})
			}
			NewWithT(t).Expect(hints.Gather([]hints.Change{tt.change}).Concern(spec, at)).To(Equal(tt.want))
		})
	}
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{Spec: workv1alpha2.ResourceBindingSpec{Clusters: []workv1alpha2.TargetCluster{{Name: "m"}}}}
	g.Expect(hints.StateOf(b).Waits).NotTo(BeEmpty())
	b.Status.Conditions = []metav1.Condition{{Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionFalse, Reason: "Why"}}
	g.Expect(hints.StateOf(b)).To(Equal(hints.BindingState{Waits: "Why", Targets: b.Spec.Clusters}))
	b.Status.Conditions[0].Status = metav1.ConditionTrue
	g.Expect(hints.StateOf(b).Waits).To(BeEmpty())
}

func TestPriority(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	of := func(p int32, again bool) int {
		return hints.Priority(&workv1alpha2.ResourceBindingSpec{SchedulePriority: &workv1alpha2.SchedulePriority{Priority: p}}, again)
	}
	g.Expect(of(1, true)).To(BeNumerically(">", of(0, false)), "the priority of the policy comes first")
	g.Expect(of(0, false)).To(BeNumerically(">", of(0, true)), "among equals, a changed binding comes first")
	g.Expect(of(0, false)).To(Equal(hints.Priority(&workv1alpha2.ResourceBindingSpec{}, false)))
}

// BenchmarkConcernsManyChanges asks about one of many bindings after a region of a thousand clusters came back.
func BenchmarkConcernsManyChanges(b *testing.B) {
	changes := make([]hints.Change, 1000)
	for i := range changes {
		changes[i] = hints.Change{Event: hints.Feasibility, After: builder.MakeCluster(fmt.Sprintf("edge-%d", i)).Obj()}
	}
	spec := &workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"region": "elsewhere"}},
	}}}
	for b.Loop() {
		hints.Gather(changes).Concern(spec, hints.BindingState{})
	}
}

// TestConcernOfManyChangesIsTheUnion compares the answer for many changes at once with the answers for each change alone.
func TestConcernOfManyChangesIsTheUnion(t *testing.T) {
	t.Parallel()
	g, random := NewWithT(t), rand.New(rand.NewPCG(1, 1))
	pick := func(n int) string { return fmt.Sprintf("edge-%d", random.IntN(n)) }
	said := map[bool]int{}
	for range 300 {
		changes := make([]hints.Change, 1+random.IntN(4))
		for i := range changes {
			before := builder.MakeCluster(pick(20)).Label("site", []string{"shop", "ship"}[random.IntN(2)]).Obj()
			serving("apps/v1", "Deployment")(before)
			changes[i] = hints.Change{Event: hints.Event(random.IntN(5)), Before: before, After: before}
			if changes[i].Event == hints.API {
				changes[i].Kinds = sets.New(schema.GroupKind{Group: []string{"apps", "shop.example.com"}[random.IntN(2)], Kind: "Till"})
				changes[i].Completeness, changes[i].Roomier = random.IntN(2) == 0, random.IntN(2) == 0
			}
		}
		gathered := hints.Gather(changes)
		for range 5 {
			spec := &workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"site": []string{"shop", "ship", "none"}[random.IntN(3)]}},
			}}}
			spec.Resource.APIVersion = []string{"apps/v1", "shop.example.com/v1"}[random.IntN(2)]
			spec.Resource.Kind = []string{"Deployment", "Till"}[random.IntN(2)]
			at := hints.BindingState{NotPreferred: random.IntN(4) == 0, Targets: []workv1alpha2.TargetCluster{{Name: pick(20)}}}
			if random.IntN(4) == 0 {
				at.Waits = []string{workv1alpha2.ReasonUnschedulable, workv1alpha2.ReasonNoClusterFit}[random.IntN(2)]
			}
			want := slices.ContainsFunc(changes, func(c hints.Change) bool { return hints.Gather([]hints.Change{c}).Concern(spec, at) })
			g.Expect(gathered.Concern(spec, at)).To(Equal(want))
			said[want]++
		}
	}
	g.Expect(min(said[true], said[false])).To(BeNumerically(">", 100))
}

// TestConcernCoversChangesOfTheAPIFilter changes the kinds that a cluster serves and compares the filters' answers before and
// after. A binding for which they differ must be affected.
func TestConcernCoversChangesOfTheAPIFilter(t *testing.T) {
	t.Parallel()
	g, random := NewWithT(t), rand.New(rand.NewPCG(7, 1))
	served := [][2]string{{"apps/v1", "Deployment"}, {"shop.example.com/v1", "Till"}, {"shop.example.com/v2", "Till"}, {"shop.example.com/v2", "Desk"}}
	cluster := func() *clusterv1alpha1.Cluster {
		c := builder.MakeCluster("m").Obj()
		for _, i := range random.Perm(len(served)) {
			if random.IntN(2) == 0 {
				serving(served[i][0], served[i][1])(c)
			}
		}
		if random.IntN(2) == 0 {
			complete(c)
		}
		return c
	}
	refusal := func(q *fit.Query, c *clusterv1alpha1.Cluster) string {
		for _, f := range fit.Filters() {
			if reason := f.Refuse(q, c); reason != "" {
				return reason
			}
		}
		return ""
	}
	others, same := 0, 0
	for range 3000 {
		before, after := cluster(), cluster()
		spec := &workv1alpha2.ResourceBindingSpec{Placement: &policyv1alpha1.Placement{}}
		of := served[random.IntN(len(served))]
		spec.Resource.APIVersion, spec.Resource.Kind = of[0], of[1]
		if random.IntN(2) == 0 {
			spec.Clusters = []workv1alpha2.TargetCluster{{Name: "m"}}
		}
		q := fit.NewQuery(spec, selector.ClusterMatcher{})
		concern := hints.Gather([]hints.Change{hints.Of(before, after)}).Concern(spec, hints.BindingState{Targets: spec.Clusters})
		if refusal(q, before) != refusal(q, after) {
			g.Expect(concern).To(BeTrue(), "%v after %v for %v", after.Status, before.Status, of)
			others++
		} else if !concern {
			same++
		}
	}
	g.Expect(min(others, same)).To(BeNumerically(">", 300))
}
