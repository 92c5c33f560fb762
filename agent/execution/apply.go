package execution

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/execution/plan"
	"fairlead.dev/common/kube"
)

// step is the result of processing one manifest.
type step struct {
	outcome plan.Outcome
	// live is the object as last seen; nil if there is no news of it.
	live *unstructured.Unstructured
	// changed says that the member's object has changed.
	changed bool
	// disturbed says that the object disappeared while it was applied.
	disturbed bool
	// wait is how long to wait before the object is corrected again, or before an object that no informer shows is
	// looked for again.
	wait time.Duration
	// noRoom says that no request was made, since there was no room for it.
	noRoom bool
	// immutable is the live object if the member refuses a change because a field is immutable; otherwise nil. What
	// happens then is decided by the caller and not yet part of the outcome.
	immutable *plan.Live
}

// verdict is the decision about one manifest.
type verdict struct {
	live     plan.Live
	decision plan.Decision
	// suspect says that somebody else may have changed or deleted the object.
	suspect bool
	// found is the object as read from the member; nil if it was not read, or does not exist.
	found *unstructured.Unstructured
}

// manifest makes one object of the member match its manifest. If cache and records suffice for a decision, it makes
// no request; otherwise it reads the object from the member and decides by that.
func (r *Reconciler) manifest(ctx context.Context, work types.NamespacedName, m plan.Manifest) step {
	failed := failing(m)
	if s := r.precheck(ctx, work, m); s != nil {
		return *s
	}

	record, _ := r.memory.Record(m.Object)
	seen, synced := r.kinds.Get(m.Object)
	v := verdict{live: plan.See(seen, record, r.clock.Now())}
	lost := r.kinds.isLost(m.Object)
	stale := lost || r.memory.IsStale(m.Object) // then the record may be outdated, too
	if stale {
		v.live = plan.Live{}
	}
	v.decision = plan.Decide(work, m, v.live, record)
	v.suspect = v.decision.Drift || r.memory.WasDeletedAs(m.Object, m.Digest)
	if v.decision.Action == plan.Read || v.decision.Action == plan.Apply {
		if of := (need{namespace: m.Object.Namespace}); of.namespace != "" && !r.prerequisites.Ask(of, work, r.clock.Now()) {
			return failed(plan.Waiting, missingNamespace(m.Object))
		}
	}
	wait := r.memory.Due(m.Object, m.Digest, r.clock.Now())
	if wait > 0 && v.decision.Action == plan.Apply {
		return r.later(ctx, m, v.live, wait)
	}
	if isNew := synced && seen == nil && record == nil && !stale && !v.suspect; isNew && v.decision.Action == plan.Read && wait <= 0 {
		if s, ask := r.create(ctx, work, m); !ask {
			return r.vouched(m, s)
		}
	}
	// The cache does not contain managed fields, which tell who changed what. It may also lag: drift that it shows
	// may have been corrected, or be an autoscaler's work in progress.
	if v.decision.Action == plan.Read || v.decision.Action == plan.Apply && v.suspect && v.live.Object != nil {
		var err error
		if v.found, err = readBy(ctx, r.memberClient, m.Object); err != nil {
			r.noteUnserved(work, m.Object, err)
			s := failed(r.judge(ctx, work, m.Object, err))
			s.noRoom = errors.Is(err, errNoRoom)
			return s
		}
		v.live = plan.Found(slimmed(v.found))
		v.decision = plan.Decide(work, m, v.live, record)
		v.suspect = v.suspect || v.decision.Drift
	}
	s := r.carryOut(ctx, work, m, v)
	if obj := v.live.Object; lost && s.live == nil && obj != nil && plan.Deletable(obj, work) {
		s.live = obj // no watch shows it
	}
	if synced && seen == nil {
		return r.vouched(m, s)
	}
	return s
}

// failing returns a constructor for steps that failed.
func failing(m plan.Manifest) func(plan.Result, string) step {
	return func(result plan.Result, message string) step {
		return step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object, Result: result, Message: message}}
	}
}

// precheck returns a step if a manifest cannot become an object of the member, whatever exists there; otherwise nil.
// It also makes the kind watched.
func (r *Reconciler) precheck(ctx context.Context, work types.NamespacedName, m plan.Manifest) *step {
	failed := failing(m)
	if m.Problem != nil {
		return new(failed(plan.Refused, m.Problem.Error()))
	}
	if err := r.outside(m.Object); err != nil {
		return new(failed(plan.Refused, err.Error()))
	}
	mapping, err := r.mapping(ctx, work, m.Object)
	if err != nil {
		return new(failed(r.judge(ctx, work, m.Object, err)))
	}
	namespaced := mapping.Scope.Name() == meta.RESTScopeNameNamespace
	if namespaced != (m.Object.Namespace != "") { // the kind may have been redefined
		_, _, err := r.servedSoFar(ctx, m.Object)
		if changed, ok := errors.AsType[*KindChangedError](err); ok {
			return new(failed(r.judge(ctx, work, m.Object, changed)))
		}
	}
	switch {
	case namespaced && m.Object.Namespace == "":
		return new(failed(plan.Refused, "the manifest has no metadata.namespace, but the kind is namespaced"))
	case !namespaced && m.Object.Namespace != "":
		// The hub defines the kind differently. Whoever may write in one namespace of the hub must not thereby reach
		// the whole member.
		return new(failed(plan.Refused, "the manifest has a metadata.namespace, but the kind is cluster-scoped in the member; define it with the same scope on hub and member"))
	}
	if err := r.kinds.Use(ctx, work, m.Object.GroupVersionKind); err != nil {
		return new(failed(r.judge(ctx, work, m.Object, err)))
	}
	return nil
}

