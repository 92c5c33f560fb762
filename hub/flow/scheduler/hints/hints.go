package hints

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// Responsible says whether a binding is this scheduler's to place: somebody is to, and the binding
// names nobody else.
func Responsible(b workv1alpha2.Binding) bool {
	name := b.BindingSpec().SchedulerName
	return (name == "" || name == contract.DefaultSchedulerName) && bindings.IsScheduled(b)
}

// Event is what changed about a cluster, as far as decisions go.
type Event int

// Events, the least first.
const (
	// None : nothing; an agent told that its cluster is alive, or that it has less
	// room than before.
	None Event = iota
	// Capacity : the cluster may have room for more. That helps who waits for room.
	Capacity
	// API : the cluster serves other kinds than before, or kinds in other versions, or it lists all of its APIs now and did not,
	// or the other way round. That concerns applications of these kinds; of the list, those that have the cluster.
	API
	// Worse : the cluster takes less than before: it has more taints, or is about to go. That
	// concerns who has it.
	Worse
	// Feasibility : what filters look at. A binding may fit now, or no longer.
	Feasibility
)

// Change is what happened to a cluster.
type Change struct {
	Event Event
	// Before and After are the cluster as it was and as it is; nil if it was not there, is
	// no more, or does not matter.
	Before, After *clusterv1alpha1.Cluster
	// What follows is for the event API. Kinds are those that the cluster serves in other versions than before, anew or no more.
	Kinds sets.Set[schema.GroupKind]
	// Completeness says that it lists all of its APIs and did not, or the other way round.
	Completeness bool
	// Roomier says that it may have room for more as well.
	Roomier bool
}

// Of compares a cluster with what it was.
func Of(before, after *clusterv1alpha1.Cluster) Change {
	c := Change{Before: before, After: after}
	switch {
	case worse(before, after):
		c.Event = Worse
	case before.Generation != after.Generation,
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero(),
		!maps.Equal(before.Labels, after.Labels),
		// The first report is about all kinds that there are, and so is that of a cluster which finds none of them any more.
		(len(before.Status.APIEnablements) == 0) != (len(after.Status.APIEnablements) == 0):
		c.Event = Feasibility
	default:
		if !sameAPIs(before, after) {
			c.Kinds = fit.ChangedKinds(before, after)
		}
		c.Completeness = fit.ListsAllAPIs(before) != fit.ListsAllAPIs(after)
		c.Roomier = moreFree(before.Status.ResourceSummary, after.Status.ResourceSummary) ||
			fit.MoreFree(before.Status.NamespaceQuotas, after.Status.NamespaceQuotas)
		switch {
		case len(c.Kinds) > 0 || c.Completeness:
			c.Event = API
		case c.Roomier:
			c.Event = Capacity
		}
	}
	return c
}

func sameAPIs(before, after *clusterv1alpha1.Cluster) bool {
	return equality.Semantic.DeepEqual(before.Status.APIEnablements, after.Status.APIEnablements)
}

// worse says whether all that changed of a cluster is that it has more taints, or is about to go, so that nothing
// fits there that did not before. When a region is lost this happens to all of its clusters at once.
func worse(before, after *clusterv1alpha1.Cluster) bool {
	goes := before.DeletionTimestamp.IsZero() && !after.DeletionTimestamp.IsZero()
	if !goes && (before.Generation == after.Generation || !before.DeletionTimestamp.IsZero()) {
		return false
	}
	was, is := before.Spec, after.Spec
	for i := range was.Taints {
		same := func(t corev1.Taint) bool {
			return t.Key == was.Taints[i].Key && t.Value == was.Taints[i].Value && t.Effect == was.Taints[i].Effect
		}
		if !slices.ContainsFunc(is.Taints, same) {
			return false
		}
	}
	was.Taints, is.Taints = nil, nil
	return equality.Semantic.DeepEqual(was, is) && maps.Equal(before.Labels, after.Labels) &&
		fit.ListsAllAPIs(before) == fit.ListsAllAPIs(after) && sameAPIs(before, after)
}

// BindingState is where a binding stands by its last decision, which may not be in the cache
// yet.
type BindingState struct {
	// Waits is the reason why it was not placed; empty if it was.
	Waits string
	// NotPreferred says that it would rather be elsewhere, and goes there when there is room.
	NotPreferred bool
	// Targets are the clusters that it has.
	Targets []workv1alpha2.TargetCluster
}

// StateOf returns what a binding says itself.
func StateOf(b workv1alpha2.Binding) BindingState {
	s := BindingState{Targets: b.BindingSpec().Clusters}
	c := meta.FindStatusCondition(b.BindingStatus().Conditions, workv1alpha2.BindingScheduled)
	switch {
	case c == nil:
		s.Waits = "nothing was decided yet"
	case c.Status != metav1.ConditionTrue:
		s.Waits = c.Reason
	}
	return s
}

// leftOver says whether bounds leave replicas without a cluster.
func leftOver(spec *workv1alpha2.ResourceBindingSpec, targets []workv1alpha2.TargetCluster) bool {
	rest := int64(spec.Replicas)
	for i := range targets {
		rest -= int64(targets[i].Replicas)
	}
	return rest > 0 && bindings.Bounded(spec)
}

// affinities returns all that a placement has, those of what overflows among them.
func affinities(p *policyv1alpha1.Placement) []*policyv1alpha1.ClusterAffinity {
	if len(p.ClusterAffinities) == 0 {
		return []*policyv1alpha1.ClusterAffinity{p.ClusterAffinity}
	}
	var out []*policyv1alpha1.ClusterAffinity
	for i := range p.ClusterAffinities {
		term := &p.ClusterAffinities[i]
		out = append(out, &term.ClusterAffinity)
		for j := range term.OverflowAffinities {
			out = append(out, &term.OverflowAffinities[j].ClusterAffinity)
		}
	}
	return out
}

// Priority orders bindings: by the priority of their policy first, and of equals those
// that somebody changed come before those that are looked at again.
func Priority(spec *workv1alpha2.ResourceBindingSpec, again bool) int {
	p := 0
	if spec.SchedulePriority != nil {
		p = 2 * int(spec.SchedulePriority.Priority)
	}
	if again {
		return p - 1
	}
	return p
}

// moreFree says whether a report has more of anything free than the one before, in sum
// or on some grade of nodes.
func moreFree(before, after *clusterv1alpha1.ResourceSummary) bool {
	if after == nil {
		return false
	}
	if before == nil {
		return true
	}
	for name := range after.Allocatable {
		if free(before, name) < free(after, name) {
			return true
		}
	}
	counts := make(map[uint]int, len(before.AllocatableModelings))
	for _, m := range before.AllocatableModelings {
		counts[m.Grade] = m.Count
	}
	for _, m := range after.AllocatableModelings {
		if m.Count > counts[m.Grade] {
			return true
		}
	}
	return false
}

// free is what is left of a resource.
func free(s *clusterv1alpha1.ResourceSummary, name corev1.ResourceName) float64 {
	all, used, waiting := s.Allocatable[name], s.Allocated[name], s.Allocating[name]
	return all.AsApproximateFloat64() - used.AsApproximateFloat64() - waiting.AsApproximateFloat64()
}
