package dependencies

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// Reasons and actions of events.
const (
	reasonGetDependenciesSucceed = "GetDependenciesSucceed"
	reasonGetDependenciesFailed  = "GetDependenciesFailed"
	reasonSyncSucceed            = "SyncScheduleResultToDependenciesSucceed"
	reasonSyncFailed             = "SyncScheduleResultToDependenciesFailed"
	reasonNotGranted             = "DependencyNotGranted"
	reasonRulesGone              = "DependencyRulesGone"
	reasonPolicyConflict         = "DependencyPolicyConflict"

	actionGetDependencies = "GetDependencies"
	actionSync            = "SyncScheduleResultToDependencies"
)

// report emits events about the result of a plan, and about dependencies that are not attached.
func (r *Reconciler) report(in *gathered, p plan.Plan, done written, err error) {
	r.tellOrphans(in.request, in.binding, in.Needs)
	r.tellWithheld(in.request, in.binding, in.Permitted, p.Staying)
	switch {
	case done.failed != nil:
		r.tellNotFollowing(in.request, in.binding, done.failed)
	case err == nil:
		r.tellLeftOut(in.request, in.binding, done)
	}
}

func gotDependencies(b kube.Binding, refs []configv1alpha1.DependentObjectReference) eventsink.Event {
	return eventsink.Event{
		Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeNormal, Reason: reasonGetDependenciesSucceed, Action: actionGetDependencies,
		Note: fmt.Sprintf("Get dependencies(%d) succeed", len(refs)), Detail: true,
	}
}

// tellFailed reports why the dependencies of a template cannot be determined.
func (r *Reconciler) tellFailed(req request, b kube.Binding, err error) {
	if !r.warned.IsNew(req, reasonGetDependenciesFailed, err.Error()) {
		return
	}
	r.events(eventsink.Event{
		Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonGetDependenciesFailed, Action: actionGetDependencies,
		Note: fmt.Sprintf("The dependencies of this object cannot be determined, so no new ones are sent with it: %v", err),
	})
}

// tellNotFollowing reports that not all dependencies of a workload could be attached.
func (r *Reconciler) tellNotFollowing(req request, b kube.Binding, err error) {
	if apierrors.IsConflict(err) || errors.Is(err, context.Canceled) || !r.warned.IsNew(req, reasonSyncFailed, err.Error()) {
		return
	}
	r.events(eventsink.Event{
		Regarding: b, Type: corev1.EventTypeWarning, Reason: reasonSyncFailed, Action: actionSync,
		Note: fmt.Sprintf("Not all dependencies of this object could be sent with it, and the hub tries again: %v.", err),
	})
}

// tellLeftOut reports once which dependencies of a workload are not propagated because their bindings have no room to name its clusters.
func (r *Reconciler) tellLeftOut(req request, b kube.Binding, done written) {
	if len(done.leftOut) == 0 {
		r.warned.Resolved(req, reasonSyncFailed)
	}
	if done.message != "" && r.warned.IsNew(req, reasonSyncFailed, done.message) {
		r.events(eventsink.Event{Regarding: bindings.TemplateRef(b), Type: corev1.EventTypeWarning, Reason: reasonSyncFailed, Action: actionSync, Note: done.message})
	}
}

// tellTaken reports that another object's binding has the name.
func (r *Reconciler) tellTaken(independent, b kube.Binding, o plan.Object) {
	ref := b.BindingSpec().Resource
	if !r.warned.IsNew(client.ObjectKeyFromObject(independent), reasonSyncFailed+" "+b.GetName(), string(ref.UID)) {
		return
	}
	r.events(eventsink.Event{
		Regarding: independent, Type: corev1.EventTypeWarning, Reason: reasonSyncFailed, Action: actionSync,
		Note: fmt.Sprintf("%s %q is not sent yet: binding %q belongs to %s %s %q with uid %s. If that object is gone, the binding will be "+
			"removed shortly; otherwise rename one of the two objects.", o.Kind.Kind, o.Meta.Name, b.GetName(), ref.APIVersion, ref.Kind, ref.Name, ref.UID),
	})
}

func followed(independent, b kube.Binding) eventsink.Event {
	return eventsink.Event{
		Regarding: independent, Type: corev1.EventTypeNormal, Reason: reasonSyncSucceed, Action: actionSync,
		Note: fmt.Sprintf("Sync schedule result to dependency %s %q succeed", b.BindingSpec().Resource.Kind, b.BindingSpec().Resource.Name), Detail: true,
	}
}

func optionsDiffer(b kube.Binding, message string) eventsink.Event {
	return eventsink.Event{Regarding: b, Type: corev1.EventTypeWarning, Reason: reasonPolicyConflict, Action: actionSync, Note: message}
}
