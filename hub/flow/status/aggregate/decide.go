package aggregate

import (
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// ReportGrace is how long after its scheduling, or its creation, a binding of which nobody has reported
// anything is left without a status: most report within a second, and then one write
// says all.
const ReportGrace = 15 * time.Second

// Report is what one cluster says of a binding: its Work. Nothing of it is changed.
type Report struct {
	Cluster string
	Work    *workv1alpha1.Work
}

// Input is all that a decision is made of.
type Input struct {
	// Generation of the binding, and when it was made.
	Generation int64
	Created    time.Time
	// Spec of the binding.
	Spec *workv1alpha2.ResourceBindingSpec
	// Status of the binding as it is.
	Status *workv1alpha2.ResourceBindingStatus
	// Reports are the Works of the binding, in any order.
	Reports []Report
	// Silent is since when clusters are silent, by name.
	Silent map[string]time.Time
	// LeftOut are clusters whose status is known to be unfit, by name.
	LeftOut map[string]LeftOut
	// Unrendered says that the binding changed and its Works do not show that yet.
	Unrendered bool
	// Now is the time.
	Now time.Time
}

// Decision is what the status of the binding should say.
type Decision struct {
	// Early is true while there is nothing to say yet, because nobody has reported;
	// nothing else in here matters then, but Wait.
	Early bool
	// Wait is when to decide again if nothing happens; 0 is never.
	Wait time.Duration
	// Partial is true if nothing was ever said of the binding, and only some of its
	// clusters have reported: what they say may wait a moment for the others.
	Partial bool
	// Changed is false if the binding says so already.
	Changed bool
	// Items are for aggregatedStatus, by cluster.
	Items []workv1alpha2.AggregatedStatusItem
	// Reported are the same items, with the statuses that the binding has no room for: they are what is added up. None is in Items
	// with another index.
	Reported []workv1alpha2.AggregatedStatusItem
	// Unshown tells the statuses that only Reported has from others; empty if there are none.
	Unshown string
	// FullyApplied is the condition.
	FullyApplied metav1.Condition
	// Stale is the condition of this name; nil if nothing is.
	Stale *metav1.Condition
	// Refused are the items that are not applied, or whose status is left out, for a reason that
	// is news.
	Refused []workv1alpha2.AggregatedStatusItem
}

// Decide says what the status of a binding should be. It is deterministic.
func Decide(in Input) Decision {
	reports := order(in.Reports)
	reported := Items(reports, in.Spec.Resource)
	before := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingFullyApplied)

	if before == nil && len(in.Status.AggregatedStatus) == 0 && silent(reports) {
		since := in.Created
		if in.Status.LastScheduledTime != nil {
			since = in.Status.LastScheduledTime.Time
		}
		if wait := since.Add(ReportGrace).Sub(in.Now); wait > 0 {
			return Decision{Early: true, Wait: wait}
		}
	}

	age(reported, in.Silent)
	leaveOutKnown(reported, in.LeftOut)
	fitStatuses(reported, maxAdded)
	items := slices.Clone(reported)
	unshown := digest(fitStatuses(items, maxStatuses))
	condition := fullyApplied(in, reports, items, before)
	stale := stale(in, items)
	staleBefore := meta.FindStatusCondition(in.Status.Conditions, workv1alpha2.BindingStale)
	return Decision{
		Partial: before == nil && len(in.Status.AggregatedStatus) == 0 && !reportedAll(in.Spec, reports),
		Changed: !same(before, condition) || (stale == nil) != (staleBefore == nil) || stale != nil && stale.Message != staleBefore.Message ||
			!apiequality.Semantic.DeepEqual(in.Status.AggregatedStatus, items),
		Items:        items,
		Reported:     reported,
		Unshown:      unshown,
		FullyApplied: condition,
		Stale:        stale,
		Refused:      Refused(in.Status.AggregatedStatus, items),
	}
}

