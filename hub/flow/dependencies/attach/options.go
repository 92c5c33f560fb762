package attach

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// PreserveWhereLeft records on a binding that a workload which needed it left some clusters, or is gone. If the workload's policy preserves
// resources on deletion, the workload keeps running there, and so its dependencies must stay as well, whatever else needs them.
// Dependencies in other namespaces do not stay, because their owner may revoke the grant. If the binding of the workload is not known
// (nil), the last record of its policy counts.
func PreserveWhereLeft(b workv1alpha2.Binding, clusters sets.Set[string], independent types.NamespacedName, workload workv1alpha2.Binding) {
	if bindings.IsForeign(independent.Namespace, b.GetNamespace()) {
		return
	}
	preserved := noted(b, independent)
	if workload != nil {
		preserved = Preserves(workload)
	}
	spec := b.BindingSpec()
	if known := sets.New(spec.PreservedIn...); !Selected(b) && preserved && !known.IsSuperset(clusters) {
		spec.PreservedIn = sets.List(known.Union(clusters))
	}
}

// noted returns whether a workload is preserved by the record on a binding that it needs. Earlier versions of the hub recorded only whether
// any workload is.
func noted(b workv1alpha2.Binding, independent types.NamespacedName) bool {
	for _, s := range b.BindingSpec().RequiredBy {
		if s.Namespace == independent.Namespace && s.Name == independent.Name && s.Preserve != nil {
			return *s.Preserve
		}
	}
	return Preserves(b)
}

// PreserveAsLast updates a binding that is deleted because the last workload that needed it does not need it any more: whether the object
// stays in the members, by the present policy of that workload, and where. It does not stay in the clusters where the workload runs without
// it. Those clusters are removed from the binding rather than the whole workload, because the binding is found by the workload if it is not
// deleted at once. The workload's binding is nil if it is not known.
func PreserveAsLast(b workv1alpha2.Binding, workload workv1alpha2.Binding, without sets.Set[string]) {
	if workload == nil {
		return
	}
	if stays := preservesFor(workload, b); stays != Preserves(b) {
		b.BindingSpec().PreserveResourcesOnDeletion = new(stays)
	}
	spec := b.BindingSpec()
	unpack(spec)
	note(b, []workv1alpha2.Binding{workload})
	if len(without) == 0 || !preservesFor(workload, b) {
		return
	}
	for i := range spec.RequiredBy { // not shared with the cache, since note cloned it
		if s := &spec.RequiredBy[i]; s.Namespace == workload.GetNamespace() && s.Name == workload.GetName() {
			s.Clusters = slices.DeleteFunc(slices.Clone(s.Clusters), func(t workv1alpha2.TargetCluster) bool { return without.Has(t.Name) })
		}
	}
}

// PreserveGoing updates a binding that is deleted together with a workload that needs its object, or before it: the object stays where the
// workload is preserved. The record that the workload needs it stays, too.
func PreserveGoing(b workv1alpha2.Binding, workload workv1alpha2.Binding) {
	named := types.NamespacedName{Namespace: workload.GetNamespace(), Name: workload.GetName()}
	if Selected(b) || !preservesFor(workload, b) || !Names(b, named) {
		return
	}
	b.BindingSpec().PreserveResourcesOnDeletion = new(true)
	unpack(b.BindingSpec())
	note(b, []workv1alpha2.Binding{workload})
	Pack(b, nil)
}

// Preserves returns whether the objects of a binding stay in the members when the binding is deleted.
func Preserves(b workv1alpha2.Binding) bool {
	return ptr.Deref(b.BindingSpec().PreserveResourcesOnDeletion, false)
}

// preservesFor returns whether the dependencies of a workload stay in the members when the workload is deleted. Dependencies in other
// namespaces do not, since they depend on a grant.
func preservesFor(workload, needed workv1alpha2.Binding) bool {
	return Preserves(workload) && !bindings.IsForeign(workload.GetNamespace(), needed.GetNamespace())
}

// note records for each workload whether it is preserved. A dependency stays where such a workload is, and nowhere else.
func note(b workv1alpha2.Binding, referrers []workv1alpha2.Binding) {
	spec := b.BindingSpec()
	preserved := make(map[types.NamespacedName]bool, len(referrers))
	for _, r := range referrers {
		preserved[types.NamespacedName{Namespace: r.GetNamespace(), Name: r.GetName()}] = preservesFor(r, b)
	}
	spec.RequiredBy = slices.Clone(spec.RequiredBy)
	for i := range spec.RequiredBy {
		s := &spec.RequiredBy[i]
		if says, known := preserved[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}]; known {
			s.Preserve = new(says)
		}
	}
}

// Options gives a binding that no policy selects the options of the workloads that need it. Overwrite and preservation win over their
// absence; preservation applies only where a workload with this option is. Users who write policies in one namespace must not decide about
// objects of others in the members, so each option counts only from those who may. It returns a text for each option in which the workloads
// differ, with both values.
func Options(b workv1alpha2.Binding, referrers []workv1alpha2.Binding) (conflicts []string) {
	spec := b.BindingSpec()
	if Selected(b) || len(referrers) == 0 {
		return nil
	}
	overwrite, abort, preserve, leave := 0, 0, 0, 0
	for _, r := range referrers {
		if r.BindingSpec().ConflictResolution != policyv1alpha1.ConflictOverwrite {
			abort++
		} else if mayTakeOver(r, b) {
			overwrite++
		}
		if !Preserves(r) {
			leave++
		} else if preservesFor(r, b) {
			preserve++
		}
	}
	spec.ConflictResolution = policyv1alpha1.ConflictAbort
	if overwrite > 0 {
		spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	}
	spec.PreserveResourcesOnDeletion = new(preserve > 0 || othersStay(b, referrers))
	note(b, referrers)
	if overwrite > 0 && abort > 0 {
		conflicts = append(conflicts, fmt.Sprintf("ConflictResolution conflicted (%s vs %s)", policyv1alpha1.ConflictOverwrite, policyv1alpha1.ConflictAbort))
	}
	if preserve > 0 && leave > 0 {
		conflicts = append(conflicts, "PreserveResourcesOnDeletion conflicted (true vs false)")
	}
	return conflicts
}

// othersStay returns whether the last record says that a workload whose binding is not known is preserved. That workload is still to be
// detached, and counts until then.
func othersStay(needed workv1alpha2.Binding, known []workv1alpha2.Binding) bool {
	return slices.ContainsFunc(needed.BindingSpec().RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return ptr.Deref(s.Preserve, false) && !bindings.IsForeign(s.Namespace, needed.GetNamespace()) && !slices.ContainsFunc(known, func(b workv1alpha2.Binding) bool {
			return s.Namespace == b.GetNamespace() && s.Name == b.GetName()
		})
	})
}

// mayTakeOver returns whether a workload's dependency may replace an object that a member already has. A workload of the same namespace may
// do so, and one without a namespace, which an administrator created.
func mayTakeOver(workload, needed workv1alpha2.Binding) bool {
	return workload.GetNamespace() == "" || workload.GetNamespace() == needed.GetNamespace()
}
