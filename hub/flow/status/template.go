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

// updateTemplate writes the status that the items add up to, if the kind has a rule
// for that and the template is still there. Items that make it invalid are left out of it, and
// say so in the decision. It returns what the status was made of beside them; empty if it is not
// that of all items.
func (r *Reconciler) updateTemplate(
	ctx context.Context, b kube.Binding, in aggregate.Input, out *aggregate.Decision, known *memory,
) (of string, err error) {
	ref := b.BindingSpec().Resource
	// Whoever may write bindings in one namespace may not write statuses in others.
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
		// What is left out leaves room for others. The next look decides the same.
		in.LeftOut = known.left
		*out = aggregate.Decide(in)
		out.Changed = true
		written, wrote, err = r.writeTemplate(ctx, r.hubClient, template, out.Reported)
	}
	if err != nil && out.Unshown != "" && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !interpreter.IsUnanswered(err) {
		// All that is reported is too much for the rules of the kind, or for the API: what the binding shows may do.
		if isUnacceptable(err) || apierrors.IsRequestEntityTooLargeError(err) {
			known.unshown = out.Unshown
		}
		return "", r.writeShown(ctx, b, template, out, known)
	}
	if err != nil {
		return "", client.IgnoreNotFound(err) // it is gone, or has no status to write
	}
	known.fit(out, r.clock.Now())
	if wrote {
		r.tell(ctx, b)
	}
	return r.madeOf(ref, bindings.MadeOf(written, interpreter.Version(r.interpreter, kindOf(ref))), out.Unshown), nil
}

// writeShown writes the status of what the binding shows, as all that is reported is too much.
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

// tell tells that the template of a binding got a status.
func (r *Reconciler) tell(ctx context.Context, b kube.Binding) {
	ref := b.BindingSpec().Resource
	ctrl.LoggerFrom(ctx).Info("Aggregated status of template", "kind", ref.Kind, "template", ref.Name)
	r.events(aggregatedOnTemplate(b))
}

// rulesOf tells what the status of a binding's template is made of beside what the clusters report.
func (r *Reconciler) rulesOf(b kube.Binding) string {
	ref := b.BindingSpec().Resource
	return fmt.Sprintf("%q", []string{b.GetAnnotations()[contract.TemplateFingerprintAnnotation], interpreter.Version(r.interpreter, kindOf(ref)), string(ref.UID)})
}

// madeOf returns a hash of what the status of a template is made of beside the items, given what its binding says that it
// is made of, and which statuses have no room in the items; empty if nothing tells whether that is all.
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

// isWritten says whether the status of a template was made of the items that its binding has, of the statuses that have no room in it,
// of the template as it is and as we would: whoever wrote the binding wrote the template before, or said nothing of it.
func (r *Reconciler) isWritten(b kube.Binding, unshown string) bool {
	of := r.madeOfBinding(b, unshown)
	return of != "" && of == b.BindingStatus().TemplateStatusOf
}

// madeOfBinding is madeOf of the template that a binding was made of.
func (r *Reconciler) madeOfBinding(b kube.Binding, unshown string) string {
	return r.madeOf(b.BindingSpec().Resource, b.GetAnnotations()[contract.TemplateFingerprintAnnotation], unshown)
}

// unacceptableError says that items add up to no status that the API takes.
type unacceptableError struct{ error }

// Unwrap lets others see why.
func (e unacceptableError) Unwrap() error { return e.error }

// writeTemplate writes the status that items add up to, and returns the template with it. It changes no template but its copy.
func (r *Reconciler) writeTemplate(
	ctx context.Context, c client.Client, template *unstructured.Unstructured, items []workv1alpha2.AggregatedStatusItem,
) (written *unstructured.Unstructured, wrote bool, err error) {
	template = template.DeepCopy()
	result, err := r.interpreter.AggregateStatus(ctx, template, items)
	if err != nil {
		err = fmt.Errorf("adding up the status of %s %q: %w", template.GetKind(), template.GetName(), err)
		if interpreter.IsUnanswered(err) || ctx.Err() != nil {
			return nil, false, err // which says nothing of the items
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

// fieldsOf names the fields that an API server finds invalid, and not what is in them: it
// repeats whole objects, with their passwords.
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
