package webhook

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter"
)

// Interpreter asks webhooks.
type Interpreter struct {
	hooks []*hook // by name
}

var _ interpreter.Interpreter = &Interpreter{}

// New returns an Interpreter for the webhooks of these configurations. Services are read with the reader when a
// connection is made.
func New(configurations []configv1alpha1.ResourceInterpreterWebhookConfiguration, services client.Reader) *Interpreter {
	i := &Interpreter{}
	for _, c := range configurations {
		for _, w := range c.Webhooks {
			i.hooks = append(i.hooks, newHook(c.Name+"/"+w.Name, w, services))
		}
	}
	slices.SortFunc(i.hooks, func(a, b *hook) int { return cmp.Compare(a.name, b.name) })
	return i
}

// Close closes idle connections. Questions in progress continue.
func (i *Interpreter) Close() {
	for _, h := range i.hooks {
		h.close()
	}
}

// hook returns the webhook to ask; nil if there is none. Of several it is the first by name,
// <configuration>/<webhook>.
func (i *Interpreter) hook(kind schema.GroupVersionKind, op interpreter.Operation) *hook {
	for _, h := range i.hooks {
		if slices.ContainsFunc(h.rules, func(r configv1alpha1.RuleWithOperations) bool { return matches(r, kind, op) }) {
			return h
		}
	}
	return nil
}

func matches(r configv1alpha1.RuleWithOperations, kind schema.GroupVersionKind, op interpreter.Operation) bool {
	return among(r.Operations, configv1alpha1.InterpreterOperation(op)) &&
		among(r.APIGroups, kind.Group) && among(r.APIVersions, kind.Version) && among(r.Kinds, kind.Kind)
}

func among[T ~string](list []T, value T) bool {
	return slices.Contains(list, "*") || slices.Contains(list, value)
}

// Has returns whether a webhook has to be asked.
func (i *Interpreter) Has(kind schema.GroupVersionKind, op interpreter.Operation) bool {
	return i.hook(kind, op) != nil
}

// Configuration returns the name of the configuration whose webhook is asked; empty if there is none.
func (i *Interpreter) Configuration(kind schema.GroupVersionKind, op interpreter.Operation) string {
	h := i.hook(kind, op)
	if h == nil {
		return ""
	}
	configuration, _, _ := strings.Cut(h.name, "/")
	return configuration
}

// Replicas implements interpreter.Interpreter.
func (i *Interpreter) Replicas(ctx context.Context, template *unstructured.Unstructured) (int32, *workv1alpha2.ReplicaRequirements, error) {
	a, err := i.ask(ctx, question{op: interpreter.InterpretReplica, object: template})
	if err != nil {
		return 0, nil, err
	}
	return *a.Replicas, a.ReplicaRequirements, nil
}

// Components implements interpreter.Interpreter.
func (i *Interpreter) Components(ctx context.Context, template *unstructured.Unstructured) ([]workv1alpha2.Component, error) {
	a, err := i.ask(ctx, question{op: interpreter.InterpretComponent, object: template})
	return a.Components, err
}

// Dependencies implements interpreter.Interpreter.
func (i *Interpreter) Dependencies(ctx context.Context, template *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	a, err := i.ask(ctx, question{op: interpreter.InterpretDependency, object: template})
	return a.Dependencies, err
}

// ReviseReplicas implements interpreter.Interpreter.
func (i *Interpreter) ReviseReplicas(ctx context.Context, obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
	a, err := i.ask(ctx, question{op: interpreter.ReviseReplica, object: obj, replicas: replicas})
	if a.patched == nil && err == nil {
		return obj, nil
	}
	return a.patched, err
}

// Retain implements interpreter.Interpreter.
func (i *Interpreter) Retain(ctx context.Context, desired, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	a, err := i.ask(ctx, question{op: interpreter.Retain, object: desired, observed: live})
	if a.patched == nil && err == nil {
		return desired, nil
	}
	return a.patched, err
}

// ReflectStatus implements interpreter.Interpreter.
func (i *Interpreter) ReflectStatus(ctx context.Context, live *unstructured.Unstructured) (*runtime.RawExtension, error) {
	a, err := i.ask(ctx, question{op: interpreter.InterpretStatus, object: live})
	return a.RawStatus, err
}

// AggregateStatus implements interpreter.Interpreter. Only changes of the status are used.
func (i *Interpreter) AggregateStatus(ctx context.Context, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem) (*unstructured.Unstructured, error) {
	a, err := i.ask(ctx, question{op: interpreter.AggregateStatus, object: template, items: items})
	if err != nil {
		return nil, err
	}
	if a.patched == nil || equality.Semantic.DeepEqual(template.Object["status"], a.patched.Object["status"]) {
		return template, nil
	}
	out := &unstructured.Unstructured{Object: maps.Clone(template.Object)}
	if out.Object["status"] = a.patched.Object["status"]; out.Object["status"] == nil {
		delete(out.Object, "status")
	}
	return out, nil
}

// Health implements interpreter.Interpreter.
func (i *Interpreter) Health(ctx context.Context, live *unstructured.Unstructured) (workv1alpha1.ResourceHealth, error) {
	a, err := i.ask(ctx, question{op: interpreter.InterpretHealth, object: live})
	switch {
	case err != nil:
		return workv1alpha1.Unknown, err
	case *a.Healthy:
		return workv1alpha1.Healthy, nil
	default:
		return workv1alpha1.Unhealthy, nil
	}
}
