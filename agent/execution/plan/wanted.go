package plan

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// wantedNamed is how many objects a sentence names that are still wanted.
const wantedNamed = 3

// Wanted is an object that is in a Namespace or of a CustomResourceDefinition, and the Work that has it.
type Wanted struct {
	Object Object
	// Work is its name.
	Work string
}

// String names both for people.
func (w Wanted) String() string { return fmt.Sprintf("%s of Work %s", w.Object, w.Work) }

// WantedIn returns, up to so many, the objects that would go with a Namespace or a CustomResourceDefinition although their
// Works do not end. What stays when its Work ends is not among them: that keeps what it is in by itself (Outlives).
func WantedIn(container Manifest, works []workv1alpha1.Work, most int) []Wanted {
	mentions, contains := inside(container)
	var out []Wanted
	for i := range works {
		work := &works[i]
		if !work.DeletionTimestamp.IsZero() || ptr.Deref(work.Spec.PreserveResourcesOnDeletion, false) {
			continue
		}
		if !slices.ContainsFunc(work.Spec.Workload.Manifests, func(m workv1alpha1.Manifest) bool { return bytes.Contains(m.Raw, mentions) }) {
			continue // nothing of it needs to be understood
		}
		for _, m := range Parse(work) {
			if m.Problem != nil || !contains(m.Object) {
				continue
			}
			if out = append(out, Wanted{Object: m.Object, Work: work.Name}); len(out) >= most {
				return out
			}
		}
	}
	return out
}

// inside returns a text that the manifest of each object has which is in a container, and what tells whether an object is.
func inside(container Manifest) (mentions []byte, contains func(Object) bool) {
	if IsNamespace(container.Object) {
		return []byte(`"` + container.Object.Name + `"`), func(o Object) bool { return o.Namespace == container.Object.Name }
	}
	group, kind := text(container.Desired.Object, "spec", "group"), text(container.Desired.Object, "spec", "names", "kind")
	return []byte(`"` + kind + `"`), func(o Object) bool { return o.Group == group && o.Kind == kind }
}

// WantedMessage says why a Namespace or a CustomResourceDefinition is not deleted yet, nor anything else of its Work.
func WantedMessage(o Object, wanted []Wanted) string {
	return fmt.Sprintf("%s is not deleted from the member, since objects that other Works still want here would go with it (%s): "+
		"take those away from this cluster first, or send this one here again; or say on its template or Work that they may go with it (annotation %s: %q)",
		o, named(wanted), contract.DeleteContentsAnnotation, contract.LabelTrue)
}

// FirstMessage says why a Namespace or a CustomResourceDefinition is not deleted yet where an object in it is to be deleted first.
func FirstMessage(o Object, first Wanted) string {
	return fmt.Sprintf("%s is not deleted from the member before %s, which would go with it and is about to be deleted for itself: "+
		"see what the events on that Work say; or say on the template or Work of the former that what is in it may go with it (annotation %s: %q)",
		o, first, contract.DeleteContentsAnnotation, contract.LabelTrue)
}

// named names some of several objects.
func named(wanted []Wanted) string {
	names := make([]string, 0, len(wanted))
	for _, w := range wanted {
		names = append(names, w.String())
	}
	slices.Sort(names)
	more := ""
	if len(names) > wantedNamed {
		more = fmt.Sprintf(" and %d more", len(names)-wantedNamed)
	}
	return strings.Join(names[:min(len(names), wantedNamed)], ", ") + more
}
