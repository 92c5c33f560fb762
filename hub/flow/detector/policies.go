package detector

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/plan"
)

// reconcilePolicy gives a policy its id and finalizer, watches the kinds that it names, and requests the templates that it selects and
// those that it has.
func (r *Reconciler) reconcilePolicy(ctx context.Context, req request) (reconcile.Result, error) {
	p, err := kube.PolicyNamed(ctx, r.hubClient, req.Namespace, req.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if p == nil {
		r.warned.Forget(req)
		_, err := r.askForClaimed(ctx, claim.Claim{Namespace: req.Namespace, Name: req.Name})
		r.askForKinds()
		return reconcile.Result{}, err
	}
	if p.GetDeletionTimestamp() != nil {
		return r.retire(ctx, p)
	}
	if wrote, err := r.adopt(ctx, p); wrote || err != nil {
		return reconcile.Result{}, err // the watch of policies reports the change and triggers a reconcile
	}
	r.reportSpec(p)
	initial := r.initial.take(req)
	for _, kind := range kindsOf(p) {
		if err := r.watchFor(ctx, kind, p); err != nil {
			return reconcile.Result{}, err
		}
	}
	if !initial {
		if err := r.askForSelected(p); err != nil {
			return reconcile.Result{}, err
		}
		if _, err := r.askForClaimed(ctx, claim.By(p)); err != nil {
			return reconcile.Result{}, err
		}
	}
	r.askForKinds()
	return reconcile.Result{}, nil
}

// watchFor watches a kind that a policy names, and warns the author if that has no effect.
func (r *Reconciler) watchFor(ctx context.Context, kind schema.GroupVersionKind, p policyv1alpha1.Policy) error {
	if r.exclusions.ExcludesKind(kind) {
		r.reportKind(p, reasonKindNotPropagated, kind, nil)
		return nil
	}
	namespaced, err := r.kinds.ensure(ctx, kind)
	switch {
	case kube.IsUnserved(err):
		served, why := r.kinds.servedInstead(ctx, kind)
		if why != nil {
			return why
		}
		r.reportKind(p, reasonKindNotServed, kind, err, served...)
		return nil
	case err != nil:
		return err
	case !namespaced && p.GetNamespace() != "":
		r.reportKind(p, reasonKindNotNamespaced, kind, nil)
	}
	return nil
}

// askForSelected requests the templates that a policy selects. Those of a kind that is not listed yet are requested by its first list.
func (r *Reconciler) askForSelected(p policyv1alpha1.Policy) error {
	for _, s := range p.PropagationSpec().ResourceSelectors {
		kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
		namespace := s.Namespace
		if p.GetNamespace() != "" {
			namespace = p.GetNamespace()
		}
		if s.Name != "" && namespace != "" {
			r.queue.last(request{Kind: kind, Namespace: namespace, Name: s.Name})
			continue
		}
		ask := func(t *metav1.PartialObjectMetadata) {
			target := targetOf(t)
			target.APIVersion, target.Kind = s.APIVersion, s.Kind
			if selector.Resource([]policyv1alpha1.ResourceSelector{s}, target) != selector.NoMatch {
				r.queue.last(requestFor(kind, t))
			}
		}
		var err error
		if s.Name != "" {
			err = r.kinds.eachNamed(kind, s.Name, ask)
		} else {
			err = r.kinds.each(kind, namespace, ask)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askForClaimed requests and counts all templates that a policy has, by their own claims or by those of their bindings.
func (r *Reconciler) askForClaimed(ctx context.Context, c claim.Claim) (int, error) {
	asked := map[request]struct{}{}
	for _, kind := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		bindings, err := kind.List(ctx, r.hubClient, client.MatchingFields{claimIndex: c.Key()})
		if err != nil {
			return 0, err
		}
		for _, b := range bindings {
			if template := templateOf(b); made(b, template) {
				asked[template] = struct{}{}
			}
		}
	}
	for _, kind := range r.kinds.Kinds() {
		err := r.kinds.eachOf(kind, c, func(t *metav1.PartialObjectMetadata) { asked[requestFor(kind, t)] = struct{}{} })
		if err != nil {
			return 0, err
		}
	}
	for req := range asked {
		r.queue.last(req)
	}
	return len(asked), nil
}

// made returns whether a binding may be one that the detector created. Other bindings have no template, and no policy waits for them.
func made(b kube.Binding, template request) bool {
	return b.GetNamespace() == template.Namespace && b.GetName() == contract.BindingName(template.Kind.Kind, template.Name)
}

// askForKinds requests every watched kind, to check whether it is still needed.
func (r *Reconciler) askForKinds() {
	for _, kind := range r.kinds.Kinds() {
		r.queue.last(request{Kind: kind})
	}
}

// reconcileKind watches a kind while it is needed.
func (r *Reconciler) reconcileKind(ctx context.Context, kind schema.GroupVersionKind) (reconcile.Result, error) {
	needed, err := r.needed(ctx, kind)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !needed {
		stopped, err := r.kinds.Stop(ctx, kind)
		if stopped {
			ctrl.LoggerFrom(ctx).Info("Stopped watching kind, nothing names it any more")
		}
		return reconcile.Result{}, err
	}
	_, err = r.kinds.ensure(ctx, kind)
	if !kube.IsUnserved(err) {
		return reconcile.Result{}, err
	}
	if r.kinds.takeLost(kind) {
		if err := r.askForNaming(ctx, kind); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, r.abandon(ctx, kind)
}

// needed returns whether a policy names a kind, or a template or binding of it is claimed. A claim on a template does not count if a policy
// names another version of the kind, in which the template is reconciled.
func (r *Reconciler) needed(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	if r.exclusions.ExcludesKind(kind) {
		return false, nil
	}
	if named, err := r.isNamed(ctx, kind); named || err != nil {
		return named, err
	}
	if r.kinds.anyClaimed(kind) {
		elsewhere := false
		for _, apiVersion := range r.kinds.otherVersions(kind) {
			named, err := r.isNamed(ctx, schema.FromAPIVersionAndKind(apiVersion, kind.Kind))
			if err != nil {
				return false, err
			}
			elsewhere = elsewhere || named
		}
		if !elsewhere {
			return true, nil
		}
	}
	for _, bindings := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := bindings.List(ctx, r.hubClient, client.MatchingFields{kindIndex: selectsKind(kind)}, client.Limit(1))
		if err != nil || len(found) > 0 {
			return len(found) > 0, err
		}
	}
	return false, nil
}

// isNamed returns whether a policy names a kind.
func (r *Reconciler) isNamed(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	for _, clusterWide := range []bool{false, true} {
		policies, err := r.naming(ctx, kind, clusterWide, client.Limit(1))
		if err != nil || len(policies) > 0 {
			return len(policies) > 0, err
		}
	}
	return false, nil
}

// naming returns the policies that name a kind. They must not be modified.
func (r *Reconciler) naming(ctx context.Context, kind schema.GroupVersionKind, clusterWide bool, opts ...client.ListOption) ([]policyv1alpha1.Policy, error) {
	return r.listPolicies(ctx, clusterWide, append(opts, client.MatchingFields{selectsIndex: selectsKind(kind)})...)
}

// kindsOf returns the kinds that a policy names, each once, in order.
func kindsOf(p policyv1alpha1.Policy) []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	seen := map[schema.GroupVersionKind]bool{}
	for _, s := range p.PropagationSpec().ResourceSelectors {
		kind := schema.FromAPIVersionAndKind(s.APIVersion, s.Kind)
		if !seen[kind] {
			seen[kind] = true
			out = append(out, kind)
		}
	}
	return out
}

// reportSpec warns the author of a policy, once for each generation, about fields that have no effect.
func (r *Reconciler) reportSpec(p policyv1alpha1.Policy) {
	spec := p.PropagationSpec()
	if fields := plan.Ignored(spec); len(fields) > 0 {
		r.tellAuthor(p, reasonFieldNotSupported, fieldsNotSupported(p, strings.Join(fields, ", ")))
	}
	for _, text := range plan.PolicyRemarks(spec) {
		r.tellAuthor(p, reasonFieldWithoutEffect+" "+text, policyWarning(p, reasonFieldWithoutEffect, text))
	}
	for _, text := range plan.StayRemarks(p, r.exclusions) {
		r.tellAuthor(p, reasonStaysOnHub+" "+text, policyWarning(p, reasonStaysOnHub, text))
	}
	if err := selector.ValidateResource(spec.ResourceSelectors); err != nil {
		r.tellAuthor(p, reasonInvalidSelector, invalidSelector(p, err))
	}
}
