package interpreter

import "k8s.io/apimachinery/pkg/runtime/schema"

// Changing is an interpreter whose rules may change at runtime.
type Changing interface {
	Interpreter
	// Version returns a short text that differs after every change of a kind's rules, even if nobody observed the
	// change; empty if none of its rules can change.
	Version(kind schema.GroupVersionKind) string
	// AsksOthers returns whether an operation for a kind is answered by somebody else, such as a webhook, who may
	// answer differently later although no rule changed.
	AsksOthers(kind schema.GroupVersionKind, op Operation) bool
	// Subscribe calls f after every change, with a predicate for the affected kinds. f must not block, and is called
	// until the process ends.
	Subscribe(f func(affects func(schema.GroupVersionKind) bool))
}

// Version returns the version of an interpreter's rules for a kind; empty if they never change.
func Version(i Interpreter, kind schema.GroupVersionKind) string {
	if changing, ok := i.(Changing); ok {
		return changing.Version(kind)
	}
	return ""
}

// AsksOthers returns whether an operation for a kind is answered by somebody other than the interpreter's own rules.
func AsksOthers(i Interpreter, kind schema.GroupVersionKind, op Operation) bool {
	changing, ok := i.(Changing)
	return ok && changing.AsksOthers(kind, op)
}

// Subscribe calls f after every change of an interpreter's rules. For an interpreter that is not Changing, f is never
// called.
func Subscribe(i Interpreter, f func(affects func(schema.GroupVersionKind) bool)) {
	if changing, ok := i.(Changing); ok {
		changing.Subscribe(f)
	}
}
