package binding

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/override"
	"fairlead.dev/hub/flow/binding/render"
)

// rendering is what came of rendering a binding for its targets.
type rendering struct {
	works []*workv1alpha1.Work
	// keep are the namespaces whose Works stay as they are.
	keep sets.Set[string]
	// failures by cluster, and whether an override policy is to blame.
	failures []failure
}

// failure is a cluster that could not be served.
type failure struct {
	cluster  string
	err      error
	override bool
}

// err joins what is to be tried again. Most is not: all that goes into a rendering is
// watched, but for what a webhook answers.
func (r rendering) err() error {
	var errs []error
	for _, f := range r.failures {
		if errors.Is(f.err, render.ErrRevise) {
			errs = append(errs, fmt.Errorf("rendering for cluster %q: %w", f.cluster, f.err))
		}
	}
	return errors.Join(errs...)
}

// render makes the Works of all targets. A cluster that fails keeps what it has; the
// others are served.
func (r *reconciler) render(ctx context.Context, s *scope) rendering {
	out := rendering{keep: s.keep.Clone()}
	if s.template == nil {
		for _, target := range s.targets {
			out.keep.Insert(contract.ExecutionNamespace(r.prefix, target.Name))
		}
		return out
	}
	overrides := override.Select(s.policies, selector.TargetOf(s.template))
	revise := r.revise(ctx, s.template.GroupVersionKind())
	live := s.live()
	purging := render.Purging(s.binding.BindingSpec(), func(cluster string) bool {
		return live[contract.ExecutionNamespace(r.prefix, cluster)] != nil
	})
	for _, target := range s.targets {
		namespace := contract.ExecutionNamespace(r.prefix, target.Name)
		cluster := s.clusters[target.Name]
		if cluster == nil {
			// It is unknown, or being removed: the scheduler will drop it.
			out.keep.Insert(namespace)
			continue
		}
		target.Replicas = render.Hold(target.Replicas, live[namespace], purging)
		work, err := render.Work(render.Input{
			Template: s.template, Binding: s.binding, Target: target, Cluster: cluster, Revise: revise,
			Overrides: overrides, ExecutionNamespacePrefix: r.prefix,
		})
		if err != nil {
			_, overrideErr := overrides.Apply(s.template.DeepCopy(), cluster)
			out.failures = append(out.failures, failure{cluster: target.Name, err: err, override: overrideErr != nil})
			out.keep.Insert(namespace)
			continue
		}
		switch within, err := r.withinQuotas(ctx, s, target, work); {
		case within:
			out.works = append(out.works, work)
		case err != nil:
			out.failures = append(out.failures, failure{cluster: target.Name, err: err})
			fallthrough
		default:
			out.keep.Insert(namespace)
		}
	}
	return out
}

// revise returns what sets the replicas of objects of a kind; nil if nothing does.
func (r *reconciler) revise(ctx context.Context, kind schema.GroupVersionKind) render.Revise {
	if !r.interpreter.Has(kind, interpreter.ReviseReplica) {
		return nil
	}
	return func(obj *unstructured.Unstructured, replicas int32) (*unstructured.Unstructured, error) {
		return r.interpreter.ReviseReplicas(ctx, obj, replicas)
	}
}
