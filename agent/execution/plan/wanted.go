package plan

import (
	"bytes"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/prose"
)

// wantedNamed is how many objects a message names.
const wantedNamed = 3

// Wanted is an object inside a Namespace or of a CustomResourceDefinition, and the Work that it belongs to.
type Wanted struct {
	Object Object
	// Work is the Work's name.
	Work string
}

// String names both for people.
func (w Wanted) String() string { return fmt.Sprintf("%s of Work %s", w.Object, w.Work) }

// WantedIn returns, up to a maximum, the objects that would be deleted with a Namespace or a CustomResourceDefinition
// although their Works do not end. Objects that outlive their Work are not included: they already keep their
// container (Outlives).
func WantedIn(container Manifest, works []workv1alpha1.Work, most int) []Wanted {
	mentions, contains := inside(container)
	var out []Wanted
	for i := range works {
		work := &works[i]
		if !work.DeletionTimestamp.IsZero() || ptr.Deref(work.Spec.PreserveResourcesOnDeletion, false) {
			continue
		}
		if !mention(work, mentions) {
			continue // no need to parse it
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

// mention returns whether any manifest of a Work contains a text.
func mention(work *workv1alpha1.Work, what []byte) bool {
	return slices.ContainsFunc(work.Spec.Workload.Manifests, func(m workv1alpha1.Manifest) bool { return bytes.Contains(m.Raw, what) })
}

// inside returns a text that the manifest of every object in a container contains, and a predicate for such objects.
func inside(container Manifest) (mentions []byte, contains func(Object) bool) {
	if IsNamespace(container.Object) {
		return []byte(`"` + container.Object.Name + `"`), func(o Object) bool { return o.Namespace == container.Object.Name }
	}
	defined := definedBy(container.Desired)
	return []byte(`"` + defined.Kind + `"`), func(o Object) bool { return o.GroupKind() == defined }
}

// WantedMessage explains why a Namespace or a CustomResourceDefinition, and with it the rest of its Work, is not
// deleted yet.
func WantedMessage(o Object, wanted []Wanted) string {
	return fmt.Sprintf("%s is not deleted from the member, because objects that other Works still want here would be deleted with it (%s): "+
		"remove those from this cluster first, or send this one here again; or allow their deletion on its template or Work (annotation %s: %q)",
		o, named(wanted), contract.DeleteContentsAnnotation, contract.LabelTrue)
}

// FirstMessage explains why a Namespace or a CustomResourceDefinition waits for an object in it to be deleted first.
func FirstMessage(o Object, first Wanted) string {
	return fmt.Sprintf("%s is not deleted from the member before %s, which would be deleted with it and is about to be deleted by itself: "+
		"see the events of that Work; or allow on the template or Work of the former that its contents are deleted with it (annotation %s: %q)",
		o, first, contract.DeleteContentsAnnotation, contract.LabelTrue)
}

// named lists some of several objects.
func named(wanted []Wanted) string {
	names := make([]string, 0, len(wanted))
	for _, w := range wanted {
		names = append(names, w.String())
	}
	slices.Sort(names)
	return prose.Names(names, wantedNamed)
}
