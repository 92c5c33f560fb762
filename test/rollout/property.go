package rollout

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/plan"
)

// Properties that must hold after every write:
//
//  1. A Work has exactly what its revision renders in its cluster, and its number never falls.
//  2. No cluster is sent an unstable revision before its wave is open: the waves before it have passed, with their
//     soak, their approvals and as many healthy clusters as they need. No cluster is sent one while the rollout is
//     paused or halted, the hub suspects itself, or the cluster is silent or suspended. Where waves need approval, only
//     a revision that has been stable goes back to all clusters at once, and a wave that changes nothing passes without
//     approval only if the newest revision has the content of the stable one.
//  3. The number of clusters in flight in a wave stays within its bound, and so does the number of clusters that catch
//     up, over all rollouts of the strategy.
//  4. Every target is in exactly one state, and the waves count each once.
//  5. Numbers are never used twice, and no wanted revision is forgotten.
//  6. Deciding again without a change decides the same, and the stages settle.
//
// And at the end, when every obstacle is removed, every target has the newest content.

// watch is the history of an app that the properties need.
type watch struct {
	// unwell is the time when a wave last had clusters in flight or held, by revision and name.
	unwell map[string]time.Time
	// stable are the revisions that were ever stable.
	stable map[int64]bool
}

func newWatch() watch { return watch{unwell: map[string]time.Time{}, stable: map[int64]bool{}} }

// checkWork checks a Work before it is written.
func (w *world) checkWork(a *app, cluster string, have, next *work) {
	if have != nil && next.revision.Number < have.revision.Number {
		w.breaks("1. %s goes back from r%d to r%d in %s", a.name, have.revision.Number, next.revision.Number, cluster)
	}
	if next.revision.Zero() {
		return
	}
	if s, ok := a.secrets[next.revision.Number]; !ok || s.in(cluster) != next.manifest || s.hash() != next.revision.Hash {
		w.breaks("1. %s has %q in %s, which is not what r%d renders", a.name, next.manifest, cluster, next.revision.Number)
	}
}

// entitled returns the clusters that a status names for a revision, with their states.
func entitled(s *fairleadv1alpha1.StagedRolloutStatus, number int64) map[string]fairleadv1alpha1.ClusterState {
	out := map[string]fairleadv1alpha1.ClusterState{}
	for _, group := range s.Clusters {
		for _, name := range group.Names {
			if group.Revision == number {
				out[name] = group.State
			}
		}
	}
	return out
}

// checkStatus checks a status before it is written.
func (w *world) checkStatus(a *app, before, after *fairleadv1alpha1.StagedRolloutStatus) {
	w.checkGroups(a, after)
	w.checkCatchingUp(a, before, after)
	if _, kept := a.secrets[after.Revision]; !kept {
		return
	}
	spec := plan.Defaulted(a.secrets[after.Revision].frozen.Strategy)
	w.checkGates(a, before, after, &spec)
	w.checkAtOnce(a, before, after, &spec)
	if after.Immediately || after.Stable == after.Revision {
		return
	}
	was := map[string]fairleadv1alpha1.ClusterState{}
	if before.Revision == after.Revision {
		was = entitled(before, after.Revision)
	}
	halted := before.Revision == after.Revision && meta.IsStatusConditionTrue(before.Conditions, fairleadv1alpha1.RolloutConditionHalted) &&
		meta.IsStatusConditionTrue(after.Conditions, fairleadv1alpha1.RolloutConditionHalted)
	fresh := map[int]int{}
	for name, state := range entitled(after, after.Revision) {
		have := a.works[name]
		if _, had := was[name]; had || have != nil && have.revision.Hash == a.secrets[after.Revision].hash() || have != nil && have.revision.Zero() && a.found(after, have, name).Number > 0 {
			continue
		}
		c := w.clusters[name]
		adopted := after.Stable == 0 && have == nil && a.isWhatRan(before, after)
		switch {
		case state == fairleadv1alpha1.ClusterCatchingUp: // only with a strategy that catches up to the newest revision
		case !c.silentSince.IsZero(), a.suspended[name], w.suspect, (a.spec.Paused || halted) && !adopted:
			w.breaks("2. %s is to get r%d of %s although it is silent (%s) or suspended (%v), the hub suspects itself (%v), or it is paused (%v) or halted (%v)",
				name, after.Revision, a.name, c.silentSince, a.suspended[name], w.suspect, a.spec.Paused, halted)
		}
		i := w.waveOf(a, after, &spec, name)
		if after.Waves[i].StartedAt == nil && !adopted {
			w.breaks("2. %s is to get r%d of %s although its wave %s has not begun", name, after.Revision, a.name, after.Waves[i].Name)
		}
		fresh[i]++
	}
	for i, n := range fresh {
		wave := after.Waves[i]
		if bound := max(plan.Scaled(spec.Waves[i].MaxConcurrent, int(wave.Size), false), 1); int(wave.InFlight) > bound && n > 0 && after.Stable > 0 {
			w.breaks("3. %d of wave %s of %s are on their way, and %d may be", wave.InFlight, wave.Name, a.name, bound)
		}
	}
}

