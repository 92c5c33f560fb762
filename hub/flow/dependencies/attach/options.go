package attach

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// PreserveWhereLeft notes on a binding that a workload which needed it left some clusters, or is gone. If its policy preserves what it leaves
// there, that runs on, and so what it needs stays as well, whoever else needs it until then. What is in another namespace does not:
// its owner lets it be referred to, and takes that back. Of a workload whose binding is not known, nil, what was noted last of its
// policy says it.
func PreserveWhereLeft(b workv1alpha2.Binding, clusters sets.Set[string], independent types.NamespacedName, workload workv1alpha2.Binding) {
	if ns := independent.Namespace; ns != "" && b.GetNamespace() != "" && ns != b.GetNamespace() {
		return
	}
	preserved := noted(b, independent)
	if workload != nil {
		preserved = preserves(workload)
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
	return preserves(b)
}

// PreserveAsLast has a binding that goes with the last workload that needed its object say whether the object stays in members, as the
// policy of that workload has it by now. The binding of the workload is nil if it is not known.
func PreserveAsLast(b workv1alpha2.Binding, workload workv1alpha2.Binding) {
	if workload == nil {
		return
	}
	if preserves(workload) != preserves(b) {
		b.BindingSpec().PreserveResourcesOnDeletion = new(preserves(workload))
	}
	unpack(b.BindingSpec())
	note(b.BindingSpec(), []workv1alpha2.Binding{workload})
}

func preserves(b workv1alpha2.Binding) bool {
	return ptr.Deref(b.BindingSpec().PreserveResourcesOnDeletion, false)
}

// note writes of each workload whether it is preserved: what it needs stays where that workload is, and nowhere else.
func note(spec *workv1alpha2.ResourceBindingSpec, referrers []workv1alpha2.Binding) {
	preserved := make(map[types.NamespacedName]bool, len(referrers))
	for _, r := range referrers {
		preserved[types.NamespacedName{Namespace: r.GetNamespace(), Name: r.GetName()}] = preserves(r)
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
// one namespace has no say over what is somebody else's in the members, so Overwrite counts only of who may. It returns one text for each
// option in which they differ, with both values.
func Options(b workv1alpha2.Binding, referrers []workv1alpha2.Binding) (conflicts []string) {
	spec := b.BindingSpec()
	if Selected(b) || len(referrers) == 0 {
		return nil
	}
	overwrite, abort, preserve := 0, 0, 0
	for _, r := range referrers {
		if r.BindingSpec().ConflictResolution != policyv1alpha1.ConflictOverwrite {
			abort++
		} else if mayTakeOver(r, b) {
			overwrite++
		}
		if preserves(r) {
			preserve++
		}
	}
	spec.ConflictResolution = policyv1alpha1.ConflictAbort
	if overwrite > 0 {
		spec.ConflictResolution = policyv1alpha1.ConflictOverwrite
	}
	spec.PreserveResourcesOnDeletion = new(preserve > 0 || othersStay(spec, referrers))
	note(spec, referrers)
	if overwrite > 0 && abort > 0 {
		conflicts = append(conflicts, fmt.Sprintf("ConflictResolution conflicted (%s vs %s)", policyv1alpha1.ConflictOverwrite, policyv1alpha1.ConflictAbort))
	}
	if preserve > 0 && preserve < len(referrers) {
		conflicts = append(conflicts, "PreserveResourcesOnDeletion conflicted (true vs false)")
	}
	return conflicts
}

// othersStay says whether a workload is preserved whose binding is not known, as was noted of its policy last: it is taken off yet, and is
// counted by then.
func othersStay(spec *workv1alpha2.ResourceBindingSpec, known []workv1alpha2.Binding) bool {
	return slices.ContainsFunc(spec.RequiredBy, func(s workv1alpha2.BindingSnapshot) bool {
		return ptr.Deref(s.Preserve, false) && !slices.ContainsFunc(known, func(b workv1alpha2.Binding) bool {
			return s.Namespace == b.GetNamespace() && s.Name == b.GetName()
		})
	})
}

// mayTakeOver says whether a workload may have what it needs take the place of an object that a member has already: one of the
// same namespace may, and one of none, which an administrator wrote.
func mayTakeOver(workload, needed workv1alpha2.Binding) bool {
	return workload.GetNamespace() == "" || workload.GetNamespace() == needed.GetNamespace()
}
