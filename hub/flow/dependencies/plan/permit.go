package plan

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/hub/flow/dependencies/attach"
)

// Permission is what of the references of a template may follow it.
type Permission struct {
	// Granted may follow; Withheld are in other namespaces whose owners did not say so.
	Granted, Withheld []configv1alpha1.DependentObjectReference
	// Stays is granted in other namespaces to a workload whose changes go out in waves: it follows as far as it did before they went so.
	Stays []configv1alpha1.DependentObjectReference
	// Ending is in namespaces that are being deleted, whose grants may go before what they are about: it follows as far as it did, until
	// it goes itself.
	Ending []configv1alpha1.DependentObjectReference
	// Unserved says that the hub has no kind by which they could say so. Then what of other namespaces is attached stays.
	Unserved bool
}

// GrantsWanted are the ReferenceGrants that decide about references, as references: what changes them wakes the binding.
func GrantsWanted(b workv1alpha2.Binding, refs []configv1alpha1.DependentObjectReference) []configv1alpha1.DependentObjectReference {
	apiVersion, kind := attach.GrantKind().ToAPIVersionAndKind()
	var out []configv1alpha1.DependentObjectReference
	seen := map[string]bool{}
	for _, ref := range refs {
		if attach.Crosses(b.BindingSpec().Resource, ref) && !seen[ref.Namespace] {
			seen[ref.Namespace] = true
			out = append(out, configv1alpha1.DependentObjectReference{
				APIVersion: apiVersion, Kind: kind, Namespace: ref.Namespace, LabelSelector: &metav1.LabelSelector{},
			})
		}
	}
	return out
}

// Permit says which references of a template may be followed, by the ReferenceGrants that GrantsWanted names.
func Permit(b workv1alpha2.Binding, refs []configv1alpha1.DependentObjectReference, grants []*unstructured.Unstructured) Permission {
	var out Permission
	for _, ref := range refs {
		// A wave's content is kept in a Secret of the workload's namespace, whose people may read it. A grant is to refer, not to read.
		switch {
		case !attach.Crosses(b.BindingSpec().Resource, ref):
			out.Granted = append(out.Granted, ref)
		case !attach.Granted(grants, b.BindingSpec().Resource, ref):
			out.Withheld = append(out.Withheld, ref)
		case bindings.IsStaged(b):
			out.Stays = append(out.Stays, ref)
		default:
			out.Granted = append(out.Granted, ref)
		}
	}
	return out
}

// KeepIn has what is withheld in some namespaces follow as far as it did: they are being deleted.
func (p Permission) KeepIn(ending sets.Set[string]) Permission {
	if len(ending) == 0 {
		return p
	}
	withheld := p.Withheld
	p.Withheld = nil
	for _, ref := range withheld {
		if ending.Has(ref.Namespace) {
			p.Ending = append(p.Ending, ref)
		} else {
			p.Withheld = append(p.Withheld, ref)
		}
	}
	return p
}
