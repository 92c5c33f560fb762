package plan

import (
	"cmp"
	"slices"
	"strings"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Answerers are the objects with rules that say what a workload needs, each as KIND/NAME.
type Answerers struct {
	// There are those that answer, and those that did and are still there.
	There []string
	// Gone are those that did and are not there any more, and Others those that are there, with rules for other kinds or versions alone.
	Gone, Others []string
	// Unknown says that nothing answers, and that it is not known whether anything did: a hub of before did not note it.
	Unknown bool
}

// orphans returns, beside what is named, what follows a workload already since one said so who is gone.
func (a Answerers) orphans(named []configv1alpha1.DependentObjectReference, attached []workv1alpha2.Binding) []configv1alpha1.DependentObjectReference {
	if len(a.Gone)+len(a.Others) == 0 && !a.Unknown {
		return nil
	}
	return unnamed(named, attached)
}

// noted is what the binding of the workload is to say: that somebody is gone as long as anything stays for that.
func (a Answerers) noted(orphans []configv1alpha1.DependentObjectReference) string {
	out := slices.Clone(a.There)
	if len(orphans) > 0 {
		out = slices.Concat(out, a.Gone, a.Others)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// Needs is what a workload is to have follow it, as far as it may.
type Needs struct {
	// By are those that say so.
	By Answerers
	// Refs are all references. Of these Orphans are not named any more, and stay since those are gone who named them; and Held are not
	// named either, and stay while nothing is delivered to some cluster.
	Refs, Orphans, Held []configv1alpha1.DependentObjectReference
}

// NeedsOf returns what the workload of a binding needs, which its template names, and what stays with it of what is attached.
func NeedsOf(b workv1alpha2.Binding, named []configv1alpha1.DependentObjectReference, by Answerers, attached []workv1alpha2.Binding) Needs {
	out := Needs{By: by, Orphans: by.orphans(named, attached)}
	out.Refs = slices.Concat(named, out.Orphans)
	out.Held = held(b, out.Refs, attached)
	out.Refs = slices.Concat(out.Refs, out.Held)
	return out
}

// held returns, beside what a template names, what follows its workload already, while nothing of that is delivered to some
// cluster: the copy there may be of an older template, and need what the new one does not name. Somebody else's objects need
// their grants as ever. What goes out in waves has its own record of what clusters may need.
func held(b workv1alpha2.Binding, named []configv1alpha1.DependentObjectReference, attached []workv1alpha2.Binding) []configv1alpha1.DependentObjectReference {
	spec := b.BindingSpec()
	suspended := func(cluster string) bool { return bindings.Suspended(spec.Suspension, cluster) }
	if bindings.IsStaged(b) || len(attached) == 0 || !slices.ContainsFunc(bindings.Places(spec), suspended) {
		return nil
	}
	return unnamed(named, attached)
}

// unnamed returns references to what follows a workload already and is not named, sorted. What is going is let go.
func unnamed(named []configv1alpha1.DependentObjectReference, attached []workv1alpha2.Binding) []configv1alpha1.DependentObjectReference {
	var out []configv1alpha1.DependentObjectReference
	for _, other := range attached {
		if OfAnother(other) || other.GetDeletionTimestamp() != nil {
			continue // somebody wrote the former, and would have what it names sent to clusters
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
