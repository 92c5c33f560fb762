package execution

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"fairlead.dev/agent/execution/plan"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

const (
	// defaultWorkers is the number of concurrent reconciles.
	defaultWorkers = 8
	// firstRetry is the first delay when something is missing: the namespace, for instance, whose own Work arrives at
	// the same moment. It doubles from there.
	firstRetry = 20 * time.Millisecond
	// firstRefusedRetry is the same after the member refused something, which will hardly change within milliseconds.
	firstRefusedRetry = time.Second
	// lastRetry bounds the delays.
	lastRetry = time.Minute
	// quietTries is how many unsuccessful attempts are not reported: with these delays, those of a bit more than a
	// second. Most missing things appear sooner and are not worth two writes.
	quietTries = 6
	// resync is how often a Work is reconciled without an event, in case a watch missed something. If nothing
	// changed, it costs no request.
	resync = 10 * time.Minute
)

// Reconcile makes the member match one Work. Retries and resyncs have a lower priority than changes.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	result, err := r.reconcile(ctx, req)
	if errors.Is(err, errNoRoom) { // not a failure of this Work
		result, err = reconcile.Result{RequeueAfter: max(roomRetry(), r.backoff.When(req))}, nil
	}
	result.Priority = new(handler.LowPriority)
	return result, err
}

func (r *Reconciler) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	work, from, err := r.works.Get(ctx, req.NamespacedName)
	switch {
	case err != nil:
		return reconcile.Result{}, err
	case from == unknown:
		return reconcile.Result{}, nil // it is enqueued again once hub or journal are available
	case from == absent:
		return reconcile.Result{}, r.absent(ctx, req, work)
	case from == outlived:
		return reconcile.Result{}, r.letGo(ctx, req, work)
	}
	if r.rests(ctx, from) {
		return reconcile.Result{RequeueAfter: wait.Jitter(refusedRetry, 0.5)}, nil
	}
	if from == hub && !ends(work) {
		// The Work may have replaced one that waited for its deletion, or its deletion no longer deletes anything.
		if err := r.waitsNoMore(ctx, req.NamespacedName); err != nil {
			return reconcile.Result{}, err
		}
	}
	current := from != hub || r.journal.Put(work)
	if !work.DeletionTimestamp.IsZero() {
		switch {
		case from == journal: // a Work ends only with the hub, which also has the brake
			return reconcile.Result{}, nil
		case !contract.DeletesObjects(work.Annotations):
			return reconcile.Result{}, r.keep(ctx, req, work)
		case !current: // otherwise an agent that starts without the hub would create the objects again
			return reconcile.Result{}, outdatedError(work, "deleting the objects of")
		}
		err := r.finish(ctx, work)
		if wanted, ok := errors.AsType[*wantedError](err); ok { // not a failure: the Works that it waits for wake it
			return reconcile.Result{RequeueAfter: wanted.again}, nil
		}
		return reconcile.Result{}, err
	}
	manifests := plan.Parse(work)
	for i := range manifests {
		manifests[i].Kept = from == journal
	}
	if fresh, dropped := r.memory.Begin(req.NamespacedName, work.Generation, objects(manifests)); fresh {
		r.backoff.Forget(req)
		if dropped || r.Unclaimed() > 0 {
			r.unclaimed.Look()
		}
	}
	if ptrTrue(work.Spec.SuspendDispatching) {
		return r.rest(ctx, req, work, manifests)
	}
	if from == hub {
		if work, err = r.hold(ctx, work); err != nil {
			return reconcile.Result{}, err
		}
	}
	return r.execute(ctx, req, work, manifests)
}

