package detector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ctrl "sigs.k8s.io/controller-runtime"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/eventsink"
	"fairlead.dev/hub/flow/detector/plan"
)

// Reasons of events.
const (
	reasonApplyPolicySucceed   = "ApplyPolicySucceed"
	reasonApplyPolicyFailed    = "ApplyPolicyFailed"
	reasonPreemptPolicySucceed = "PreemptPolicySucceed"
	reasonPreemptPolicyFailed  = "PreemptPolicyFailed"
	reasonWaitForEdit          = "WaitForEdit"
	reasonGetReplicasSucceed   = "GetReplicasSucceed"
	reasonGetReplicasFailed    = "GetReplicasFailed"
	reasonGetComponentsSucceed = "GetComponentsSucceed"
	reasonGetComponentsFailed  = "GetComponentsFailed"
	reasonFieldNotSupported    = "FieldNotSupported"
	reasonFieldWithoutEffect   = "FieldWithoutEffect"
	reasonInvalidSelector      = "InvalidSelector"
	reasonKindNotServed        = "KindNotServed"
	reasonVersionNotServed     = "VersionNotServed"
	reasonKindNotPropagated    = "KindNotPropagated"
	reasonKindNotNamespaced    = "KindNotNamespaced"
	reasonStaysOnHub           = "StaysOnHub"
)

// Actions of events.
const (
	actionApplyPolicy   = "ApplyPolicy"
	actionReadPolicy    = "ReadPolicy"
	actionPreemptPolicy = "PreemptPolicy"
)

// report tells the author of a template what was written, or, once for each reason, why the policy could not be applied. What was written
// is reported even if the rest failed.
func (r *Reconciler) report(ctx context.Context, in *gathered, p plan.Plan, done written, err error) {
	log := ctrl.LoggerFrom(ctx)
	t, req := in.Template, in.request
	if in.Winner == nil {
		r.warned.Forget(req)
		r.remarked.Forget(req)
		if done.claim {
			log.Info("Released template, no policy selects it")
		}
		return
	}
	if done.claim && in.Victim != nil {
		r.events(preempted(t, in.Winner, in.Victim))
	}
	if done.edit && p.Outcome == plan.Postponed {
		log.Info("Waiting for an edit of the template, its policy is lazy", "policy", in.Winner.GetName())
		r.events(postponed(t, in.Winner))
	}
	if done.binding && p.Outcome == plan.Bound {
		log.Info("Applied policy to template", "policy", in.Winner.GetName(), "binding", in.binding.GetName(), "created", done.created)
		r.events(applied(t, in.Winner))
		if r.interpreter.Has(req.Kind, interpreter.InterpretComponent) {
			r.events(gotComponents(t, len(in.binding.BindingSpec().Components)))
		} else if r.interpreter.Has(req.Kind, interpreter.InterpretReplica) {
			r.events(gotReplicas(t, in.binding.BindingSpec().Replicas))
		}
		r.remark(in)
	}
	if err == nil && p.Why != "" {
		err = errors.New(p.Why)
	}
	r.reportFailure(in, done, err)
}

// repeatAfter is how long after an event it is repeated if it still holds: events are kept for an hour.
const repeatAfter = 55 * time.Minute

// reportFailure tells the author of a template why the policy could not be applied, once for each reason, and repeatedly while that holds.
func (r *Reconciler) reportFailure(in *gathered, done written, err error) {
	t, p := in.Template, in.Winner
	switch {
	case err == nil:
		r.warned.Forget(in.request)
	case apierrors.IsConflict(err), errors.Is(err, context.Canceled):
	case r.warned.IsDue(in.request, reasonApplyPolicyFailed, err.Error(), in.Now, repeatAfter):
		r.events(notApplied(t, p, err.Error()))
		switch {
		case errors.Is(err, errReplicas):
			r.events(notRead(t, reasonGetReplicasFailed, err))
		case errors.Is(err, errComponents):
			r.events(notRead(t, reasonGetComponentsFailed, err))
		}
		if in.Victim != nil && !done.claim {
			r.events(notPreempted(t, p, in.Victim, err.Error()))
		}
	}
}

// remark warns the author of a template about fields of the policy that have no effect on it, once for each change of that.
func (r *Reconciler) remark(in *gathered) {
	remarks := plan.TemplateRemarks(in.Input, in.binding.BindingSpec(), r.interpreter.Has(in.request.Kind, interpreter.InterpretHealth))
	if len(remarks) == 0 {
		r.remarked.Forget(in.request)
		return
	}
	if !r.remarked.IsNew(in.request, reasonFieldWithoutEffect, strings.Join(remarks, "\n")) {
		return
	}
	for _, text := range remarks {
		r.events(eventsink.Event{
			Regarding: reference(in.Template), Type: corev1.EventTypeWarning, Reason: reasonFieldWithoutEffect, Action: actionApplyPolicy, Note: text,
		})
	}
}

