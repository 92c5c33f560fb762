package detector

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/match"
	"fairlead.dev/hub/flow/detector/plan"
)

// written says what of a plan has been written. It is reported even if a later write fails, because the next reconcile finds nothing to
// write there, and so would report nothing.
type written struct {
	// claim, edit and binding say what was changed; created says that the binding is new.
	claim, edit, binding, created bool
}

// commit writes what was planned, in an order in which a hub that restarts half-way completes the rest. A policy finds its templates by
// their claims. So the claim is put on the template before the binding is written, and taken off after the binding.
func (r *Reconciler) commit(ctx context.Context, in *gathered, p plan.Plan) (done written, err error) {
	if err := r.confirm(ctx, in, p); err != nil {
		return done, err
	}
	if in.Template == nil && in.binding != nil && in.binding.GetDeletionTimestamp() == nil {
		if err := r.leaveToCollector(ctx, in.binding); err != nil {
			return done, err
		}
	}
	if p.Outcome == plan.Released {
		return r.commitRelease(ctx, in, p)
	}
	if done.claim, done.edit, err = r.commitClaim(ctx, in, p); err != nil {
		return done, err
	}
	if done.created, done.binding, err = r.commitBinding(ctx, in, p); err != nil || p.Outcome != plan.Bound {
		return done, err
	}
	done.edit, err = r.writeTemplate(ctx, in, false, func(t metav1.Object) { setEdit(t, p.Edit) })
	return done, err
}

// commitRelease takes the claim off the binding of a template, which stays, and then off the template.
func (r *Reconciler) commitRelease(ctx context.Context, in *gathered, p plan.Plan) (done written, err error) {
	if p.BindingClaim != nil {
		done.binding, err = r.writeBinding(ctx, in.binding, func(b kube.Binding) {
			claim.Clear(b)
			p.Restage(b)
			if p.Preserve {
				b.BindingSpec().PreserveResourcesOnDeletion = new(true)
			}
		})
		if client.IgnoreNotFound(err) != nil {
			return done, err
		}
	}
	if p.Claim != nil {
		done.claim, err = r.writeTemplate(ctx, in, false, func(t metav1.Object) { claim.Clear(t) })
	}
	return done, client.IgnoreNotFound(err)
}

// commitClaim puts the claim on a template and, if a lazy policy waits, the edit that the policy has seen.
func (r *Reconciler) commitClaim(ctx context.Context, in *gathered, p plan.Plan) (claimed, edited bool, err error) {
	edited = p.Outcome == plan.Postponed && in.Template.Annotations[contract.TemplateEditAnnotation] != p.Edit
	if p.Claim == nil && !edited {
		return false, false, nil
	}
	wrote, err := r.writeTemplate(ctx, in, p.Read, func(t metav1.Object) {
		if p.Claim != nil {
			claim.Set(t, *p.Claim)
		}
		if edited {
			setEdit(t, p.Edit)
		}
	})
	return wrote && p.Claim != nil, wrote && edited, err
}

// errTooLarge means that the binding would leave too little room for what the hub must write on it. The binding stays as it is.
var errTooLarge = errors.New("the binding would be too large")

// commitBinding creates or changes the binding of a template. The response to the write of the claim may have brought the template from
// which the demand is read.
func (r *Reconciler) commitBinding(ctx context.Context, in *gathered, p plan.Plan) (created, wrote bool, err error) {
	switch {
	case p.BindingClaim != nil || p.Strategy != nil:
		wrote, err = r.writeBinding(ctx, in.binding, func(b kube.Binding) {
			if p.BindingClaim != nil {
				claim.Set(b, *p.BindingClaim)
			}
			p.Restage(b)
		})
		return false, wrote, err
	case p.Binding == nil:
		return false, false, nil
	case p.Read:
		if in.Demand, err = r.demand(ctx, in.whole); err != nil {
			return false, false, err
		}
		p.Binding.Demand = *in.Demand
	case p.Claim != nil:
		p.Binding.Meta = in.Template
	}
	if why := p.Binding.TooLarge(); why != "" {
		return false, false, fmt.Errorf("%w: %s", errTooLarge, why)
	}
	update := func(b kube.Binding) {
		before := bindings.OwnedIn(b)
		p.Binding.Update(b)
		r.own(ctx, b, p.Binding.Kind, before)
		bindings.Identify(b, string(uuid.NewUUID()))
	}
	if in.binding != nil {
		wrote, err = r.writeBinding(ctx, in.binding, update)
		return false, wrote, err
	}
	in.binding = kube.BindingsIn(in.Template.Namespace).New()
	update(in.binding)
	err = r.hubClient.Create(ctx, in.binding, client.FieldOwner(contract.FieldManagerDetector))
	switch {
	case apierrors.IsAlreadyExists(err): // the cache is stale
		return false, false, apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), in.binding.GetName(), err)
	case err != nil:
		return false, false, fmt.Errorf("creating binding %q: %w", in.binding.GetName(), err)
	}
	r.remember(in.binding)
	return true, true, nil
}

