package interpreter

import "k8s.io/apimachinery/pkg/runtime/schema"

// Sourced is an interpreter some of whose rules come from objects, which may go.
type Sourced interface {
	Interpreter
	// Sources returns the names of the objects that have rules for a kind, and of those whose rules answer an operation. There are none
	// where what answers is built in.
	Sources(kind schema.GroupVersionKind, op Operation) (all, answering []string)
}

// Sources returns the names of the objects that have an interpreter's rules for a kind, and of those whose rules answer an operation.
func Sources(i Interpreter, kind schema.GroupVersionKind, op Operation) (all, answering []string) {
	if sourced, ok := i.(Sourced); ok {
		return sourced.Sources(kind, op)
	}
	return nil, nil
}
