package interpreter

import "k8s.io/apimachinery/pkg/runtime/schema"

// Changing is an interpreter whose rules change while it is in use.
type Changing interface {
	Interpreter
	// Version returns a short text that is another one after every change of the rules of
	// a kind, also if nobody was there to see it; empty if none of its rules can change.
	Version(kind schema.GroupVersionKind) string
	// AsksOthers says whether somebody else answers an operation for a kind, who may answer otherwise
	// another time although no rule changed.
	AsksOthers(kind schema.GroupVersionKind, op Operation) bool
	// Subscribe has f called after every change, with what says which kinds it affects.
	// f must not wait, and is called for as long as the process runs.
	Subscribe(f func(affects func(schema.GroupVersionKind) bool))
}

// Version returns the version of an interpreter's rules for a kind; empty if they never
// change.
func Version(i Interpreter, kind schema.GroupVersionKind) string {
	if changing, ok := i.(Changing); ok {
		return changing.Version(kind)
	}
	return ""
}

// AsksOthers says whether somebody else than the interpreter's own rules answers an operation for a kind.
func AsksOthers(i Interpreter, kind schema.GroupVersionKind, op Operation) bool {
	changing, ok := i.(Changing)
	return ok && changing.AsksOthers(kind, op)
}

// Subscribe has f called after every change of an interpreter's rules. Those of most
// never change, and f is never called.
func Subscribe(i Interpreter, f func(affects func(schema.GroupVersionKind) bool)) {
	if changing, ok := i.(Changing); ok {
		changing.Subscribe(f)
	}
}
