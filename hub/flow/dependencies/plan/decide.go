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

// Input is all that the decision about what follows one workload depends on.
type Input struct {
	// Binding is that of the workload, and Marked says that it stays until nothing follows it any more.
	Binding workv1alpha2.Binding
	Marked  bool
	// Attached are the bindings that say that the workload needs them.
	Attached []workv1alpha2.Binding
	// Needs is what the workload is to have follow it, and Permitted what of that may.
	Needs     Needs
	Permitted Permission
	// Found is what the references that are granted mean, Stays what those mean that stay, and Ending what those mean in namespaces that are
	// being deleted.
	Found, Stays, Ending Finding
	// Recalled says that the binding named the references, and that the template was not read.
	Recalled bool
}

// Note is what the binding of a workload says of what that needs, and by whose rules.
type Note struct {
	Refs []configv1alpha1.DependentObjectReference
	By   string
}

// Plan is what is to be written, in the order of its fields.
type Plan struct {
	// Reread says that the template has to be read before anything is written, and the decision made again: the binding names something
	// else than what is attached.
	Reread bool
	// Keep says that the binding of the workload is to stay from now on until nothing follows it any more.
	Keep bool
	// Note is what that binding is to say. NoteLast says that it says so once all is attached, else before.
	Note     Note
	NoteLast bool
	// Detach are the bindings of what is not named any more. Some cluster may need it nevertheless.
	Detach []types.NamespacedName
	// Attach is what is to follow the workload, and Staying what of it is in other namespaces and followed before changes went out in waves.
	Attach, Staying []Object
	// Unserved says that the hub does not know all kinds: it is to be looked again, and no watch tells when.
	Unserved bool
	// Complete says that all that the workload needs is what the binding is to say, so that a start need not read the template.
	Complete bool
}

// Decide decides what follows a workload. What cannot be known stays as it is.
func Decide(in Input) Plan {
	isNew := func(o Object) bool { return !slices.ContainsFunc(in.Attached, o.IsOf) }
	staying, ending := slices.DeleteFunc(slices.Clone(in.Stays.Objects), isNew), slices.DeleteFunc(slices.Clone(in.Ending.Objects), isNew)
	objects := slices.Concat(in.Found.Objects, staying, ending)
	unserved := slices.Concat(in.Found.Unserved, in.Stays.Unserved, in.Ending.Unserved)
	p := Plan{
		// What goes out in waves goes out with what it needs: that is noted once all of it is attached.
		NoteLast: bindings.IsStaged(in.Binding),
		Note:     NoteOf(in),
		Detach:   unneeded(in, objects, unserved),
		Staying:  staying,
		Unserved: len(unserved) > 0 || in.Permitted.Unserved,
		// Of orphans it is the binding that says so.
		Complete: len(in.Needs.Orphans)+len(in.Permitted.Withheld)+len(in.Permitted.Stays)+len(in.Permitted.Ending) == 0,
	}
	p.Keep = p.NoteLast && !in.Marked
	// What is going is neither attached anew nor detached early.
	p.Attach = slices.DeleteFunc(objects, func(o Object) bool { return o.Meta.DeletionTimestamp != nil })
	if in.Recalled && (len(p.Detach) > 0 || slices.ContainsFunc(p.Attach, isNew)) {
		return Plan{Reread: true}
	}
	return p
}

// NoteOf returns what a binding is to say of what its workload needs, for which it need not be known what of that there is.
func NoteOf(in Input) Note {
	return Note{Refs: Without(in.Permitted.Granted, in.Needs.Held), By: in.Needs.By.noted(in.Needs.Orphans)}
}

// unneeded returns the bindings of those of what is attached to a workload that are not found any more.
func unneeded(in Input, found []Object, unserved []schema.GroupVersionKind) []types.NamespacedName {
	type key struct { // as of Object.IsOf
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
			continue // that the kind went took nobody's grant back
		}
		if !needed.Has(key{kind, keyOf(other)}) && !slices.ContainsFunc(unserved, func(k schema.GroupVersionKind) bool { return k.GroupKind() == kind }) {
			out = append(out, keyOf(other))
		}
	}
	return out
}
