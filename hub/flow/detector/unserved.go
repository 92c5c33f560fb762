package detector

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/detector/claim"
	"fairlead.dev/hub/flow/detector/match"
)

// reconcileUnserved asks for the kinds that the API serves by now, of those that it did not.
func (r *Reconciler) reconcileUnserved(ctx context.Context) (reconcile.Result, error) {
	found, again, err := r.kinds.recheck(ctx, r.needed)
	for _, kind := range found {
		r.queue.last(request{Kind: kind})
	}
	return reconcile.Result{RequeueAfter: again}, err
}

// lose notes that the watch of a kind ended because the API does not serve it any more.
func (k *kinds) lose(kind schema.GroupVersionKind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lost.Insert(kind)
}

// takeLost says whether a kind was lost, once for each time.
func (k *kinds) takeLost(kind schema.GroupVersionKind) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.lost.Has(kind)
	k.lost.Delete(kind)
	return was
}

// servedInstead returns the other apiVersions in which the API serves a kind, the newest first.
func (k *kinds) servedInstead(ctx context.Context, kind schema.GroupVersionKind) ([]string, error) {
	versions, err := k.Served.Versions(ctx, kind.GroupKind())
	return match.Others(kind, versions), err
}

// askForNaming asks for the policies that name a kind, which tell their authors of it and ask for what they have.
func (r *Reconciler) askForNaming(ctx context.Context, kind schema.GroupVersionKind) error {
	for _, clusterWide := range []bool{false, true} {
		policies, err := r.naming(ctx, kind, clusterWide)
		if err != nil {
			return err
		}
		for _, p := range policies {
			r.queue.last(policyRequest(p))
		}
	}
	return nil
}

// abandon takes the claims of policies that are gone from bindings of a kind that the
// API does not serve: there is no template that could be asked. Those of policies that are
// there stay as they are, and if the kind is served in another version, people are told. A binding
// of which the garbage collector would ask for the owner in a version that is not served names another.
func (r *Reconciler) abandon(ctx context.Context, kind schema.GroupVersionKind) error {
	served, err := r.kinds.servedInstead(ctx, kind)
	if err != nil {
		return err
	}
	for _, both := range []kube.BindingKind{kube.ResourceBindings(), kube.ClusterResourceBindings()} {
		found, err := both.List(ctx, r.hubClient, client.MatchingFields{kindIndex: selectsKind(kind)})
		if err != nil {
			return err
		}
		for _, b := range found {
			c, _ := claim.On(b)
			p, err := kube.PolicyNamed(ctx, r.hubClient, c.Namespace, c.Name)
			if err != nil {
				return err
			}
			if p != nil && p.GetDeletionTimestamp() == nil {
				if err := r.keepUnserved(ctx, b, p, served); err != nil {
					return err
				}
				continue
			}
			if err := r.rewriteBinding(ctx, b, func(b kube.Binding) { claim.Clear(b); nameServed(b, served) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// rewriteBinding changes a binding of the cache that may be gone.
func (r *Reconciler) rewriteBinding(ctx context.Context, b kube.Binding, change func(kube.Binding)) error {
	copied, ok := b.DeepCopyObject().(kube.Binding)
	if !ok {
		return nil
	}
	_, err := r.writeBinding(ctx, copied, change)
	return client.IgnoreNotFound(err)
}

// keepUnserved has the binding of a policy that is there outlive the version of its template, and people hear of it.
func (r *Reconciler) keepUnserved(ctx context.Context, b kube.Binding, p policyv1alpha1.Policy, served []string) error {
	if err := r.rewriteBinding(ctx, b, func(b kube.Binding) { nameServed(b, served) }); err != nil {
		return err
	}
	return r.tellUnserved(ctx, b, p, served)
}

// nameServed has a binding name its template as its owner in a version that is served.
func nameServed(b kube.Binding, served []string) {
	owner := metav1.GetControllerOf(b)
	if owner != nil && owner.UID == b.BindingSpec().Resource.UID && len(served) > 0 && !slices.Contains(served, owner.APIVersion) {
		bindings.OwnedAs(b, served[0])
	}
}

// tellUnserved tells the author of a template whose binding stays as it is: its policy selects it only in versions that the API
// does not serve any more, while others are served. Once that is not so, it is for whoever reads it in another version to act.
func (r *Reconciler) tellUnserved(ctx context.Context, b workv1alpha2.Binding, p policyv1alpha1.Policy, served []string) error {
	if len(served) == 0 {
		return nil
	}
	ref, req := b.BindingSpec().Resource, templateOf(b)
	t := kube.MetadataOf(schema.FromAPIVersionAndKind(served[0], ref.Kind))
	t.Namespace, t.Name, t.UID = ref.Namespace, ref.Name, ref.UID
	for _, apiVersion := range r.kinds.otherVersions(req.Kind) {
		kind := schema.FromAPIVersionAndKind(apiVersion, ref.Kind)
		found, listing, err := r.kinds.read(ctx, request{Kind: kind, Namespace: ref.Namespace, Name: ref.Name})
		if err != nil {
			return err
		}
		if listing == watchset.Listed && (found == nil || len(match.Versions(p, targetOf(found))) == 0) {
			return nil // it is gone, or about to be released
		}
		if found != nil {
			t = found
		}
	}
	if slices.ContainsFunc(match.Versions(p, targetOf(t)), func(v string) bool { return slices.Contains(served, v) }) {
		return nil
	}
	if e := versionNotServed(t, p, ref.APIVersion, served); r.warned.IsNew(req, e.Reason, e.Note) {
		ctrl.LoggerFrom(ctx).Info("Keeping binding as it is, the version of its template is not served any more", "binding", b.GetName(), "policy", p.GetName())
		r.events(e)
	}
	return nil
}