// execute applies the manifests of a Work one by one; the result of one does not affect the others.
func (r *Reconciler) execute(ctx context.Context, req reconcile.Request, work *workv1alpha1.Work, manifests []plan.Manifest) (reconcile.Result, error) {
	outcomes := make([]plan.Outcome, 0, len(manifests))
	live := make([]*unstructured.Unstructured, len(manifests))
	changed, disturbed := 0, false
	again := wait.Jitter(resync, 0.2)
	room := time.Duration(0) // the delay after which to look for room again
	confirm := sync.OnceValue(func() error { return r.confirmWanted(ctx, work) })
	for _, m := range plan.Order(manifests) {
		step := r.manifest(ctx, req.NamespacedName, m)
		if step.immutable != nil {
			step.outcome.Result, step.outcome.Message = r.replace(ctx, req.NamespacedName, m, step.immutable, step.outcome.Message, confirm)
			r.count(step.outcome.Result)
		}
		if ctx.Err() != nil {
			return reconcile.Result{}, ctx.Err()
		}
		outcomes = append(outcomes, step.outcome)
		live[m.Ordinal] = step.live
		disturbed = disturbed || step.disturbed
		if step.wait > 0 {
			again = min(again, step.wait)
		}
		if step.noRoom {
			room = roomRetry()
			again = min(again, room)
		}
		if step.changed {
			changed++
		}
	}
	if err := r.kinds.Keep(ctx, req.NamespacedName, gvks(manifests)); err != nil {
		return reconcile.Result{}, err
	}
	r.memory.NoteLooked(req.NamespacedName)
	known := r.memory.Known(req.NamespacedName, outcomes, func() map[int]plan.Outcome { return told(work, manifests) })
	applied, notWatched := plan.Condition(known), r.notWatched(manifests)
	if notWatched.Status != "" {
		again = min(again, wait.Jitter(readAgain, 0.2))
	}
	if mayTell(manifests, known) && plan.ShouldReport(known, r.backoff.NumRequeues(req) >= quietTries, reported(work, workv1alpha1.WorkApplied)) {
		r.reporter.Report(work, []metav1.Condition{applied, plan.Dispatching(false), notWatched}, identifiers(manifests), live, silent(outcomes))
		for _, o := range outcomes {
			if o.Result != plan.Unanswered && live[o.Ordinal] == nil && r.kinds.isLost(o.Object) {
				r.reporter.Unseen(req.NamespacedName, o.Object.Identifier(o.Ordinal))
			}
		}
	}
	r.log(ctx, req.NamespacedName, applied, changed)
	switch {
	case disturbed:
		return reconcile.Result{RequeueAfter: firstRetry}, nil
	case plan.Settled(outcomes): // throttled objects have set their own delay
		r.backoff.Forget(req)
		return reconcile.Result{RequeueAfter: again}, nil
	case plan.Pending(outcomes):
		return reconcile.Result{RequeueAfter: min(again, max(r.backoff.When(req), room))}, nil
	default:
		return reconcile.Result{RequeueAfter: min(again, max(r.backoff.When(req), firstRefusedRetry, room))}, nil
	}
}

