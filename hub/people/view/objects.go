package view

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/view/applications"
)

// Ref identifies a template. The namespace is empty if it is cluster-scoped.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string
}

// RefOf returns the Ref of an object.
func RefOf(obj *unstructured.Unstructured) Ref {
	return Ref{GroupVersionKind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// String returns the kind and name for people.
func (r Ref) String() string {
	return applications.Template{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// Template reads the template.
func (r *Reader) Template(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(ref.GroupVersionKind)
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, u)
	switch {
	case apierrors.IsNotFound(err) && ref.Namespace != "":
		return nil, fmt.Errorf("the hub has no %s %q in namespace %q; name another with -n", ref.Kind, ref.Name, ref.Namespace)
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, fmt.Errorf("the hub has no %s %q", ref.Kind, ref.Name)
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", ref.Kind, ref.Name, err)
	}
	return u, nil
}

// Binding reads the binding of a template; nil if there is none.
func (r *Reader) Binding(ctx context.Context, ref Ref) (kube.Binding, error) {
	b := kube.BindingsIn(ref.Namespace).New()
	key := client.ObjectKey{Namespace: ref.Namespace, Name: contract.BindingName(ref.Kind, ref.Name)}
	err := r.hub.Get(ctx, key, b)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading binding %q: %w", key.Name, err)
	case b.BindingSpec().Resource.APIVersion != "" && schema.FromAPIVersionAndKind(b.BindingSpec().Resource.APIVersion, "").Group != ref.Group:
		return nil, nil // that of a kind of the same name in another group
	}
	return b, nil
}

// RequireBinding reads the binding of a template. If there is none, it returns an error that says what to do.
func (r *Reader) RequireBinding(ctx context.Context, ref Ref) (kube.Binding, error) {
	b, err := r.Binding(ctx, ref)
	if b != nil || err != nil {
		return b, err
	}
	if _, err := r.Template(ctx, ref); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s goes to no cluster, because no policy has it; `hub explain` says why", ref)
}

// Application reads an application.
func (r *Reader) Application(ctx context.Context, ref Ref) (*applications.Application, error) {
	b, err := r.RequireBinding(ctx, ref)
	if err != nil {
		return nil, err
	}
	known, err := r.heardClusters(ctx)
	if err != nil {
		return nil, err
	}
	a := applications.Of(b, known)
	return &a, nil
}

// Works reads the Works of a binding, with their manifests.
func (r *Reader) Works(ctx context.Context, b kube.Binding) ([]workv1alpha1.Work, error) {
	id := bindings.IDOf(b)
	if id == "" {
		return nil, nil
	}
	var list workv1alpha1.WorkList
	if err := r.hub.List(ctx, &list, client.MatchingLabels{bindings.IDLabel(b.GetNamespace()): id}); err != nil {
		return nil, fmt.Errorf("listing works: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(w workv1alpha1.Work) bool { return !bindings.IsOwn(b, &w) }), nil
}
