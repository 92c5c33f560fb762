package execution

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
)

// step is what came of one manifest.
type step struct {
	outcome plan.Outcome
	// live is the object as last seen, nil if there is no news of it.
	live *unstructured.Unstructured
	// changed says that the member's object is another one now.
	changed bool
	// disturbed says that the object vanished while it was applied.
	disturbed bool
	// wait is how long the object has to wait until it is put back once more.
	wait time.Duration
}

// manifest makes one object of the member as its manifest asks for.
func (r *Reconciler) manifest(ctx context.Context, work types.NamespacedName, m plan.Manifest) step {
	failed := func(result plan.Result, message string) step {
		return step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object, Result: result, Message: message}}
	}
	if m.Problem != nil {
		return failed(plan.Refused, m.Problem.Error())
	}
	mapping, err := r.memberClient.RESTMapper().RESTMapping(m.Object.GroupKind(), m.Object.Version)
	if err != nil {
		return failed(classify(m.Object, err))
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && m.Object.Namespace == "" {
		return failed(plan.Refused, "the manifest has no metadata.namespace, and the kind is a namespaced one")
	}
	if err := r.kinds.Use(ctx, work, m.Object.GroupVersionKind); err != nil {
		return failed(classify(m.Object, err))
	}

	record, _ := r.memory.Record(m.Object)
	seen, synced := r.kinds.Get(m.Object)
	live := plan.See(synced, seen, record, r.clock.Now())
	decision := plan.Decide(work, m, live, record)
	if decision.Action == plan.Read {
		found, err := r.read(ctx, m.Object)
		if err != nil {
			return failed(classify(m.Object, err))
		}
		live = plan.Found(found)
		decision = plan.Decide(work, m, live, record)
	}
	switch decision.Action {
	case plan.Skip:
		if live.Object != nil {
			r.memory.Put(m.Object, plan.NewRecord(m.Digest, live.Object, r.clock.Now()))
		}
		return step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}, live: live.Object}
	case plan.Apply:
		if wait := r.memory.Due(m.Object, m.Digest, r.clock.Now()); wait > 0 {
			ctrl.LoggerFrom(ctx).V(1).Info("Putting back more slowly what is changed in the member again and again", "manifest", m.Object.String())
			return step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}, live: live.Object, wait: wait}
		}
		return r.apply(ctx, m, live, decision)
	case plan.Wait:
		r.memory.Drop(m.Object)
		s := failed(plan.Waiting, decision.Message)
		s.live = live.Object
		return s
	case plan.Refuse:
		r.memory.Drop(m.Object)
		return failed(plan.Refused, decision.Message)
	case plan.Read:
		return failed(plan.Waiting, "the object could not be read from the member")
	default:
		return failed(plan.Waiting, "the object could not be read from the member")
	}
}

// apply sends an object to the member.
func (r *Reconciler) apply(ctx context.Context, m plan.Manifest, live plan.Live, decision plan.Decision) step {
	s := step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}}
	desired, err := r.retain(ctx, m, live)
	if err == nil {
		err = r.memberClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(desired),
			client.FieldOwner(contract.FieldManagerAgent), client.ForceOwnership)
	}
	if err != nil {
		// Nothing is known of the object that the next try could rest on.
		r.memory.Drop(m.Object)
		s.outcome.Result, s.outcome.Message = classify(m.Object, err)
		r.count(s.outcome.Result)
		ctrl.LoggerFrom(ctx).V(1).Info("Applying an object failed", "manifest", m.Object.String(), "reason", err.Error())
		return s
	}
	desired.SetManagedFields(nil)
	s.live = desired
	s.changed = live.Object == nil || live.Object.GetResourceVersion() != desired.GetResourceVersion()
	s.disturbed = !r.memory.Put(m.Object, plan.NewRecord(m.Digest, desired, r.clock.Now()))
	r.count(plan.Applied)
	if s.changed {
		r.memory.Sent(m.Object, m.Digest, r.clock.Now())
	}
	if decision.Drift && s.changed {
		r.metrics.drift.Inc()
		ctrl.LoggerFrom(ctx).Info("Put back what was changed in the member", "manifest", m.Object.String())
	}
	return s
}

// retain returns what to send: the manifest, with what belongs to the member taken over
// from the live object.
func (r *Reconciler) retain(ctx context.Context, m plan.Manifest, live plan.Live) (*unstructured.Unstructured, error) {
	if live.Object == nil || !r.interpreter.Has(m.Object.GroupVersionKind, interpreter.Retain) {
		return m.Desired, nil
	}
	retained, err := r.interpreter.Retain(ctx, m.Desired, live.Object)
	if err != nil {
		return nil, fmt.Errorf("taking over what belongs to the member: %w", err)
	}
	plan.Strip(retained)
	if !equality.Semantic.DeepEqual(retained.Object, m.Desired.Object) {
		// What was taken over must still be so when it arrives: the informer may be behind
		// an autoscaler, and we would undo what it did.
		retained.SetResourceVersion(live.Object.GetResourceVersion())
	}
	return retained, nil
}

// read returns an object of the member, or nil if there is none.
func (r *Reconciler) read(ctx context.Context, name plan.Object) (*unstructured.Unstructured, error) {
	obj := prototype(name.GroupVersionKind)
	if err := r.memberClient.Get(ctx, name.NamespacedName, obj); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil //nolint:nilnil // Absent is an answer.
		}
		return nil, err
	}
	obj.SetManagedFields(nil)
	return obj, nil
}

func (r *Reconciler) count(result plan.Result) {
	label := resultApplied
	switch result {
	case plan.Waiting, plan.Unanswered:
		label = resultWaiting
	case plan.Refused:
		label = resultRefused
	case plan.Applied:
	default:
	}
	r.metrics.applies.WithLabelValues(label).Inc()
}
