package hollow

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// Outcome is the outcome of applying one manifest in its member.
type Outcome struct {
	// Refused is the error with which the member rejected the manifest; empty if it was applied. A rejected manifest
	// has no status.
	Refused string
	// Live is the object in the member, with its status. The interpreter of its kind decides which part of it is
	// reported.
	Live *unstructured.Unstructured
	// Health is the health of the object; if empty, the interpreter of its kind decides.
	Health workv1alpha1.ResourceHealth
}

// Running is the outcome in a healthy member: all replicas of a workload are ready.
func Running(manifest *unstructured.Unstructured) Outcome {
	return Outcome{Live: live(manifest, true)}
}

// Failing is the outcome in a member in which no replica of a workload becomes ready; other kinds are unhealthy.
func Failing(manifest *unstructured.Unstructured) Outcome {
	return Outcome{Live: live(manifest, false), Health: workv1alpha1.Unhealthy}
}

// live returns an object as it is in a member. Workloads with replicas have a status with all of them ready or none;
// other kinds have the status in the manifest.
func live(manifest *unstructured.Unstructured, ready bool) *unstructured.Unstructured {
	out := manifest.DeepCopy()
	out.SetGeneration(1)
	replicas, found, err := unstructured.NestedInt64(out.Object, "spec", "replicas")
	if !found || err != nil {
		return out
	}
	var available int64
	if ready {
		available = replicas
	}
	out.Object["status"] = map[string]any{
		"observedGeneration": int64(1), "replicas": replicas, "updatedReplicas": replicas, "currentReplicas": replicas,
		"readyReplicas": available, "availableReplicas": available, "unavailableReplicas": replicas - available,
	}
	return out
}

// report returns the part of a Work's status that is about its manifests, as an agent that applied it would write it.
// The second result is the sum of its pods' resource requests.
func (f *Fleet) report(ctx context.Context, cluster string, work *workv1alpha1.Work) (workv1alpha1.WorkStatus, corev1.ResourceList, error) {
	out, asks := workv1alpha1.WorkStatus{ObservedGeneration: work.Generation}, corev1.ResourceList{}
	if suspended(work) {
		dispatching := plan.Dispatching(true)
		dispatching.ObservedGeneration = work.Generation
		out.Conditions, out.ManifestStatuses = append(out.Conditions, dispatching), work.Status.ManifestStatuses
		return out, asks, nil
	}
	results := []plan.Outcome{}
	for _, m := range plan.Parse(work) {
		result := plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}
		outcome := Outcome{}
		if m.Problem != nil {
			outcome.Refused = m.Problem.Error()
		} else {
			outcome = f.outcomeOf(cluster, m.Desired)
		}
		if outcome.Refused != "" {
			result.Result, result.Message = plan.Refused, outcome.Refused
		} else {
			status, err := f.manifestStatus(ctx, m, outcome)
			if err != nil {
				return out, nil, err
			}
			more, err := f.asks(ctx, m.Desired)
			if err != nil {
				return out, nil, err
			}
			add(asks, more)
			out.ManifestStatuses = append(out.ManifestStatuses, status)
		}
		results = append(results, result)
	}
	applied, dispatching := plan.Condition(results), plan.Dispatching(false)
	applied.ObservedGeneration, dispatching.ObservedGeneration = work.Generation, work.Generation
	out.Conditions = append(out.Conditions, applied, dispatching)
	return out, asks, nil
}

// suspended reports that dispatching of a Work is suspended, so that the objects in the member stay as they are.
func suspended(work *workv1alpha1.Work) bool {
	return work.Spec.SuspendDispatching != nil && *work.Spec.SuspendDispatching
}

// manifestStatus returns the status of an object that was applied.
func (f *Fleet) manifestStatus(ctx context.Context, m plan.Manifest, outcome Outcome) (workv1alpha1.ManifestStatus, error) {
	out := workv1alpha1.ManifestStatus{Identifier: m.Object.Identifier(m.Ordinal), Health: outcome.Health}
	if outcome.Live == nil {
		outcome.Live = m.Desired
	}
	kind := outcome.Live.GroupVersionKind()
	var err error
	if f.kinds.Has(kind, interpreter.InterpretStatus) {
		var status *runtime.RawExtension
		if status, err = f.kinds.ReflectStatus(ctx, outcome.Live); err != nil {
			return out, fmt.Errorf("reading the status of %s: %w", m.Object, err)
		}
		out.Status = status
	}
	switch {
	case out.Health != "":
	case f.kinds.Has(kind, interpreter.InterpretHealth):
		if out.Health, err = f.kinds.Health(ctx, outcome.Live); err != nil {
			return out, fmt.Errorf("telling how %s fares: %w", m.Object, err)
		}
	default:
		out.Health = interpreter.ConventionalHealth(outcome.Live)
	}
	return out, nil
}
