package hints

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/assign"
)

// Changes are those of many clusters, ready for the question which of many bindings they concern: when a region is lost, or
// comes back, there are thousands of both, and a binding is not compared with each change. They are for one goroutine.
type Changes struct {
	// capacity, worse and feasibility are the changes of each event.
	capacity, worse, feasibility []Change
	// worseNames and feasibilityNames are the clusters of those.
	worseNames, feasibilityNames sets.Set[string]
	// picked says for placements, by what they say of clusters, whether they pick a cluster of an event.
	picked map[Event]map[string]bool
}

// Gather makes changes ready.
func Gather(changes []Change) *Changes {
	out := &Changes{worseNames: sets.Set[string]{}, feasibilityNames: sets.Set[string]{}, picked: map[Event]map[string]bool{Capacity: {}, Feasibility: {}}}
	for _, c := range changes {
		switch c.Event {
		case None:
		case Capacity:
			out.capacity = append(out.capacity, c)
		case Worse:
			out.worse = append(out.worse, c)
			insertNames(out.worseNames, c)
		case Feasibility:
			out.feasibility = append(out.feasibility, c)
			insertNames(out.feasibilityNames, c)
		}
	}
	return out
}

func insertNames(names sets.Set[string], c Change) {
	if c.Before != nil {
		names.Insert(c.Before.Name)
	}
	if c.After != nil {
		names.Insert(c.After.Name)
	}
}

// Concern says whether any of the changes may be one for where a binding goes. One whose targets
// are found has nothing to gain from room elsewhere, nor from a cluster that it does not
// pick; and one whose replicas are divided stays where it is, wherever else it would fit,
// unless it would rather be elsewhere, or has replicas that no cluster may take.
func (c *Changes) Concern(spec *workv1alpha2.ResourceBindingSpec, at BindingState) bool {
	among := func(names sets.Set[string]) bool {
		return len(names) > 0 && slices.ContainsFunc(at.Targets, func(t workv1alpha2.TargetCluster) bool { return names.Has(t.Name) })
	}
	if len(c.capacity) > 0 && (at.Waits == workv1alpha2.ReasonUnschedulable || at.NotPreferred && c.pick(spec.Placement, Capacity, c.capacity)) {
		return true
	}
	if len(c.worse) > 0 && (at.Waits != "" || at.NotPreferred || among(c.worseNames)) {
		return true
	}
	if len(c.feasibility) == 0 {
		return false
	}
	if at.Waits != "" || spec.Placement == nil || among(c.feasibilityNames) {
		return true
	}
	if s := assign.StrategyOf(spec); s != assign.Everywhere && s != assign.Duplicated && !at.NotPreferred && !leftOver(spec, at.Targets) {
		return false
	}
	return c.pick(spec.Placement, Feasibility, c.feasibility)
}

// pick says whether a placement picks a cluster that changed, as it was or as it is. It may be any cluster if it is not told
// which.
func (c *Changes) pick(placement *policyv1alpha1.Placement, event Event, changes []Change) bool {
	if placement == nil {
		return true
	}
	all := affinities(placement)
	key, err := json.Marshal(all)
	if err != nil {
		return true
	}
	known, ok := c.picked[event][string(key)]
	if !ok {
		known = pickAny(all, changes)
		c.picked[event][string(key)] = known
	}
	return known
}

func pickAny(all []*policyv1alpha1.ClusterAffinity, changes []Change) bool {
	matchers := make([]selector.ClusterMatcher, 0, len(all))
	for _, a := range all {
		matcher, err := selector.CompileCluster(a)
		if err != nil {
			return true
		}
		matchers = append(matchers, matcher)
	}
	return slices.ContainsFunc(changes, func(c Change) bool {
		return c.Before == nil && c.After == nil || slices.ContainsFunc(matchers, func(m selector.ClusterMatcher) bool {
			return c.Before != nil && m.Matches(c.Before) || c.After != nil && m.Matches(c.After)
		})
	})
}
