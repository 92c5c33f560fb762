package detector

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/flow/detector/match"
	"fairlead.dev/hub/flow/detector/plan"
)

// One object is served in several versions, and each version that a policy names is watched. A request names the object in one of them. The
// decision is the same in all: it depends on the policies that name any of these versions, and on the newest state that any watch has
// shown. Only the request in the version in which the policy has the object goes on to write; the others request that version.

// otherVersions returns the other apiVersions of a kind that are watched, the newest first. Most kinds have none.
func (k *kinds) otherVersions(kind schema.GroupVersionKind) []string {
	return match.Others(kind, k.Versions(kind.GroupKind()))
}

// template returns a copy of the metadata of a template; nil if it does not exist. The watch of another version may have shown a newer
// state of the same object.
func (k *kinds) template(ctx context.Context, req request) (t *metav1.PartialObjectMetadata, listing watchset.Listing, err error) {
	if t, listing, err = k.read(ctx, req); t == nil || err != nil {
		return t, listing, err
	}
	for _, apiVersion := range k.otherVersions(req.Kind) {
		kind := schema.FromAPIVersionAndKind(apiVersion, req.Kind.Kind)
		other, _, err := k.read(ctx, request{Kind: kind, Namespace: req.Namespace, Name: req.Name})
		if err != nil {
			return nil, listing, err
		}
		if other != nil && contract.Older(t.ResourceVersion, other.ResourceVersion) {
			t = other
		}
	}
	t.SetGroupVersionKind(req.Kind)
	return t, listing, nil
}

// gatherVersion determines in which version the winner has the template. Before that can differ from the version of its binding, every
// version is watched in which the policy selects it. The result must not depend on which version was reconciled first, since the binding
// stays in it.
func (r *Reconciler) gatherVersion(ctx context.Context, in *gathered) error {
	var current string
	if in.Binding != nil && plan.Owned(in.Binding, in.Template) {
		current = in.Binding.BindingSpec().Resource.APIVersion
	}
	target := targetOf(in.Template)
	version := match.Version(in.Winner, target, current, r.kinds.otherVersions(in.request.Kind)...)
	if version != current {
		if err := r.watchVersions(ctx, in.request.Kind.Kind, match.Versions(in.Winner, target)); err != nil {
			return err
		}
		version = match.Version(in.Winner, target, current, r.kinds.otherVersions(in.request.Kind)...)
	}
	if version != target.APIVersion {
		in.OtherVersion = version
	}
	return nil
}

// watchVersions watches a kind in each of the given apiVersions that the API serves.
func (r *Reconciler) watchVersions(ctx context.Context, kind string, apiVersions []string) error {
	for _, apiVersion := range apiVersions {
		as := schema.FromAPIVersionAndKind(apiVersion, kind)
		if r.exclusions.ExcludesKind(as) {
			continue
		}
		if _, err := r.kinds.ensure(ctx, as); err != nil && !kube.IsUnserved(err) {
			return err
		}
	}
	return nil
}

// askElsewhere requests a template in the version in which its policy has it, unless its binding has that version already: every change of
// the template or its policy triggers a reconcile in all versions anyway. The request is delayed so that there is no busy loop if a
// conversion changes the labels, and with them the policy, from version to version. A version that is not watched yet requests the template
// with its first list, and in one that is not served the template stays as it is.
func (r *Reconciler) askElsewhere(in *gathered) {
	bound := in.Binding != nil && plan.Owned(in.Binding, in.Template) && in.Binding.BindingSpec().Resource.APIVersion == in.OtherVersion
	if bound || !slices.Contains(r.kinds.otherVersions(in.request.Kind), in.OtherVersion) {
		return
	}
	kind := schema.FromAPIVersionAndKind(in.OtherVersion, in.request.Kind.Kind)
	r.queue.after(askSoon, request{Kind: kind, Namespace: in.request.Namespace, Name: in.request.Name})
}

// sameObject returns whether two requests name the same object, in any version.
func sameObject(a, b request) bool {
	return a.Kind.GroupKind() == b.Kind.GroupKind() && a.Namespace == b.Namespace && a.Name == b.Name
}