// carryOut executes the decision.
func (r *Reconciler) carryOut(ctx context.Context, work types.NamespacedName, m plan.Manifest, v verdict) step {
	failed := failing(m)
	switch v.decision.Action {
	case plan.Skip:
		if v.live.Object != nil {
			r.memory.Put(m.Object, plan.NewRecord(m.Digest, v.live.Object, r.clock.Now()))
		}
		return step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}, live: v.live.Object}
	case plan.Apply:
		if wait := r.memory.Due(m.Object, m.Digest, r.clock.Now()); wait > 0 {
			return r.later(ctx, m, v.live, wait)
		}
		if v.live.Object != nil {
			if s := r.awaitRules(work, m, v.live); s != nil {
				return *s
			}
		}
		applied, s := r.apply(ctx, work, m, v.live)
		if applied != nil && v.suspect {
			r.drifted(ctx, work, m, v.found, applied)
		}
		return s
	case plan.Wait:
		r.memory.Drop(m.Object)
		result := plan.Waiting
		if v.decision.Older {
			result = plan.Unanswered // takes back nothing that was reported
		}
		s := failed(result, v.decision.Message)
		s.live = v.live.Object
		return s
	case plan.Refuse:
		r.memory.Drop(m.Object)
		return failed(plan.Refused, v.decision.Message)
	case plan.Read:
		return failed(plan.Waiting, "the object could not be read from the member")
	default:
		return failed(plan.Waiting, "the object could not be read from the member")
	}
}

// apply sends an object to the member and returns the answer; nil if the member refused.
func (r *Reconciler) apply(ctx context.Context, work types.NamespacedName, m plan.Manifest, live plan.Live) (*unstructured.Unstructured, step) {
	desired, err := r.retain(ctx, m, live)
	if err == nil {
		r.markRecreated(desired, m, live)
		if live.Object == nil {
			err = r.sendNew(ctx, desired)
		} else {
			// The UID ensures that the changed object is the one that was judged to be ours: by now there may be
			// another one of its name.
			desired.SetUID(live.Object.GetUID())
			err = r.send(ctx, desired)
		}
	}
	return r.sent(ctx, work, m, live, desired, err)
}

// sent evaluates the answer to an apply: an object or an error.
func (r *Reconciler) sent(
	ctx context.Context, work types.NamespacedName, m plan.Manifest, live plan.Live, desired *unstructured.Unstructured, err error,
) (*unstructured.Unstructured, step) {
	s := step{outcome: plan.Outcome{Ordinal: m.Ordinal, Object: m.Object}}
	if err == nil {
		err = r.takeOver(ctx, m, desired)
	}
	if err != nil {
		switch {
		case overtaken(err):
			// The object differs from the cache, or is another one by now.
			r.memory.MarkStale(m.Object)
		case errors.Is(err, errNoRoom): // nothing was sent
			s.noRoom = true
		default:
			// Nothing is known of the object for the next attempt to rely on.
			r.memory.Drop(m.Object)
		}
		s.outcome.Result, s.outcome.Message = r.judge(ctx, work, m.Object, err)
		ctrl.LoggerFrom(ctx).V(1).Info("Applying an object failed", "manifest", m.Object.String(), "reason", err.Error())
		switch {
		case overtaken(err):
		case unserved(err):
			r.noteUnserved(work, m.Object, err)
		case noNamespace(err):
			r.prerequisites.Missing(need{namespace: m.Object.Namespace}, work, r.clock.Now())
		case immutable(err):
			s.immutable = &live
			return nil, s
		}
		r.count(s.outcome.Result)
		return nil, s
	}
	if m.Object.Namespace != "" {
		r.wake(r.prerequisites.Met(need{namespace: m.Object.Namespace}))
	}
	s.live = slimmed(desired)
	s.changed = live.Object == nil || live.Object.GetResourceVersion() != desired.GetResourceVersion()
	s.disturbed = !r.memory.Put(m.Object, plan.NewRecord(m.Digest, desired, r.clock.Now()))
	r.count(plan.Applied)
	if s.changed {
		r.memory.Sent(m.Object, m.Digest, r.clock.Now())
		r.arrived(desired)
	}
	return desired, s
}

// Stuck counts the deleted objects that finalizers hold in the member.
func (r *Reconciler) Stuck() int { return r.pendingDeletions.Stuck() }

// slimmed returns a member's object without unused parts; nil for nil.
func slimmed(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	obj = obj.DeepCopy()
	plan.Slim(obj)
	return obj
}

// readBy reads an object from the member; nil if there is none. It is an error if the member does not serve the kind
// in this version.
func readBy(ctx context.Context, reader client.Reader, name plan.Object) (*unstructured.Unstructured, error) {
	obj := prototype(name.GroupVersionKind)
	if err := reader.Get(ctx, name.NamespacedName, obj); err != nil {
		if ignoreAbsent(err) == nil {
			return nil, nil //nolint:nilnil // Absent is an answer.
		}
		return nil, err
	}
	return obj, nil
}

// ignoreAbsent returns nil for a not-found error about an object, and any other error as it is.
func ignoreAbsent(err error) error {
	if apierrors.IsNotFound(err) && !kube.IsNoSuchResource(err) {
		return nil
	}
	return err
}

func (r *Reconciler) count(result plan.Result) {
	label := resultApplied
	switch result {
	case plan.Waiting, plan.Unanswered, plan.Throttled:
		label = resultWaiting
	case plan.Refused:
		label = resultRefused
	case plan.Applied:
	default:
	}
	r.metrics.applies.WithLabelValues(label).Inc()
}
