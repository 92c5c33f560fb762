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

// Changes are those of many clusters, ready for the question which of many bindings they concern: when a region is lost, or
// comes back, there are thousands of both, and a binding is not compared with each change. They are for one goroutine.
type Changes struct {
	// capacity, worse and feasibility are the changes of each event, and kinds those of the event API, by the kinds that they are about.
	capacity, worse, feasibility noted
	kinds                        map[schema.GroupKind]*noted
	// lists are the clusters that list all of their APIs and did not, or the other way round, with the kinds that they serve either way.
	lists map[string]sets.Set[schema.GroupKind]
}

// noted are some changes.
type noted struct {
	changes []Change
	// names are the clusters that changed.
	names sets.Set[string]
	// picked says for placements, by what they say of clusters, whether they pick one of these.
	picked map[string]bool
}

// Gather makes changes ready.
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

// any says whether there are any changes. There are none in nil.
func (n *noted) any() bool { return n != nil && len(n.changes) > 0 }

// among says whether one of some targets changed.
func (n *noted) among(targets []workv1alpha2.TargetCluster) bool {
	return len(n.names) > 0 && slices.ContainsFunc(targets, func(t workv1alpha2.TargetCluster) bool { return n.names.Has(t.Name) })
}

// Concern says whether any of the changes may be one for where a binding goes. One whose targets
// are found has nothing to gain from room elsewhere, nor from a cluster that it does not
// pick; and one whose replicas are divided stays where it is, wherever else it would fit,
// unless it would rather be elsewhere, or has replicas that no cluster may take. Which kinds a cluster
// serves matters to applications of these only.
func (c *Changes) Concern(spec *workv1alpha2.ResourceBindingSpec, at BindingState) bool {
	if c.capacity.any() && (at.Waits == workv1alpha2.ReasonUnschedulable || at.NotPreferred && c.capacity.pick(spec.Placement)) {
		return true
	}
	if c.worse.any() && (at.Waits != "" || at.NotPreferred || c.worse.among(at.Targets)) {
		return true
	}
	return c.feasibility.concern(spec, at) || c.concernByAPI(spec, at)
}

// concernByAPI says the same of what clusters serve. The list of a cluster that has the application matters only if the kind is not in it;
// who waits is looked at again whatever becomes of a list.
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

// concern says whether changes of what filters look at may be some for where a binding goes.
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

// pick says whether a placement picks a cluster that changed, as it was or as it is. It may be any cluster if it is not told
// which.
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
