package binding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/edits"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/binding/fanout"
	"fairlead.dev/hub/flow/binding/storage"
)

// Reasons and actions of the stage's events.
const (
	reasonSynced         = "SyncWorkSucceed"
	reasonSyncFailed     = "SyncWorkFailed"
	reasonCleanUpFailed  = "CleanupWorkFailed"
	reasonOverridden     = "ApplyOverridePolicySucceed"
	reasonOverrideFailed = "ApplyOverridePolicyFailed"
	reasonWithoutEffect  = "OverriderWithoutEffect"
	actionSync           = "SyncWork"
	actionCleanUp        = "CleanupWork"
	actionOverride       = "ApplyOverridePolicy"
)

// report emits events about what was written and what failed, and returns the sentences about the latter.
func (r *reconciler) report(ctx context.Context, s *scope, made rendering, plan fanout.Plan, done outcome) (failed []failure, notes []string) {
	log := ctrl.LoggerFrom(ctx)
	if len(done.written)+len(done.deleted) > 0 {
		log.Info("Wrote the Works of a binding", "written", len(done.written), "deleted", len(done.deleted), "failed", len(done.failures))
	}
	if len(done.waiting)+len(plan.Held)+done.skipped > 0 {
		log.V(1).Info("Waiting before writing some Works of a binding", "terminating", len(done.waiting), "held", len(plan.Held), "skipped", done.skipped)
	}
	r.reportOverrides(s, done.written)

	failed = slices.Concat(made.failures, done.failures)
	failed = slices.DeleteFunc(failed, func(f failure) bool { return apierrors.IsConflict(f.err) })
	slices.SortFunc(failed, func(a, b failure) int { return strings.Compare(a.cluster, b.cluster) })
	notes = make([]string, len(failed))
	for i, f := range failed {
		notes[i] = f.note()
	}
	if done.skipped > 0 && len(notes) > 0 {
		notes[len(notes)-1] += fmt.Sprintf(" The %d other clusters would fail in the same way, and are tried once this is fixed.", done.skipped)
	}
	key := client.ObjectKeyFromObject(s.binding)
	if len(notes) == 0 {
		if !s.waits() {
			r.warned.Resolved(key, reasonSyncFailed)
		}
	} else if r.warned.IsNew(key, reasonSyncFailed, strings.Join(notes, "\n")) {
		log.Info("Not every cluster has its Work", "reason", strings.Join(notes, " "))
		r.warn(s.binding, failed, notes)
	}
	if len(failed) == 0 && len(done.written) > 0 {
		r.reportSynced(s)
	}
	return failed, notes
}

// reportAhead emits events about Works that were written before the others, which wait for a slot and of which nothing is known yet.
func (r *reconciler) reportAhead(ctx context.Context, s *scope, written []*workv1alpha1.Work) {
	if len(written) == 0 {
		return
	}
	ctrl.LoggerFrom(ctx).Info("Wrote some Works of a binding, the others wait", "written", len(written))
	r.reportOverrides(s, written)
	r.reportSynced(s)
}

// reportOverrides emits events about the override policies that were applied, and those that changed nothing.
func (r *reconciler) reportOverrides(s *scope, written []*workv1alpha1.Work) {
	for _, w := range written {
		for _, note := range overrideNotes(r.prefix, s, w) {
			r.events(eventsink.Event{
				Regarding: bindings.TemplateRef(s.binding), Type: corev1.EventTypeNormal, Reason: note.reason, Action: actionOverride, Note: note.text,
				Detail: true,
			})
		}
	}
	r.warnWithoutEffect(s, written)
}

func (r *reconciler) reportSynced(s *scope) {
	r.tell(s.binding, eventsink.Event{
		Type: corev1.EventTypeNormal, Reason: reasonSynced, Action: actionSync, Note: r.syncedNote(s.binding), Detail: true,
	})
}

// warn emits warnings: one for each cluster whose override policies cannot be applied, and one for all others together.
func (r *reconciler) warn(b kube.Binding, failed []failure, notes []string) {
	var others []string
	for i, f := range failed {
		if !f.override {
			others = append(others, notes[i])
			continue
		}
		r.tell(b, eventsink.Event{Type: corev1.EventTypeWarning, Reason: reasonOverrideFailed, Action: actionOverride, Note: notes[i]})
	}
	if len(others) > 0 {
		r.tell(b, eventsink.Event{Type: corev1.EventTypeWarning, Reason: reasonSyncFailed, Action: actionSync, Note: strings.Join(others, " ")})
	}
}

// note is the sentence about a cluster that could not be served.
func (f failure) note() string {
	if f.override {
		return fmt.Sprintf("The override policies cannot be applied for cluster %q, which keeps what it has: %v.", f.cluster, f.err)
	}
	if errors.Is(f.err, edits.ErrNotSeen) {
		return fmt.Sprintf("The latest edit of the template is in no cluster yet: %v.", f.err)
	}
	if errors.Is(f.err, errTaken) || errors.Is(f.err, errNotAllowed) || namespaceMissing(f.err) {
		return fmt.Sprintf("Cluster %q does not get the object: %v.", f.cluster, f.err)
	}
	if full := (*storage.NoRoomError)(nil); errors.As(f.err, &full) {
		return fmt.Sprintf("Cluster %q does not get the object as it is now: %v. Delete objects that nobody needs, send them to fewer clusters, "+
			"or ask for a larger --namespace-storage of `hub serve`.", f.cluster, full)
	}
	if tooLarge(f.err) {
		return fmt.Sprintf("The Work for cluster %q could not be written: as JSON the object is larger than the hub can store (%v). "+
			"Split the object, or leave out the parts that members do not need.", f.cluster, f.err)
	}
	return fmt.Sprintf("The Work for cluster %q could not be written: %v.", f.cluster, f.err)
}

// tooLarge returns whether an object was rejected for its size: by the API server, or by the database, which says so only in the text.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "request is too large")
}

// reportCleanUp emits an event if Works of a deleted binding could not be deleted.
func (r *reconciler) reportCleanUp(ctx context.Context, b kube.Binding, err error) {
	ctrl.LoggerFrom(ctx).V(1).Info("Keeping a deleted binding until its Works are deleted")
	note := fmt.Sprintf("Works could not be deleted, and the hub tries again: %v.", err)
	if r.warned.IsNew(client.ObjectKeyFromObject(b), reasonCleanUpFailed, note) {
		r.events(eventsink.Event{Regarding: b, Type: corev1.EventTypeWarning, Reason: reasonCleanUpFailed, Action: actionCleanUp, Note: note})
	}
}

// tell emits an event on the template and on the binding.
func (r *reconciler) tell(b kube.Binding, e eventsink.Event) {
	e.Regarding = bindings.TemplateRef(b)
	r.events(e)
	e.Regarding = b
	r.events(e)
}

// syncedNote is the sentence that clients of this API expect.
func (r *reconciler) syncedNote(b kube.Binding) string {
	name := b.GetName()
	if b.GetNamespace() != "" {
		name = b.GetNamespace() + "/" + name
	}
	return fmt.Sprintf("Sync work of %s(%s) successful.", r.kind.Kind, name)
}
