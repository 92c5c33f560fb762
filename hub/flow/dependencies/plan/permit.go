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

// Permission says which references of a template may be followed.
type Permission struct {
	// Granted may be followed. Withheld are to other namespaces, without a grant.
	Granted, Withheld []configv1alpha1.DependentObjectReference
	// Stays are granted references to other namespaces of a workload that is rolled out in waves. They are followed as far as they were
	// before it was rolled out so.
	Stays []configv1alpha1.DependentObjectReference
	// Ending are references to namespaces that are being deleted, where grants may be deleted before the objects that they are for. They
	// are followed as far as before, until the objects are gone.
	Ending []configv1alpha1.DependentObjectReference
	// Unserved says that the hub does not serve the kind of grants, or that its definition is being deleted, which deletes all grants.
	// Then attached objects of other namespaces stay.
	Unserved bool
}

// GrantsWanted returns references to the ReferenceGrants that decide about references, so that changes of these trigger a reconcile of the
// binding.
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

// Permit decides which references of a template may be followed, by the ReferenceGrants that GrantsWanted names.
func Permit(b workv1alpha2.Binding, refs []configv1alpha1.DependentObjectReference, grants []*unstructured.Unstructured) Permission {
	var out Permission
	for _, ref := range refs {
		// The content of a wave is kept in a Secret in the workload's namespace, whose users may read it. A grant allows references, not
		// reading.
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

// KeepIn moves withheld references to Ending if their namespaces are being deleted.
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
