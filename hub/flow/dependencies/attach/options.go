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

// PreserveWhereLeft notes on a binding that a workload which needed it left some clusters, or is gone. If its policy preserves what it leaves
// there, that runs on, and so what it needs stays as well, whoever else needs it until then. What is in another namespace does not:
// its owner lets it be referred to, and takes that back. Of a workload whose binding is not known, nil, what was noted last of its
// policy says it.
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

// noted says whether a workload is preserved as far as a binding says that it needs. An older hub noted only whether any is.
func noted(b workv1alpha2.Binding, independent types.NamespacedName) bool {
	for _, s := range b.BindingSpec().RequiredBy {
		if s.Namespace == independent.Namespace && s.Name == independent.Name && s.Preserve != nil {
			return *s.Preserve
		}
	}
	return Preserves(b)
}

// PreserveAsLast has a binding that goes with the last workload that needed its object say whether the object stays in members, as the
// policy of that workload has it by now, and where: not in the clusters where the workload does without. Those are taken off and not the
// workload, by which the binding is found if it is not deleted at once. The binding of the workload is nil if it is not known.
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
	for i := range spec.RequiredBy { // it is no list of the cache: note has cloned it
		if s := &spec.RequiredBy[i]; s.Namespace == workload.GetNamespace() && s.Name == workload.GetName() {
			s.Clusters = slices.DeleteFunc(slices.Clone(s.Clusters), func(t workv1alpha2.TargetCluster) bool { return without.Has(t.Name) })
		}
	}
}

// PreserveGoing has a binding that is being deleted, with workloads that needed its object or before them, keep the object where one of these is
// preserved. All that says that the object is needed there stays on it.
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

// Preserves says whether a binding has what it brought stay in the members when it goes.
func Preserves(b workv1alpha2.Binding) bool {
	return ptr.Deref(b.BindingSpec().PreserveResourcesOnDeletion, false)
}

// preservesFor says whether a workload has what it needs stay where it is when it goes: what is in another namespace leaves with the grant
// of its owner.
func preservesFor(workload, needed workv1alpha2.Binding) bool {
	return Preserves(workload) && !bindings.IsForeign(workload.GetNamespace(), needed.GetNamespace())
}

// note writes of each workload whether it is preserved: what it needs stays where that workload is, and nowhere else.
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

// Options gives a binding that no policy selects the options of those that need it:
// Overwrite, and to preserve, win over the absence of either, the latter only where a workload is that has it. Whoever writes policies in
// one namespace has no say over what is somebody else's in the members, so either counts only of who may. It returns one text for each
// option in which they differ, with both values.
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

// othersStay says whether a workload is preserved whose binding is not known, as was noted of its policy last: it is taken off yet, and is
// counted by then.
func othersStay(needed workv1alpha2.Binding, known []workv1alpha2.Binding) bool {
	return slices.ContainsFunc(needed.BindingSpec().RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return ptr.Deref(s.Preserve, false) && !bindings.IsForeign(s.Namespace, needed.GetNamespace()) && !slices.ContainsFunc(known, func(b workv1alpha2.Binding) bool {
			return s.Namespace == b.GetNamespace() && s.Name == b.GetName()
		})
	})
}

// mayTakeOver says whether a workload may have what it needs take the place of an object that a member has already: one of the
// same namespace may, and one of none, which an administrator wrote.
func mayTakeOver(workload, needed workv1alpha2.Binding) bool {
	return workload.GetNamespace() == "" || workload.GetNamespace() == needed.GetNamespace()
}
