package lua

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/interpreter/lua/vm"
)

// Interpreter answers with scripts. It is built by a Compiler.
type Interpreter struct {
	answers map[target][]answer
}

var _ interpreter.Interpreter = &Interpreter{}

// Has returns whether there is a script, even a broken one.
func (i *Interpreter) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	return len(i.answers[target{kind, op}]) > 0
}

// Customizations returns the names of the customizations whose scripts answer an operation: all of them if answers
// are combined.
func (i *Interpreter) Customizations(kind schema.GroupVersionKind, op interpreter.Operation) []string {
	var out []string
	for _, a := range i.answers[target{kind, op}] {
		out = append(out, a.customization)
	}
	return out
}

// ask runs the script for an operation on an object.
func (i *Interpreter) ask(ctx context.Context, op interpreter.Operation, obj *unstructured.Unstructured, read func(*vm.Results) error, args ...any) error {
	answers := i.answers[target{obj.GroupVersionKind(), op}]
	if len(answers) == 0 {
		return interpreter.NoRule(obj, op)
	}
	return answers[0].ask(ctx, op, obj, read, args...)
}

func (a answer) ask(ctx context.Context, op interpreter.Operation, obj *unstructured.Unstructured, read func(*vm.Results) error, args ...any) error {
	err := a.err
	if err == nil {
		err = a.script.Call(ctx, args, read)
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, vm.ErrExceeded) {
		err = interpreter.Exceeded(err)
	}
	if a.err == nil && a.failed != nil && ctx.Err() == nil {
		a.failed(Failure{
			Customization: a.customization, UID: a.uid, Generation: a.generation,
			Err: fmt.Errorf("%s, asked about %s %q: %w", fieldOf(op), obj.GetKind(), nameOf(obj), err),
		})
	}
	return fmt.Errorf("%s of ResourceInterpreterCustomization %q, asked about %s %q: %w",
		fieldOf(op), a.customization, obj.GetKind(), nameOf(obj), err)
}

// nameOf returns the name of an object, with its namespace if it has one.
func nameOf(obj *unstructured.Unstructured) string {
	if obj.GetNamespace() == "" {
		return obj.GetName()
	}
	return obj.GetNamespace() + "/" + obj.GetName()
}

// Replicas implements interpreter.Interpreter.
func (i *Interpreter) Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error) {
	var replicas int32
	var requirements *workv1alpha2.ReplicaRequirements
	err := i.ask(ctx, interpreter.InterpretReplica, template, func(r *vm.Results) error {
		n, err := r.Number(0)
		if err != nil {
			return fmt.Errorf("replicas: %w", err)
		}
		if n < 0 || n > math.MaxInt32 || n != math.Trunc(n) {
			return fmt.Errorf("replicas: %v is no number of replicas", n)
		}
		replicas = int32(n)
		if r.Nothing(1) {
			return nil
		}
		table, err := r.Object(1)
		if err != nil || len(table) == 0 {
			return err
		}
		if err := checkRequests(table); err != nil {
			return err
		}
		requirements = &workv1alpha2.ReplicaRequirements{}
		return convert(table, requirements)
	}, template.Object)
	return replicas, requirements, err
}

// Components implements interpreter.Interpreter.
func (i *Interpreter) Components(ctx context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error) {
	var out []workv1alpha2.Component
	err := i.ask(ctx, interpreter.InterpretComponent, template, func(r *vm.Results) error {
		if r.Nothing(0) {
			return nil
		}
		list, err := r.List(0)
		if err != nil {
			return err
		}
		for n, entry := range list {
			component, _ := entry.(map[string]any)
			given, has := component["replicas"]
			if replicas, ok := given.(int64); has && (!ok || replicas < 0 || replicas > math.MaxInt32) {
				return fmt.Errorf("entry %d of the list: replicas must be a whole number from 0 on, but is %s", n+1, vm.Shown(given))
			}
			needs, _ := component["replicaRequirements"].(map[string]any)
			if err := checkRequests(needs); err != nil {
				return fmt.Errorf("entry %d of the list: %w", n+1, err)
			}
		}
		out, err = converted[workv1alpha2.Component](list)
		return err
	}, template.Object)
	return out, err
}