// own makes the template the owner of a binding, for the garbage collector. Before is the apiVersion of the owner reference so far.
func (r *Reconciler) own(ctx context.Context, b kube.Binding, kind schema.GroupVersionKind, before string) {
	bindings.OwnedAs(b, r.kinds.Served.Preferred(ctx, kind, before))
}

// leaveToCollector makes sure that the garbage collector notices that the template of a binding is gone. It does not notice that if the
// owner reference has a version that is not served any more.
func (r *Reconciler) leaveToCollector(ctx context.Context, b kube.Binding) error {
	kind := templateOf(b).Kind
	versions, err := r.kinds.Served.Versions(ctx, kind.GroupKind())
	if err != nil {
		return err
	}
	kind.Version = ""
	_, err = r.writeBinding(ctx, b, func(b kube.Binding) { nameServed(b, match.Others(kind, versions)) })
	return client.IgnoreNotFound(err)
}

// writeBinding changes a binding, and returns whether there was anything to change.
func (r *Reconciler) writeBinding(ctx context.Context, b kube.Binding, change func(kube.Binding)) (bool, error) {
	edit, err := kube.Begin(b)
	if err != nil {
		return false, err
	}
	change(b)
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector)
	if wrote && err == nil {
		r.remember(b)
	}
	return wrote && err == nil, err
}

func (r *Reconciler) remember(b kube.Binding) {
	b.SetManagedFields(nil)
	r.bindings.Put(client.ObjectKeyFromObject(b), b)
}

// writeTemplate changes the metadata of a template, and returns whether there was anything to change. With whole, it takes the whole
// template from the response of the API server.
func (r *Reconciler) writeTemplate(ctx context.Context, in *gathered, whole bool, change func(metav1.Object)) (bool, error) {
	kind := in.Template.GroupVersionKind()
	var obj client.Object = in.Template
	if whole {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(in.Template)
		if err != nil {
			return false, fmt.Errorf("encoding %s %q: %w", kind.Kind, in.Template.Name, err)
		}
		in.whole = &unstructured.Unstructured{Object: content}
		obj = in.whole
	}
	edit, err := kube.Begin(obj)
	if err != nil {
		return false, err
	}
	change(obj)
	wrote, err := edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector)
	if !wrote || err != nil {
		return false, err
	}
	if whole {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(in.whole.Object, in.Template); err != nil {
			return true, fmt.Errorf("decoding %s %q: %w", kind.Kind, in.Template.Name, err)
		}
	}
	in.Template.SetGroupVersionKind(kind)
	in.Template.ManagedFields = nil
	r.kinds.written.Put(in.request, in.Template)
	return true, nil
}

// writePolicy changes the metadata of a policy, and returns whether there was anything to change.
func (r *Reconciler) writePolicy(ctx context.Context, p policyv1alpha1.Policy, change func(client.Object)) (bool, error) {
	obj, ok := p.(client.Object)
	if !ok {
		return false, nil
	}
	edit, err := kube.Begin(obj)
	if err != nil {
		return false, err
	}
	change(obj)
	return edit.Commit(ctx, r.hubClient, contract.FieldManagerDetector)
}

// setEdit records on a template the edit that a lazy policy has seen.
func setEdit(obj metav1.Object, edit string) {
	if obj.GetAnnotations()[contract.TemplateEditAnnotation] == edit {
		return
	}
	annotations := maps.Clone(obj.GetAnnotations())
	if edit == "" {
		delete(annotations, contract.TemplateEditAnnotation)
	} else {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[contract.TemplateEditAnnotation] = edit
	}
	obj.SetAnnotations(annotations)
}