// reportKind tells the author of a policy that the policy names a kind without effect, and why. The error may say more. Served are the
// other apiVersions in which the hub serves the kind.
func (r *Reconciler) reportKind(p policyv1alpha1.Policy, reason string, kind schema.GroupVersionKind, why error, served ...string) {
	var note string
	var misspelt *kube.MisspeltKindError
	switch {
	case len(served) > 0:
		note = fmt.Sprintf("The hub serves %s in %s, not in %s: name %s in resourceSelectors. Until then, the objects that the policy has stay as they are.",
			kind.Kind, strings.Join(served, " and "), kind.GroupVersion(), served[0])
	case errors.As(why, &misspelt):
		note = fmt.Sprintf("The hub has no kind %s of %s, but %s. Correct it in resourceSelectors.", kind.Kind, kind.GroupVersion(), misspelt.Served)
	case reason == reasonKindNotServed:
		note = fmt.Sprintf("The hub has no kind %s of %s. Install its CustomResourceDefinition on the hub; what the policy selects is then propagated.",
			kind.Kind, kind.GroupVersion())
	case reason == reasonKindNotNamespaced:
		note = fmt.Sprintf("%s of %s is not namespaced, and a PropagationPolicy selects only objects of its own namespace. Select it in a ClusterPropagationPolicy.",
			kind.Kind, kind.GroupVersion())
	default:
		note = fmt.Sprintf("%s of %s stays on the hub: it is part of how the hub works, or named in --skipped-propagating-apis. Remove it from resourceSelectors.",
			kind.Kind, kind.GroupVersion())
	}
	r.tellAuthor(p, reason+" "+kind.String(), policyWarning(p, reason, note))
}

// tellAuthor emits an event about a policy unless it was already emitted for this generation.
func (r *Reconciler) tellAuthor(p policyv1alpha1.Policy, key string, e eventsink.Event) {
	if r.warned.IsNew(policyRequest(p), key, fmt.Sprintf("%s/%d", p.GetUID(), p.GetGeneration())) {
		r.events(e)
	}
}

func applied(t *metav1.PartialObjectMetadata, p policyv1alpha1.Policy) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeNormal, Reason: reasonApplyPolicySucceed, Action: actionApplyPolicy,
		Note:   "Apply " + nameOf(p) + " succeed",
		Detail: true,
	}
}

func notApplied(t *metav1.PartialObjectMetadata, p policyv1alpha1.Policy, why string) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeWarning, Reason: reasonApplyPolicyFailed, Action: actionApplyPolicy,
		Note: "Apply " + nameOf(p) + " failed: " + why,
	}
}

func postponed(t *metav1.PartialObjectMetadata, p policyv1alpha1.Policy) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeNormal, Reason: reasonWaitForEdit, Action: actionApplyPolicy,
		Note: capitalized(nameOf(p)) + " is lazy: it takes effect with the next edit of this object.",
	}
}

func preempted(t *metav1.PartialObjectMetadata, p, victim policyv1alpha1.Policy) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeNormal, Reason: reasonPreemptPolicySucceed, Action: actionPreemptPolicy,
		Note: capitalized(nameOf(p)) + " has preemption Always and took the template from " + nameOf(victim) + ".",
	}
}

func notPreempted(t *metav1.PartialObjectMetadata, p, victim policyv1alpha1.Policy, why string) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeWarning, Reason: reasonPreemptPolicyFailed, Action: actionPreemptPolicy,
		Note: capitalized(nameOf(p)) + " could not take the template from " + nameOf(victim) + ": " + why,
	}
}

// versionNotServed warns about a template that is served only in other versions than those in which its policy selects it.
func versionNotServed(t *metav1.PartialObjectMetadata, p policyv1alpha1.Policy, apiVersion string, served []string) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeWarning, Reason: reasonVersionNotServed, Action: actionApplyPolicy,
		Note: fmt.Sprintf("The hub no longer serves %s of %s, the version in which %s selects %s %q. The object stays in its clusters as it is, and edits of it do not get there "+
			"until you name %s in resourceSelectors of the policy, or serve the version again.", t.Kind, apiVersion, nameOf(p), t.Kind, t.Name, served[0]),
	}
}

func gotReplicas(t *metav1.PartialObjectMetadata, replicas int32) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeNormal, Reason: reasonGetReplicasSucceed, Action: actionApplyPolicy,
		Note:   fmt.Sprintf("Get replicas(%d) succeed", replicas),
		Detail: true,
	}
}

func gotComponents(t *metav1.PartialObjectMetadata, components int) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeNormal, Reason: reasonGetComponentsSucceed, Action: actionApplyPolicy,
		Note:   fmt.Sprintf("Get components(%d) succeed", components),
		Detail: true,
	}
}

// notRead returns the failure of notApplied with the reason that clients wait for on the template.
func notRead(t *metav1.PartialObjectMetadata, reason string, err error) eventsink.Event {
	return eventsink.Event{
		Regarding: reference(t), Type: corev1.EventTypeWarning, Reason: reason, Action: actionApplyPolicy,
		Note:   capitalized(err.Error()) + ".",
		Detail: true,
	}
}

func fieldsNotSupported(p policyv1alpha1.Policy, fields string) eventsink.Event {
	return policyWarning(p, reasonFieldNotSupported,
		fmt.Sprintf("This version of the hub does not act on: %s. The rest of the policy is applied.", fields))
}

func invalidSelector(p policyv1alpha1.Policy, err error) eventsink.Event {
	return policyWarning(p, reasonInvalidSelector,
		fmt.Sprintf("Part of the policy selects nothing until it is corrected: %v", err))
}

func policyWarning(p policyv1alpha1.Policy, reason, note string) eventsink.Event {
	return eventsink.Event{Regarding: p, Type: corev1.EventTypeWarning, Reason: reason, Action: actionReadPolicy, Note: note}
}

// nameOf returns the name of a policy for events.
func nameOf(p policyv1alpha1.Policy) string {
	if p.GetNamespace() == "" {
		return "cluster policy(" + p.GetName() + ")"
	}
	return "policy(" + p.GetNamespace() + "/" + p.GetName() + ")"
}

func capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// reference returns the reference to a template for events.
func reference(t *metav1.PartialObjectMetadata) runtime.Object {
	return &corev1.ObjectReference{
		APIVersion: t.APIVersion, Kind: t.Kind, Namespace: t.Namespace, Name: t.Name,
		UID: t.UID, ResourceVersion: t.ResourceVersion,
	}
}