// Dependencies implements interpreter.Interpreter: the union of what all scripts return.
func (i *Interpreter) Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	answers := i.answers[target{template.GroupVersionKind(), interpreter.InterpretDependency}]
	if len(answers) == 0 {
		return nil, interpreter.NoRule(template, interpreter.InterpretDependency)
	}
	var all []configv1alpha1.DependentObjectReference
	for _, a := range answers {
		err := a.ask(ctx, interpreter.InterpretDependency, template, func(r *vm.Results) error {
			list, err := r.List(0)
			if err != nil {
				return err
			}
			refs, err := converted[configv1alpha1.DependentObjectReference](list)
			if err == nil {
				refs, err = interpreter.CheckDependencies(refs)
			}
			all = append(all, refs...)
			return err
		}, template.Object)
		if err != nil {
			return nil, err
		}
	}
	return interpreter.CheckDependencies(all)
}

// ReviseReplicas implements interpreter.Interpreter.
func (i *Interpreter) ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	return i.object(ctx, interpreter.ReviseReplica, obj, int64(replicas))
}

// Retain implements interpreter.Interpreter.
func (i *Interpreter) Retain(ctx context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return i.object(ctx, interpreter.Retain, desired, live.Object)
}

// object runs an operation that returns the changed object.
func (i *Interpreter) object(ctx context.Context, op interpreter.Operation, obj *unstructured.Unstructured, more any) (*unstructured.Unstructured, error) {
	var out *unstructured.Unstructured
	err := i.ask(ctx, op, obj, func(r *vm.Results) error {
		content, err := r.Object(0)
		if err != nil {
			return err
		}
		out = &unstructured.Unstructured{Object: content}
		return same(obj, out)
	}, obj.Object, more)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// same returns an error if a script returned another object than it was given.
func same(given, returned *unstructured.Unstructured) error {
	if returned.GetKind() != given.GetKind() || returned.GetAPIVersion() != given.GetAPIVersion() ||
		returned.GetName() != given.GetName() || returned.GetNamespace() != given.GetNamespace() {
		return fmt.Errorf("the function must return the object that it was given, changed, but returned %s %q of %q in namespace %q",
			returned.GetKind(), returned.GetName(), returned.GetAPIVersion(), returned.GetNamespace())
	}
	return nil
}

// ReflectStatus implements interpreter.Interpreter. Nil and an empty table mean no status.
func (i *Interpreter) ReflectStatus(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error) {
	var out *runtime.RawExtension
	err := i.ask(ctx, interpreter.InterpretStatus, live, func(r *vm.Results) error {
		if r.Nothing(0) {
			return nil // the object has no status yet
		}
		status, err := r.Object(0)
		if err != nil || len(status) == 0 {
			return err
		}
		raw, err := json.Marshal(status)
		if err != nil {
			return fmt.Errorf("encoding the status: %w", err)
		}
		out = &runtime.RawExtension{Raw: raw}
		return nil
	}, live.Object)
	return out, err
}

// AggregateStatus implements interpreter.Interpreter. Only the status of the returned object is used.
func (i *Interpreter) AggregateStatus(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error) {
	list, err := listOf(items)
	if err != nil {
		return nil, fmt.Errorf("adding up the status of %s %q: %w", template.GetKind(), template.GetName(), err)
	}
	out := template
	err = i.ask(ctx, interpreter.AggregateStatus, template, func(r *vm.Results) error {
		content, err := r.Object(0)
		if err != nil {
			return err
		}
		if err := same(template, &unstructured.Unstructured{Object: content}); err != nil {
			return err
		}
		status := content["status"]
		if status == nil && template.Object["status"] != nil {
			status = map[string]any{} // the existing status is to be removed
		}
		if equality.Semantic.DeepEqual(template.Object["status"], status) {
			return nil
		}
		out = &unstructured.Unstructured{Object: maps.Clone(template.Object)}
		out.Object["status"] = status
		return nil
	}, template.Object, list)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Health implements interpreter.Interpreter.
func (i *Interpreter) Health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	health := workv1alpha1.Unknown
	err := i.ask(ctx, interpreter.InterpretHealth, live, func(r *vm.Results) error {
		healthy, err := r.Bool(0)
		if err != nil {
			return err
		}
		if health = workv1alpha1.Unhealthy; healthy {
			health = workv1alpha1.Healthy
		}
		return nil
	}, live.Object)
	return health, err
}