// rest leaves the objects of a suspended Work alone, but keeps reporting them.
func (r *Reconciler) rest(ctx context.Context, req reconcile.Request, work *workv1alpha1.Work, manifests []plan.Manifest) (reconcile.Result, error) {
	name := req.NamespacedName
	live := make([]*unstructured.Unstructured, len(manifests))
	unsaid := make([]bool, len(manifests))
	for _, m := range manifests {
		if m.Problem != nil || r.outside(m.Object) != nil {
			continue
		}
		if _, err := r.mapping(ctx, name, m.Object); err != nil {
			unsaid[m.Ordinal] = !meta.IsNoMatchError(err) // nothing is to be reported about a kind that the member does not serve
			continue
		}
		if err := r.kinds.Use(ctx, name, m.Object.GroupVersionKind); err != nil {
			return reconcile.Result{}, err
		}
		seen, known := r.look(ctx, m.Object)
		unsaid[m.Ordinal] = !known
		if seen != nil && plan.Deletable(seen, name) {
			live[m.Ordinal] = seen
		}
	}
	if err := r.kinds.Keep(ctx, name, gvks(manifests)); err != nil {
		return reconcile.Result{}, err
	}
	r.memory.NoteLooked(name)
	suspended, notWatched := plan.Dispatching(true), r.notWatched(manifests)
	// After a restart, earlier reports hold until the objects were seen.
	sure := !slices.Contains(unsaid, true)
	if sure || !reported(work, suspended.Type) {
		r.reporter.Report(work, []metav1.Condition{suspended, notWatched}, identifiers(manifests), live, unsaid)
		for _, m := range manifests {
			if sure && live[m.Ordinal] == nil && r.kinds.isLost(m.Object) {
				r.reporter.Unseen(name, m.Object.Identifier(m.Ordinal))
			}
		}
	}
	if r.memory.NoteLogged(name, suspended.Reason) {
		ctrl.LoggerFrom(ctx).Info("Leaving the objects of a suspended Work alone")
	}
	if !sure {
		return reconcile.Result{RequeueAfter: r.backoff.When(req)}, nil
	}
	r.backoff.Forget(req)
	if notWatched.Status != "" {
		return reconcile.Result{RequeueAfter: wait.Jitter(readAgain, 0.2)}, nil
	}
	return reconcile.Result{}, nil
}

// hold adds our finalizer to a Work that lacks it: otherwise its deletion would look like absence and leave the
// objects behind.
func (r *Reconciler) hold(ctx context.Context, work *workv1alpha1.Work) (*workv1alpha1.Work, error) {
	if controllerutil.ContainsFinalizer(work, contract.ExecutionFinalizer) {
		return work, nil
	}
	work = work.DeepCopy()
	edit, err := kube.Begin(work)
	if err != nil {
		return nil, err
	}
	controllerutil.AddFinalizer(work, contract.ExecutionFinalizer)
	if _, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerAgent); err != nil {
		return nil, err
	}
	return work, nil
}

// forget drops the state of a Work that is gone.
func (r *Reconciler) forget(ctx context.Context, req reconcile.Request) error {
	r.backoff.Forget(req)
	r.prerequisites.Forget(req.NamespacedName)
	r.memory.Forget(req.NamespacedName)
	r.wake(r.waits.Over(req.NamespacedName)) // some may wait for this Work's objects
	return errors.Join(r.waitsNoMore(ctx, req.NamespacedName), r.kinds.Keep(ctx, req.NamespacedName, nil))
}

// log logs the result, once.
func (r *Reconciler) log(ctx context.Context, name types.NamespacedName, applied metav1.Condition, changed int) {
	fresh := r.memory.NoteLogged(name, applied.Message)
	switch {
	case applied.Status != metav1.ConditionTrue && fresh:
		ctrl.LoggerFrom(ctx).Info("Could not apply a Work", "reason", applied.Message)
	case applied.Status == metav1.ConditionTrue && changed > 0:
		ctrl.LoggerFrom(ctx).Info("Applied a Work", "objects", changed)
	}
}

func objects(manifests []plan.Manifest) []plan.Object {
	out := make([]plan.Object, 0, len(manifests))
	for _, m := range manifests {
		if m.Problem == nil {
			out = append(out, m.Object)
		}
	}
	return out
}

func gvks(manifests []plan.Manifest) map[schema.GroupVersionKind]struct{} {
	out := map[schema.GroupVersionKind]struct{}{}
	for _, m := range manifests {
		if m.Problem == nil {
			out[m.Object.GroupVersionKind] = struct{}{}
		}
	}
	return out
}

func identifiers(manifests []plan.Manifest) []workv1alpha1.ResourceIdentifier {
	out := make([]workv1alpha1.ResourceIdentifier, 0, len(manifests))
	for _, m := range manifests {
		out = append(out, m.Object.Identifier(m.Ordinal))
	}
	return out
}

func ptrTrue(b *bool) bool { return b != nil && *b }
