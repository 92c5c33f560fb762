package thirdparty

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/yaml"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/interpreter/lua/vm"
)

//go:embed rules/*/*/*/rules.yaml
var folders embed.FS

//go:embed rules.lua
var shared string

// Interpreter answers for the kinds that have rules here. It is safe for concurrent use.
type Interpreter struct {
	kinds map[schema.GroupVersionKind]func() (*lua.Interpreter, error)
}

var _ interpreter.Interpreter = &Interpreter{}

// New returns the interpreter; the options, except the modules, are passed to the engine of its scripts. It returns
// an error only if the embedded rules are broken.
func New(o vm.Options) (*Interpreter, error) {
	o.Modules = map[string]string{"rules": shared}
	compiler, err := lua.NewCompiler(lua.Options{Options: o})
	if err != nil {
		return nil, err
	}
	paths, err := fs.Glob(folders, "rules/*/*/*/rules.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the rules: %w", err)
	}
	i := &Interpreter{kinds: map[schema.GroupVersionKind]func() (*lua.Interpreter, error){}}
	for _, path := range paths {
		for _, kind := range kindsOf(path) {
			i.kinds[kind] = sync.OnceValues(func() (*lua.Interpreter, error) { return compile(compiler, path, kind) })
		}
	}
	return i, nil
}

// kindsOf returns the kinds whose rules are at a path.
func kindsOf(path string) []schema.GroupVersionKind {
	parts := strings.Split(path, "/")
	group, versions, kind := parts[1], parts[2], parts[3]
	var out []schema.GroupVersionKind
	for version := range strings.SplitSeq(versions, ",") {
		out = append(out, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	}
	return out
}

// Kinds returns the kinds that have rules, in no particular order.
func (i *Interpreter) Kinds() []schema.GroupVersionKind {
	return slices.Collect(maps.Keys(i.kinds))
}

// compile reads and compiles the rules of a kind.
func compile(compiler *lua.Compiler, path string, kind schema.GroupVersionKind) (*lua.Interpreter, error) {
	text, err := folders.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the rules of %s: %w", kind, err)
	}
	var customization configv1alpha1.ResourceInterpreterCustomization
	if err := yaml.UnmarshalStrict(text, &customization); err != nil {
		return nil, fmt.Errorf("reading the rules of %s: %w", kind, err)
	}
	customization.Name = path
	customization.Spec.Target.APIVersion, customization.Spec.Target.Kind = kind.ToAPIVersionAndKind()
	return compiler.Compile([]configv1alpha1.ResourceInterpreterCustomization{customization}), nil
}

// of returns the interpreter for a kind; an empty one if it has no rules.
func (i *Interpreter) of(kind schema.GroupVersionKind) (*lua.Interpreter, error) {
	if rules, ok := i.kinds[kind]; ok {
		return rules()
	}
	return &lua.Interpreter{}, nil
}

// Has returns whether there is a rule. It returns true for a kind whose rules cannot be compiled, so that asking
// returns the error.
func (i *Interpreter) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	rules, err := i.of(kind)
	return err != nil || rules.Has(kind, op)
}

// ask asks the rules of an object's kind.
func ask[T any](i *Interpreter, obj *unstructured.Unstructured, question func(*lua.Interpreter) (T, error)) (T, error) {
	rules, err := i.of(obj.GroupVersionKind())
	if err != nil {
		var none T
		return none, err
	}
	return question(rules)
}

// Replicas implements interpreter.Interpreter.
func (i *Interpreter) Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error) {
	rules, err := i.of(template.GroupVersionKind())
	if err != nil {
		return 0, nil, err
	}
	return rules.Replicas(ctx, template)
}

// Components implements interpreter.Interpreter.
func (i *Interpreter) Components(ctx context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error) {
	return ask(i, template, func(r *lua.Interpreter) ([]workv1alpha2.Component, error) { return r.Components(ctx, template) })
}

// Dependencies implements interpreter.Interpreter.
func (i *Interpreter) Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	return ask(i, template, func(r *lua.Interpreter) ([]configv1alpha1.DependentObjectReference, error) {
		return r.Dependencies(ctx, template)
	})
}

// ReviseReplicas implements interpreter.Interpreter.
func (i *Interpreter) ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	return ask(i, obj, func(r *lua.Interpreter) (*unstructured.Unstructured, error) {
		return r.ReviseReplicas(ctx, obj, replicas)
	})
}

// Retain implements interpreter.Interpreter.
func (i *Interpreter) Retain(ctx context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return ask(i, desired, func(r *lua.Interpreter) (*unstructured.Unstructured, error) { return r.Retain(ctx, desired, live) })
}

// ReflectStatus implements interpreter.Interpreter.
func (i *Interpreter) ReflectStatus(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error) {
	return ask(i, live, func(r *lua.Interpreter) (*runtime.RawExtension, error) { return r.ReflectStatus(ctx, live) })
}

// AggregateStatus implements interpreter.Interpreter.
func (i *Interpreter) AggregateStatus(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error) {
	return ask(i, template, func(r *lua.Interpreter) (*unstructured.Unstructured, error) {
		return r.AggregateStatus(ctx, template, items)
	})
}

// Health implements interpreter.Interpreter.
func (i *Interpreter) Health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	rules, err := i.of(live.GroupVersionKind())
	if err != nil {
		return workv1alpha1.Unknown, err
	}
	return rules.Health(ctx, live)
}