// waveOf returns the index of a target's wave.
func (w *world) waveOf(a *app, status *fairleadv1alpha1.StagedRolloutStatus, spec *fairleadv1alpha1.RolloutStrategySpec, name string) int {
	for i, wave := range a.secrets[status.Revision].frozen.Waves {
		if slices.Contains(wave.Clusters, name) {
			return i
		}
	}
	return plan.Place(spec, w.clusters[name].record)
}

func (w *world) checkGroups(a *app, after *fairleadv1alpha1.StagedRolloutStatus) {
	seen := map[string]bool{}
	left := 0
	for _, group := range after.Clusters {
		if !slices.IsSorted(group.Names) || len(group.Names) == 0 {
			w.breaks("4. a group of %s is not in order: %v", a.name, group.Names)
		}
		for _, name := range group.Names {
			if seen[name] {
				w.breaks("4. %s is in two states in %s", name, a.name)
			}
			seen[name] = true
			if !a.targets[name] {
				if group.Reason != fairleadv1alpha1.ClusterReasonLeft {
					w.breaks("4. %s is named by %s, whose target it is not", name, a.name)
				}
				left++
			}
		}
	}
	if _, kept := a.secrets[after.Revision]; !kept {
		return // Somebody restored a status, and the waves of its revision are no longer known.
	}
	size := 0
	for _, wave := range after.Waves {
		size += int(wave.Size)
		if wave.Size != wave.Healthy+wave.InFlight+wave.Failed+wave.Lost+wave.Held+wave.SetAside+wave.Skipped {
			w.breaks("4. wave %s of %s counts wrongly: %+v", wave.Name, a.name, wave)
		}
	}
	if size != len(a.targets)+left {
		w.breaks("4. the waves of %s have %d clusters, and there are %d", a.name, size, len(a.targets)+left)
	}
}

// checkCatchingUp checks the number of clusters that catch up when another one begins to.
func (w *world) checkCatchingUp(a *app, before, after *fairleadv1alpha1.StagedRolloutStatus) {
	was, is := catchingUp(before), catchingUp(after)
	if is.Difference(was).Len() == 0 {
		return
	}
	busy := sets.Set[string]{}
	for _, other := range w.apps {
		if other != a && other.strategy == a.strategy {
			busy = busy.Union(catchingUp(other.read()))
		}
	}
	fresh := is.Difference(was).Difference(busy)
	for _, name := range sets.List(fresh) {
		gaveBack := strings.HasSuffix(stateOf(before, name), "/"+fairleadv1alpha1.ClusterReasonNobodyLetIn)
		if gaveBack && a.works[name] != nil && a.works[name].revision.Number >= after.Stable {
			gaveBack = false // It already has the revision that it missed.
		}
		if lost := entitled(before, after.Stable)[name]; lost == fairleadv1alpha1.ClusterCatchingUp && !gaveBack {
			fresh.Delete(name) // It had a slot, fell silent and is heard again.
		}
	}
	if bound := int(*plan.Defaulted(*w.strategies[a.strategy]).CatchUp.MaxClusters); fresh.Len() > 0 && busy.Union(is).Len() > bound {
		w.breaks("3. %d clusters catch up, and %d may", busy.Union(is).Len(), bound)
	}
}

func catchingUp(s *fairleadv1alpha1.StagedRolloutStatus) sets.Set[string] {
	out := sets.Set[string]{}
	for _, group := range s.Clusters {
		if group.State == fairleadv1alpha1.ClusterCatchingUp && group.Reason == "" {
			out.Insert(group.Names...)
		}
	}
	return out
}
