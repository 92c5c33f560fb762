package interpreter

import "k8s.io/apimachinery/pkg/runtime/schema"

// Sourced is an interpreter with rules that come from objects, which may be deleted.
type Sourced interface {
	Interpreter
	// Sources returns the names of the objects that have rules for a kind, and of those whose rules answer an
	// operation. There are none for built-in rules.
	Sources(kind schema.GroupVersionKind, op Operation) (all, answering []string)
	// RulesOf returns the kinds for which an object with this name has rules, formatted for people, and whether the
	// object exists.
	RulesOf(source string) (kinds []string, exists bool)
}

// Sources returns the names of the objects that hold an interpreter's rules for a kind, and of those whose rules
// answer an operation.
func Sources(i Interpreter, kind schema.GroupVersionKind, op Operation) (all, answering []string) {
	if sourced, ok := i.(Sourced); ok {
		return sourced.Sources(kind, op)
	}
	return nil, nil
}

// RulesOf returns the kinds for which one of an interpreter's objects has rules, and whether the object exists.
func RulesOf(i Interpreter, source string) (kinds []string, exists bool) {
	if sourced, ok := i.(Sourced); ok {
		return sourced.RulesOf(source)
	}
	return nil, false
}
