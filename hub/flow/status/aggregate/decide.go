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

// ReportGrace is how long after it was scheduled, or created, a binding without any report is left without a status. Most clusters report
// within a second, so that one write suffices.
const ReportGrace = 15 * time.Second

// Report is the Work of a binding in one cluster. It is read only.
type Report struct {
	Cluster string
	Work    *workv1alpha1.Work
}

// Input is everything that Decide depends on.
type Input struct {
	// Generation and Created are the binding's generation and creation time.
	Generation int64
	Created    time.Time
	// Spec is the binding's spec.
	Spec *workv1alpha2.ResourceBindingSpec
	// Status is the binding's current status.
	Status *workv1alpha2.ResourceBindingStatus
	// Reports are the Works of the binding, in any order.
	Reports []Report
	// Silent maps the name of each silent cluster to since when it is silent.
	Silent map[string]time.Time
	// LeftOut holds the statuses that are known to be unfit, by cluster name.
	LeftOut map[string]LeftOut
	// Unrendered says that the binding changed and its Works do not show the change yet.
	Unrendered bool
	// Now is the current time.
	Now time.Time
}

// Decision is the desired status of the binding.
type Decision struct {
	// Early is true while no cluster has reported and ReportGrace lasts. All other fields but Wait are unset then.
	Early bool
	// Wait is when to decide again if nothing happens; 0 means never.
	Wait time.Duration
	// Partial is true if the binding has no status yet and only some of its clusters have reported: writing it may wait a moment for
	// the others.
	Partial bool
	// Changed is false if the binding's status is the desired one already.
	Changed bool
	// Items are the items for aggregatedStatus, sorted by cluster.
	Items []workv1alpha2.AggregatedStatusItem
	// Reported are the same items at the same indexes, including the statuses that do not fit in the binding. The template's status is
	// aggregated from them.
	Reported []workv1alpha2.AggregatedStatusItem
	// Unshown is a digest of the statuses that Reported has and Items has not; empty if there are none.
	Unshown string
	// FullyApplied is the condition of this name.
	FullyApplied metav1.Condition
	// Stale is the condition of this name; nil if no cluster is silent.
	Stale *metav1.Condition
	// Refused are the items that are not applied, or whose status is left out, for a reason that the binding's current status does not
	// give.
	Refused []workv1alpha2.AggregatedStatusItem
}

// Decide returns the desired status of a binding. It is deterministic.
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

// Items returns one item for each cluster, sorted by name. The item of a cluster that has not reported, or could not apply the object, has
// no status: an old one would be misleading.
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

// order returns the reports sorted by cluster. It drops Works that are being deleted, and all but the first by name of a cluster's Works.
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

// manifestOf returns the Work's manifest status for the template's object; nil if there is none. It ignores the API version: when the
// binding changes to another version, a cluster that is silent, suspended or in a later wave has reported the object in the former one,
// and its report still holds. If the kind's rules or the API server reject such a status, it is left out like any other.
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

// silent returns whether no cluster has reported anything.
func silent(reports []Report) bool {
	for _, r := range reports {
		if meta.FindStatusCondition(r.Work.Status.Conditions, workv1alpha1.WorkApplied) != nil {
			return false
		}
	}
	return true
}

// reportedAll returns whether every target has reported something.
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

// Refused returns the items of after that give a reason for not being applied, or for their status being left out, which the cluster's
// item in before did not give.
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

// same returns whether two conditions are equal except for their transition time.
func same(before *metav1.Condition, after metav1.Condition) bool {
	return before != nil && before.Status == after.Status && before.Reason == after.Reason &&
		before.Message == after.Message && before.ObservedGeneration == after.ObservedGeneration
}
