package hollow

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// Outcome is what came of one manifest in its member.
type Outcome struct {
	// Refused is why the member does not take it; empty if it was applied. Of what was refused
	// nothing else is told.
	Refused string
	// Live is the object as the member shows it, with its status. What of that the hub is told is
	// said by the rules of its kind.
	Live *unstructured.Unstructured
	// Health is how the object fares; empty leaves it to the rules of its kind.
	Health workv1alpha1.ResourceHealth
}

// Running is of a member in which everything is well: all replicas of a workload are ready.
func Running(manifest *unstructured.Unstructured) Outcome {
	return Outcome{Live: live(manifest, true)}
}

// Failing is of a member in which no replica of a workload becomes ready; anything else is unhealthy.
func Failing(manifest *unstructured.Unstructured) Outcome {
	return Outcome{Live: live(manifest, false), Health: workv1alpha1.Unhealthy}
}

// live returns an object as a member shows it. Workloads with replicas have a status, with all of
// them ready or none; the status of other kinds is as the manifest has it.
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

// report is the status of a Work as far as it says what came of its manifests, as an agent that
// applied it would write it.
func (f *Fleet) report(ctx context.Context, cluster string, work *workv1alpha1.Work) (workv1alpha1.WorkStatus, error) {
	out := workv1alpha1.WorkStatus{ObservedGeneration: work.Generation}
	if work.Spec.SuspendDispatching != nil && *work.Spec.SuspendDispatching {
		suspended := plan.Dispatching(true)
		suspended.ObservedGeneration = work.Generation
		out.Conditions, out.ManifestStatuses = append(out.Conditions, suspended), work.Status.ManifestStatuses
		return out, nil
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
				return out, err
			}
			out.ManifestStatuses = append(out.ManifestStatuses, status)
		}
		results = append(results, result)
	}
	applied, dispatching := plan.Condition(results), plan.Dispatching(false)
	applied.ObservedGeneration, dispatching.ObservedGeneration = work.Generation, work.Generation
	out.Conditions = append(out.Conditions, applied, dispatching)
	return out, nil
}

// manifestStatus is what is told of an object that was applied.
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
