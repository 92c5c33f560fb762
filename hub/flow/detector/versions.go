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

// One object is served in several versions, and each that a policy names has a watch. A request names the object in one of them.
// Whichever it is, the decision is the same: it is made of the policies that name any of these versions, and of the newest that any
// watch has shown. Only a request in the version of the policy that has the object goes on, and others ask for that one.

// otherVersions returns the other apiVersions of a kind that are watched, the newest first. Of most kinds there is none.
func (k *kinds) otherVersions(kind schema.GroupVersionKind) []string {
	return match.Others(kind, k.Versions(kind.GroupKind()))
}

// template returns the metadata of a template, to be changed at will; nil if there is none. The watch of another version may have
// shown a newer state of the same object.
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

// gatherVersion finds out in which version the winner has the template. Before that can be another one than that in which its binding
// is, each is watched in which the policy selects it: which one it is must not depend on which of them the stage came to first, since
// the binding stays there.
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

// watchVersions watches a kind in each of some apiVersions in which the API serves it.
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

// askElsewhere asks for a template in the version in which its policy has it, unless its binding is read in that one already: what
// changes the template or its policy asks in all versions by itself. So there is time, and a conversion that has labels differ from
// version to version, and with them the policies, keeps nobody busy. What is not watched yet comes with its first list, and what is
// not served at all stays as it is.
func (r *Reconciler) askElsewhere(in *gathered) {
	bound := in.Binding != nil && plan.Owned(in.Binding, in.Template) && in.Binding.BindingSpec().Resource.APIVersion == in.OtherVersion
	if bound || !slices.Contains(r.kinds.otherVersions(in.request.Kind), in.OtherVersion) {
		return
	}
	kind := schema.FromAPIVersionAndKind(in.OtherVersion, in.request.Kind.Kind)
	r.queue.after(askSoon, request{Kind: kind, Namespace: in.request.Namespace, Name: in.request.Name})
}

// sameObject says whether two requests name one object, in whatever version.
func sameObject(a, b request) bool {
	return a.Kind.GroupKind() == b.Kind.GroupKind() && a.Namespace == b.Namespace && a.Name == b.Name
}
