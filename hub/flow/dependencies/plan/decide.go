package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

// Input is everything that the decision about the dependencies of one workload depends on.
type Input struct {
	// Binding is the workload's binding; Marked says that it has the finalizer.
	Binding workv1alpha2.Binding
	Marked  bool
	// Attached are the bindings that are attached to the workload's.
	Attached []workv1alpha2.Binding
	// Needs are the dependencies of the workload; Permitted says which of them may be attached.
	Needs     Needs
	Permitted Permission
	// Found are the objects of the granted references, Stays those of the references in Permission.Stays, and Ending those of references to
	// namespaces that are being deleted.
	Found, Stays, Ending Finding
	// Recalled says that the references are from the record on the binding, and that the template was not read.
	Recalled bool
}

// Note is what the binding of a workload records about its dependencies, and by whose rules.
type Note struct {
	Refs []configv1alpha1.DependentObjectReference
	By   string
}

// Plan is what to write, in the order of its fields.
type Plan struct {
	// Reread says that the template must be read and the decision made again before anything is written, because the record on the binding
	// differs from what is attached.
	Reread bool
	// Keep says to add the finalizer to the binding of the workload.
	Keep bool
	// Note is what to record on that binding. NoteLast says to do so after everything is attached, instead of before.
	Note     Note
	NoteLast bool
	// Detach are the bindings that are not named any more. Some cluster may still need them.
	Detach []types.NamespacedName
	// Attach are the objects to attach. Staying are those of them that are in other namespaces and were attached before the workload was
	// rolled out in waves.
	Attach, Staying []Object
	// Unserved says that the hub does not serve all kinds. The check must be repeated, since no watch reports a change.
	Unserved bool
	// Complete says that Note covers all dependencies of the workload, so that a start need not read the template.
	Complete bool
}

// Decide decides what to attach to a workload. What cannot be determined stays as it is.
func Decide(in Input) Plan {
	isNew := func(o Object) bool { return !slices.ContainsFunc(in.Attached, o.IsOf) }
	staying, ending := slices.DeleteFunc(slices.Clone(in.Stays.Objects), isNew), slices.DeleteFunc(slices.Clone(in.Ending.Objects), isNew)
	objects := slices.Concat(in.Found.Objects, staying, ending)
	unserved := slices.Concat(in.Found.Unserved, in.Stays.Unserved, in.Ending.Unserved)
	p := Plan{
		// A staged workload is rolled out together with its dependencies, so they are recorded once all of them are attached.
		NoteLast: bindings.IsStaged(in.Binding),
		Note:     NoteOf(in),
		Detach:   unneeded(in, objects, unserved),
		Staying:  staying,
		Unserved: len(unserved) > 0 || in.Permitted.Unserved,
		// Orphans are known only from the binding.
		Complete: len(in.Needs.Orphans)+len(in.Permitted.Withheld)+len(in.Permitted.Stays)+len(in.Permitted.Ending) == 0,
	}
	p.Keep = p.NoteLast && !in.Marked
	// An object that is being deleted is not attached, nor detached before it is gone.
	p.Attach = slices.DeleteFunc(objects, func(o Object) bool { return o.Meta.DeletionTimestamp != nil })
	if in.Recalled && (len(p.Detach) > 0 || slices.ContainsFunc(p.Attach, isNew)) {
		return Plan{Reread: true}
	}
	return p
}

// NoteOf returns what a binding records about the dependencies of its workload. It does not depend on which of the objects exist.
func NoteOf(in Input) Note {
	return Note{Refs: Without(in.Permitted.Granted, in.Needs.Held), By: in.Needs.By.noted(in.Needs.Orphans)}
}

// unneeded returns the attached bindings whose objects were not found among the dependencies.
func unneeded(in Input, found []Object, unserved []schema.GroupVersionKind) []types.NamespacedName {
	type key struct { // as in Object.IsOf
		kind    schema.GroupKind
		binding types.NamespacedName
	}
	needed := make(sets.Set[key], len(found))
	for _, o := range found {
		needed.Insert(key{o.Kind.GroupKind(), o.Binding()})
	}
	var out []types.NamespacedName
	for _, other := range in.Attached {
		kind := KindOf(other).GroupKind()
		if in.Permitted.Unserved && in.Binding.GetNamespace() != "" && other.GetNamespace() != "" && other.GetNamespace() != in.Binding.GetNamespace() {
			continue // grants are not revoked if their kind is not served any more
		}
		if !needed.Has(key{kind, keyOf(other)}) && !slices.ContainsFunc(unserved, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind }) {
			out = append(out, keyOf(other))
		}
	}
	return out
}
