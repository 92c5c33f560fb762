package hints

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/scheduler/assign"
	"fairlead.dev/hub/flow/scheduler/fit"
)

// Changes indexes changes of many clusters for finding out which of many bindings they affect: when a region is lost, or comes back, there
// are thousands of both, and comparing each binding with each change would be too slow. It is not safe for concurrent use.
type Changes struct {
	// capacity, worse and feasibility are the changes of each event, and kinds those of the event API by kind.
	capacity, worse, feasibility noted
	kinds                        map[schema.GroupKind]*noted
	// lists are the clusters whose list of APIs became complete or incomplete, with the kinds that they serve in either case.
	lists map[string]sets.Set[schema.GroupKind]
}

// noted is a set of changes.
type noted struct {
	changes []Change
	// names are the clusters that changed.
	names sets.Set[string]
	// picked caches, by the affinities of a placement as JSON, whether the placement selects one of the clusters.
	picked map[string]bool
}

// Gather indexes changes.
func Gather(changes []Change) *Changes {
	out := &Changes{kinds: map[schema.GroupKind]*noted{}, lists: map[string]sets.Set[schema.GroupKind]{}}
	for _, c := range changes {
		switch c.Event {
		case None:
		case Capacity:
			out.capacity.add(c)
		case API:
			out.addAPI(c)
		case Worse:
			out.worse.add(c)
		case Feasibility:
			out.feasibility.add(c)
		}
	}
	return out
}

func (c *Changes) addAPI(change Change) {
	if change.Roomier {
		c.capacity.add(change)
	}
	for kind := range change.Kinds {
		if c.kinds[kind] == nil {
			c.kinds[kind] = &noted{}
		}
		c.kinds[kind].add(change)
	}
	if change.Completeness && change.After != nil {
		served := fit.Kinds(change.After)
		if known, ok := c.lists[change.After.Name]; ok {
			served = served.Intersection(known)
		}
		c.lists[change.After.Name] = served
	}
}

func (n *noted) add(c Change) {
	if n.names == nil {
		n.names, n.picked = sets.Set[string]{}, map[string]bool{}
	}
	n.changes = append(n.changes, c)
	if c.Before != nil {
		n.names.Insert(c.Before.Name)
	}
	if c.After != nil {
		n.names.Insert(c.After.Name)
	}
}

// any returns whether there are any changes. It may be called on nil, which has none.
func (n *noted) any() bool { return n != nil && len(n.changes) > 0 }

// among returns whether any of the targets changed.
func (n *noted) among(targets []workv1alpha2.TargetCluster) bool {
	return len(n.names) > 0 && slices.ContainsFunc(targets, func(t workv1alpha2.TargetCluster) bool { return n.names.Has(t.Name) })
}

// Concern returns whether any of the changes may affect where a binding goes. A binding that is placed is not affected by capacity
// elsewhere, nor by clusters that it does not select. One whose replicas are divided stays where it is even if it would fit elsewhere,
// unless it prefers other clusters, or bounds leave some of its replicas unplaced. The kinds that a cluster serves affect only applications
// of these kinds.
func (c *Changes) Concern(spec *workv1alpha2.ResourceBindingSpec, at BindingState) bool {
	if c.capacity.any() && (at.Waits == workv1alpha2.ReasonUnschedulable || at.NotPreferred && c.capacity.pick(spec.Placement)) {
		return true
	}
	if c.worse.any() && (at.Waits != "" || at.NotPreferred || c.worse.among(at.Targets)) {
		return true
	}
	return c.feasibility.concern(spec, at) || c.concernByAPI(spec, at)
}

// concernByAPI does the same for changes of the APIs that clusters serve. A change in the completeness of a target's list of APIs matters
// only if the list lacks the kind; a binding that waits is affected by any such change.
func (c *Changes) concernByAPI(spec *workv1alpha2.ResourceBindingSpec, at BindingState) bool {
	if len(c.kinds) == 0 && len(c.lists) == 0 {
		return false
	}
	kind := schema.FromAPIVersionAndKind(spec.Resource.APIVersion, spec.Resource.Kind).GroupKind()
	if c.kinds[kind].concern(spec, at) {
		return true
	}
	return len(c.lists) > 0 && (at.Waits != "" || slices.ContainsFunc(at.Targets, func(t workv1alpha2.TargetCluster) bool {
		served, ok := c.lists[t.Name]
		return ok && !served.Has(kind)
	}))
}

// concern returns whether changes that filters depend on may affect where a binding goes.
func (n *noted) concern(spec *workv1alpha2.ResourceBindingSpec, at BindingState) bool {
	if !n.any() {
		return false
	}
	if at.Waits != "" || spec.Placement == nil || n.among(at.Targets) {
		return true
	}
	if s := assign.StrategyOf(spec); s != assign.Everywhere && s != assign.Duplicated && !at.NotPreferred && !leftOver(spec, at.Targets) {
		return false
	}
	return n.pick(spec.Placement)
}

// pick returns whether a placement selects a cluster that changed, as it was or as it is. A change without a cluster may be of any.
func (n *noted) pick(placement *policyv1alpha1.Placement) bool {
	if placement == nil {
		return true
	}
	all := affinities(placement)
	key, err := json.Marshal(all)
	if err != nil {
		return true
	}
	known, ok := n.picked[string(key)]
	if !ok {
		known = pickAny(all, n.changes)
		n.picked[string(key)] = known
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
