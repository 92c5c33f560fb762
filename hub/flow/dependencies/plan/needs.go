package plan

import (
	"cmp"
	"slices"
	"strings"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Answerers are the objects whose rules say what a workload needs, each as KIND/NAME.
type Answerers struct {
	// There are those that say so now, and those that said so before and still exist.
	There []string
	// Gone are those that said so before and do not exist any more; Others those that exist and have only rules for other kinds or
	// versions.
	Gone, Others []string
	// Unknown says that there are no rules now, and that it is not known whether there were any before, because an earlier version of the
	// hub did not record it.
	Unknown bool
}

// orphans returns the attached objects that are not named any more and whose rules are gone.
func (a Answerers) orphans(named []configv1alpha1.DependentObjectReference, attached []workv1alpha2.Binding) []configv1alpha1.DependentObjectReference {
	if len(a.Gone)+len(a.Others) == 0 && !a.Unknown {
		return nil
	}
	return unnamed(named, attached)
}

// noted is the record for the workload's binding. It includes the objects that are gone while anything stays attached because of them.
func (a Answerers) noted(orphans []configv1alpha1.DependentObjectReference) string {
	out := slices.Clone(a.There)
	if len(orphans) > 0 {
		out = slices.Concat(out, a.Gone, a.Others)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// Needs are the dependencies of a workload, before permissions.
type Needs struct {
	// By are the objects whose rules say so.
	By Answerers
	// Refs are all references. Of these, Orphans are not named any more, and stay because the rules that named them are gone; Held are not
	// named any more, and stay while dispatching to some cluster is suspended.
	Refs, Orphans, Held []configv1alpha1.DependentObjectReference
}

// NeedsOf returns the dependencies of a binding's workload: those that its template names, and those that stay attached.
func NeedsOf(b workv1alpha2.Binding, named []configv1alpha1.DependentObjectReference, by Answerers, attached []workv1alpha2.Binding) Needs {
	out := Needs{By: by, Orphans: by.orphans(named, attached)}
	out.Refs = slices.Concat(named, out.Orphans)
	out.Held = held(b, out.Refs, attached)
	out.Refs = slices.Concat(out.Refs, out.Held)
	return out
}

// held returns the attached objects that the template does not name any more, while dispatching to some cluster is suspended: the copy
// there may be of an older template, and need them. Objects in other namespaces need their grants as always. Staged workloads have their
// own record of what clusters may need.
func held(b workv1alpha2.Binding, named []configv1alpha1.DependentObjectReference, attached []workv1alpha2.Binding) []configv1alpha1.DependentObjectReference {
	spec := b.BindingSpec()
	suspended := func(cluster string) bool { return bindings.Suspended(spec.Suspension, cluster) }
	if bindings.IsStaged(b) || len(attached) == 0 || !slices.ContainsFunc(bindings.Places(spec), suspended) {
		return nil
	}
	return unnamed(named, attached)
}

// unnamed returns, sorted, references to the attached objects that are not named. Those that are being deleted are left out.
func unnamed(named []configv1alpha1.DependentObjectReference, attached []workv1alpha2.Binding) []configv1alpha1.DependentObjectReference {
	var out []configv1alpha1.DependentObjectReference
	for _, other := range attached {
		if OfAnother(other) || other.GetDeletionTimestamp() != nil {
			continue // such a binding was forged, and must not send what it names to clusters
		}
		resource := other.BindingSpec().Resource
		ref := configv1alpha1.DependentObjectReference{APIVersion: resource.APIVersion, Kind: resource.Kind, Namespace: resource.Namespace, Name: resource.Name}
		if !names(named, ref) {
			out = append(out, ref)
		}
	}
	slices.SortFunc(out, func(a, b configv1alpha1.DependentObjectReference) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return out
}
