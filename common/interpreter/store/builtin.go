package store

import (
	"fmt"

	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
	"fairlead.dev/common/interpreter/native"
	"fairlead.dev/common/interpreter/thirdparty"
)

// Layer is a set of rules with a name for people.
type Layer struct {
	Name string
	interpreter.Interpreter
}

// Layers returns the built-in layers: the rules for widely used custom resources, which take precedence, and those
// for the kinds of Kubernetes. The options are for the scripts among them.
func Layers(o vm.Options) ([]Layer, error) {
	shipped, err := thirdparty.New(o)
	if err != nil {
		return nil, fmt.Errorf("reading the rules that are built in: %w", err)
	}
	return []Layer{{"the rules shipped for custom resources", shipped}, {"the native rules", native.New()}}, nil
}

// BuiltIn returns the built-in layers as one interpreter.
func BuiltIn(o vm.Options) (interpreter.Interpreter, error) {
	layers, err := Layers(o)
	if err != nil {
		return nil, err
	}
	var all []interpreter.Interpreter
	for _, l := range layers {
		all = append(all, l)
	}
	return interpreter.Chain(all...), nil
}
