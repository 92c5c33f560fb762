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

// Responsible returns whether this scheduler must place a binding: the binding is to be scheduled, and names no other scheduler.
func Responsible(b workv1alpha2.Binding) bool {
	name := b.BindingSpec().SchedulerName
	return (name == "" || name == contract.DefaultSchedulerName) && bindings.IsScheduled(b)
}

// Event classifies a change of a cluster by its effect on decisions.
type Event int

// Events, in ascending order of effect.
const (
	// None : no effect; the agent reported that its cluster is alive, or that it has less capacity than before.
	None Event = iota
	// Capacity : the cluster may have more capacity, which affects bindings that wait for it.
	Capacity
	// API : the cluster serves other kinds or versions than before, or its list of APIs became complete or incomplete. The former affects
	// applications of these kinds, the latter those that have the cluster.
	API
	// Worse : the cluster accepts less than before: it has more taints, or is being deleted. This affects the bindings that have it.
	Worse
	// Feasibility : something that filters depend on changed. A binding may fit now, or no longer.
	Feasibility
)

// Change is a change of a cluster.
type Change struct {
	Event Event
	// Before and After are the cluster before and after the change; nil if it did not exist, does not exist any more, or does not matter.
	Before, After *clusterv1alpha1.Cluster
	// Kinds and the fields below are for the event API. Kinds are those of which the cluster serves other versions than before, including
	// new and removed ones.
	Kinds sets.Set[schema.GroupKind]
	// Completeness says that the cluster's list of APIs became complete or incomplete.
	Completeness bool
	// Roomier says that the cluster may have more capacity, too.
	Roomier bool
}

// Of returns the change between two states of a cluster.
func Of(before, after *clusterv1alpha1.Cluster) Change {
	c := Change{Before: before, After: after}
	switch {
	case worse(before, after):
		c.Event = Worse
	case before.Generation != after.Generation,
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero(),
		!maps.Equal(before.Labels, after.Labels),
		// The first report of APIs affects all kinds, and so does the loss of all APIs.
		(len(before.Status.APIEnablements) == 0) != (len(after.Status.APIEnablements) == 0):
		c.Event = Feasibility
	default:
		if !sameAPIs(before, after) {
			c.Kinds = fit.ChangedKinds(before, after)
		}
		c.Completeness = fit.ListsAllAPIs(before) != fit.ListsAllAPIs(after)
		c.Roomier = fit.MoreFree(before.Status.ResourceSummary, after.Status.ResourceSummary) ||
			fit.MoreFreeByQuota(before.Status.NamespaceQuotas, after.Status.NamespaceQuotas)
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

// worse returns whether a cluster changed only in that it has more taints, or is being deleted, so that nothing fits there that did not
// before. When a region is lost, this happens to all of its clusters at once.
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

// BindingState is the state of a binding by the last decision, which the cache may not show yet.
type BindingState struct {
	// Waits is the reason why the binding was not placed; empty if it was.
	Waits string
	// NotPreferred says that the binding prefers other clusters, and moves there when they have capacity.
	NotPreferred bool
	// Targets are the clusters that it has.
	Targets []workv1alpha2.TargetCluster
}

// StateOf returns the state that the binding itself shows. NotPreferred is not part of it.
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

// leftOver returns whether replicaBounds leave replicas without a cluster.
func leftOver(spec *workv1alpha2.ResourceBindingSpec, targets []workv1alpha2.TargetCluster) bool {
	rest := int64(spec.Replicas)
	for i := range targets {
		rest -= int64(targets[i].Replicas)
	}
	return rest > 0 && bindings.Bounded(spec)
}

// affinities returns all affinities of a placement, including overflow affinities.
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

// Priority returns the queue priority of a binding: by the priority of its policy, and among equals, bindings that changed come before
// those that are reconsidered (again).
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