// Items returns one item for each cluster, by name. A cluster that has not reported,
// or that could not apply the object, has no status: an old one would lie.
func Items(reports []Report, ref workv1alpha2.ObjectReference) []workv1alpha2.AggregatedStatusItem {
	var items []workv1alpha2.AggregatedStatusItem
	for _, r := range order(reports) {
		item := workv1alpha2.AggregatedStatusItem{ClusterName: r.Cluster, Health: workv1alpha1.Unknown}
		applied := meta.FindStatusCondition(r.Work.Status.Conditions, workv1alpha1.WorkApplied)
		switch {
		case applied == nil:
		case applied.Status != metav1.ConditionTrue:
			item.AppliedMessage = applied.Message
		default:
			item.Applied = true
			if m := manifestOf(r.Work, ref); m != nil {
				item.Status = m.Status.DeepCopy()
				if m.Health != "" {
					item.Health = m.Health
				}
				if item.Health == workv1alpha1.Unhealthy {
					item.PodReasons = m.DeepCopy().PodReasons
				}
				if m.Status != nil {
					if why := unfit(m.Status.Raw); why != "" {
						LeaveOut(&item, why)
					}
				}
			}
		}
		items = append(items, item)
	}
	fitTexts(items)
	return items
}

// order sorts reports by cluster. A Work that is being deleted counts no more, and of
// several of one cluster the first by name does.
func order(reports []Report) []Report {
	reports = slices.DeleteFunc(slices.Clone(reports), func(r Report) bool {
		return r.Work.DeletionTimestamp != nil
	})
	slices.SortFunc(reports, func(a, b Report) int {
		if c := strings.Compare(a.Cluster, b.Cluster); c != 0 {
			return c
		}
		return strings.Compare(a.Work.Name, b.Work.Name)
	})
	return slices.CompactFunc(reports, func(a, b Report) bool { return a.Cluster == b.Cluster })
}

// manifestOf finds what a Work says of the template's object; nil if it says nothing. The version does
// not matter: when the binding goes over to another one, a cluster that is silent, suspended or in a later wave has reported the
// object in the former one, and what it said still holds. A status that the rules or the API cannot take is left out by those.
func manifestOf(work *workv1alpha1.Work, ref workv1alpha2.ObjectReference) *workv1alpha1.ManifestStatus {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
	for i := range work.Status.ManifestStatuses {
		m := &work.Status.ManifestStatuses[i]
		if m.Identifier.Group == kind.Group && m.Identifier.Kind == kind.Kind &&
			m.Identifier.Namespace == ref.Namespace && m.Identifier.Name == ref.Name {
			return m
		}
	}
	return nil
}

// silent says whether no cluster has reported anything.
func silent(reports []Report) bool {
	for _, r := range reports {
		if meta.FindStatusCondition(r.Work.Status.Conditions, workv1alpha1.WorkApplied) != nil {
			return false
		}
	}
	return true
}

// reportedAll says whether every target has reported something.
func reportedAll(spec *workv1alpha2.ResourceBindingSpec, reports []Report) bool {
	heard := map[string]bool{}
	for _, r := range reports {
		heard[r.Cluster] = meta.FindStatusCondition(r.Work.Status.Conditions, workv1alpha1.WorkApplied) != nil
	}
	for _, cluster := range bindings.Places(spec) {
		if !heard[cluster] {
			return false
		}
	}
	return true
}

// Refused returns the items that say why they are not applied, or why their status is left
// out, where the item of before did not say so.
func Refused(before, after []workv1alpha2.AggregatedStatusItem) []workv1alpha2.AggregatedStatusItem {
	said := map[string]string{}
	for _, item := range before {
		said[item.ClusterName] = item.AppliedMessage
	}
	var out []workv1alpha2.AggregatedStatusItem
	for _, item := range after {
		if (!item.Applied || IsLeftOut(&item)) && item.AppliedMessage != "" && said[item.ClusterName] != item.AppliedMessage {
			out = append(out, item)
		}
	}
	return out
}

// same says whether a condition says the same as one before, whenever it began.
func same(before *metav1.Condition, after metav1.Condition) bool {
	return before != nil && before.Status == after.Status && before.Reason == after.Reason &&
		before.Message == after.Message && before.ObservedGeneration == after.ObservedGeneration
}
