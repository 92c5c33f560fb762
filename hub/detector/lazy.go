package detector

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/detector/bind"
	"fairlead.dev/hub/detector/claim"
)

// activation decides whether a policy takes effect on a template now.
func (r *Reconciler) activation(
	ctx context.Context, t *metav1.PartialObjectMetadata, p policyv1alpha1.Policy, bound bool,
) (bind.Activation, error) {
	if p.PropagationSpec().ActivationPreference != policyv1alpha1.LazyActivation {
		return bind.Activate(false, "", "", bound, false), nil
	}
	whole, err := r.whole(ctx, t)
	if err != nil {
		return bind.Activation{}, err
	}
	if whole == nil {
		return bind.Activation{}, errGone
	}
	edit, err := bind.Edit(whole)
	if err != nil {
		return bind.Activation{}, err
	}
	age := p.GetCreationTimestamp()
	return bind.Activate(true, t.Annotations[contract.TemplateEditAnnotation], edit, bound, !t.CreationTimestamp.Before(&age)), nil
}

// postpone lets a lazy policy have a template whose binding, if there is one, stays as
// it is but for the claim.
func (r *Reconciler) postpone(
	ctx context.Context, req request, t *metav1.PartialObjectMetadata, b kube.Binding, bound bool, p policyv1alpha1.Policy, a bind.Activation,
) error {
	news := t.Annotations[contract.TemplateEditAnnotation] != a.Seen
	c := claim.By(p)
	if err := r.mark(ctx, req, t, func(obj metav1.Object) {
		claim.Set(obj, c)
		setSeen(obj, a.Seen)
	}); err != nil {
		return err
	}
	if bound && bind.Owned(b, t) && b.GetDeletionTimestamp() == nil {
		edit, err := kube.Begin(b)
		if err != nil {
			return err
		}
		claim.Set(b, c)
		wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector)
		if err != nil {
			return err
		}
		if wrote {
			b.SetManagedFields(nil)
			r.bindings.Put(client.ObjectKeyFromObject(b), b)
		}
	}
	if news {
		ctrl.LoggerFrom(ctx).Info("Waiting for an edit of the template, its policy is lazy", "policy", p.GetName())
		r.events(postponed(t, p))
	}
	return nil
}

// setSeen lets a template remember the edit that a lazy policy has seen.
func setSeen(obj metav1.Object, seen string) {
	annotations := maps.Clone(obj.GetAnnotations())
	if seen == "" {
		delete(annotations, contract.TemplateEditAnnotation)
	} else {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[contract.TemplateEditAnnotation] = seen
	}
	obj.SetAnnotations(annotations)
}
