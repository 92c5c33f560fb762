package status

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/status/aggregate"
)

// updateTemplate writes the aggregated status of the items to the template, if the kind has a rule for it and the template still exists.
// Items that make the status invalid are left out, in the decision, too. It returns the value for templateStatusOf; empty if the status
// is not that of all items.
func (r *Reconciler) updateTemplate(
	ctx context.Context, b kube.Binding, in aggregate.Input, out *aggregate.Decision, known *memory,
) (of string, err error) {
	ref := b.BindingSpec().Resource
	// The right to write bindings in one namespace must not become a right to write statuses in others.
	if ref.Namespace != b.GetNamespace() || !r.interpreter.Has(kindOf(ref), interpreter.AggregateStatus) {
		return "", nil
	}
	template, err := r.template(ctx, ref)
	if template == nil || err != nil {
		return "", err
	}
	if out.Unshown != "" && out.Unshown == known.unshown {
		return "", r.writeShown(ctx, b, template, out, known)
	}
	written, wrote, err := r.writeTemplate(ctx, r.hubClient, template, out.Reported)
	if isUnacceptable(err) && r.leaveOut(ctx, template, out, known, err) {
		// The statuses that are left out may make room for others. The next reconcile decides the same.
		in.LeftOut = known.left
		*out = aggregate.Decide(in)
		out.Changed = true
		written, wrote, err = r.writeTemplate(ctx, r.hubClient, template, out.Reported)
	}
	if err != nil && out.Unshown != "" && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !interpreter.IsUnanswered(err) {
		// The reports together are too much for the rules of the kind, or for the API server: try those that fit in the binding.
		if isUnacceptable(err) || apierrors.IsRequestEntityTooLargeError(err) {
			known.unshown = out.Unshown
		}
		return "", r.writeShown(ctx, b, template, out, known)
	}
	if err != nil {
		return "", client.IgnoreNotFound(err) // the template was deleted, or has no status subresource
	}
	known.fit(out, r.clock.Now())
	if wrote {
		r.tell(ctx, b)
	}
	return r.madeOf(ref, bindings.MadeOf(written, interpreter.Version(r.interpreter, kindOf(ref))), out.Unshown), nil
}

// writeShown writes the status aggregated from the items that the binding shows, because that of all reports is too large.
func (r *Reconciler) writeShown(ctx context.Context, b kube.Binding, template *unstructured.Unstructured, out *aggregate.Decision, known *memory) error {
	_, wrote, err := r.writeTemplate(ctx, r.hubClient, template, out.Items)
	if err != nil {
		known.unshown = ""
		return client.IgnoreNotFound(err)
	}
	if now := r.clock.Now(); known.due(now) {
		known.since = now
	}
	if wrote {
		r.tell(ctx, b)
	}
	return nil
}

// tell logs, and emits an event, that the template's status was written.
func (r *Reconciler) tell(ctx context.Context, b kube.Binding) {
	ref := b.BindingSpec().Resource
	ctrl.LoggerFrom(ctx).Info("Aggregated status of template", "kind", ref.Kind, "template", ref.Name)
	r.events(aggregatedOnTemplate(b))
}

// rulesOf identifies the inputs of the template's status other than the clusters' reports.
func (r *Reconciler) rulesOf(b kube.Binding) string {
	ref := b.BindingSpec().Resource
	return fmt.Sprintf("%q", []string{b.GetAnnotations()[contract.TemplateFingerprintAnnotation], interpreter.Version(r.interpreter, kindOf(ref)), string(ref.UID)})
}

// madeOf returns a hash of the inputs of a template's status other than the items, given the template's fingerprint and the digest of
// the statuses that do not fit in the items. It is empty if some of the inputs cannot be known, as where a webhook aggregates.
func (r *Reconciler) madeOf(ref workv1alpha2.ObjectReference, template, unshown string) string {
	kind := kindOf(ref)
	if r.program == "" || template == "" || interpreter.AsksOthers(r.interpreter, kind, interpreter.AggregateStatus) {
		return ""
	}
	of := []string{r.program, template, interpreter.Version(r.interpreter, kind), string(ref.UID)}
	if unshown != "" {
		of = append(of, unshown)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", of))
	return hex.EncodeToString(sum[:10])
}

// isWritten returns whether the template's status was aggregated from the binding's items, from the statuses that do not fit in the
// binding and from the current template, and as this program would. The binding tells: templateStatusOf is set only after the template
// was written.
func (r *Reconciler) isWritten(b kube.Binding, unshown string) bool {
	of := r.madeOfBinding(b, unshown)
	return of != "" && of == b.BindingStatus().TemplateStatusOf
}

// madeOfBinding is madeOf with the template's fingerprint on the binding.
func (r *Reconciler) madeOfBinding(b kube.Binding, unshown string) string {
	return r.madeOf(b.BindingSpec().Resource, b.GetAnnotations()[contract.TemplateFingerprintAnnotation], unshown)
}

// unacceptableError says that items cannot be aggregated into a status that the API server accepts.
type unacceptableError struct{ error }

// Unwrap returns the cause.
func (e unacceptableError) Unwrap() error { return e.error }

// writeTemplate writes the aggregated status of items, and returns the template with that status. It modifies only a copy.
func (r *Reconciler) writeTemplate(
	ctx context.Context, c client.Client, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem,
) (written *unstructured.Unstructured, wrote bool, err error) {
	template = template.DeepCopy()
	result, err := r.interpreter.AggregateStatus(ctx, template, items)
	if err != nil {
		err = fmt.Errorf("adding up the status of %s %q: %w", template.GetKind(), template.GetName(), err)
		if interpreter.IsUnanswered(err) || ctx.Err() != nil {
			return nil, false, err // implies nothing about the items
		}
		return nil, false, unacceptableError{err}
	}
	edit, err := kube.Begin(template)
	if err != nil {
		return nil, false, err
	}
	if status, ok := result.Object["status"]; ok {
		if made, ok := status.(map[string]any); ok {
			aggregate.MarkTemplate(template.GetKind(), template.GetAPIVersion(), made, items, r.clock.Now())
		}
		template.Object["status"] = status
	}
	wrote, err = edit.Commit(ctx, c, contract.FieldManagerStatus)
	if apierrors.IsInvalid(err) {
		return nil, false, unacceptableError{fmt.Errorf("the status that the clusters report of %s %q is not valid: %s",
			template.GetKind(), template.GetName(), fieldsOf(err))}
	}
	return template, wrote, err
}

// fieldsOf returns the names of the fields that the API server finds invalid, without their values: its messages quote whole objects,
// including passwords.
func fieldsOf(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return "the API does not say which field"
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, strings.TrimSpace(cause.Field+" "+string(cause.Type)))
	}
	slices.Sort(fields)
	fields = slices.Compact(fields)
	const most = 10
	return strings.Join(fields[:min(len(fields), most)], ", ")
}
