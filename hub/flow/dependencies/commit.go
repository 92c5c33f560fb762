package dependencies

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// mark writes on the binding of a workload what it needs, by whose rules, and that it is to be kept until
// others do not follow it any more.
func (r *Reconciler) mark(ctx context.Context, b kube.Binding, refs []configv1alpha1.DependentObjectReference, by string) error {
	if refs == nil {
		refs = []configv1alpha1.DependentObjectReference{}
	}
	data, err := json.Marshal(refs)
	if err != nil {
		return fmt.Errorf("encoding what %q needs: %w", b.GetName(), err)
	}
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	annotations := maps.Clone(b.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.DependenciesAnnotation] = string(data)
	if annotations[contract.DependenciesByAnnotation] = by; by == "" {
		delete(annotations, contract.DependenciesByAnnotation)
	}
	b.SetAnnotations(annotations)
	controllerutil.AddFinalizer(b, contract.DependenciesFinalizer)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// keep has the binding of a workload stay until others do not follow it any more.
func (r *Reconciler) keep(ctx context.Context, b kube.Binding) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	controllerutil.AddFinalizer(b, contract.DependenciesFinalizer)
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// unmark lets the binding of a workload go.
func (r *Reconciler) unmark(ctx context.Context, b kube.Binding) error {
	edit, err := kube.Begin(b)
	if err != nil {
		return err
	}
	annotations := maps.Clone(b.GetAnnotations())
	delete(annotations, contract.DependenciesAnnotation)
	delete(annotations, contract.DependenciesByAnnotation)
	b.SetAnnotations(annotations)
	setLeftOut(b, nil)
	b.SetFinalizers(slices.DeleteFunc(slices.Clone(b.GetFinalizers()), func(f string) bool { return f == contract.DependenciesFinalizer }))
	_, err = edit.Commit(ctx, r.hubClient, contract.FieldManagerDependencies)
	return err
}

// create makes a binding that follows another one.
func (r *Reconciler) create(ctx context.Context, b, independent kube.Binding) error {
	err := r.hubClient.Create(ctx, b, client.FieldOwner(contract.FieldManagerDependencies))
	switch {
	case apierrors.IsAlreadyExists(err): // the cache is behind
		return apierrors.NewConflict(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), b.GetName(), err)
	case err != nil:
		return fmt.Errorf("creating binding %q: %w", b.GetName(), err)
	}
	r.remember(b)
	r.events(followed(independent, b))
	return nil
}

func (r *Reconciler) remember(b kube.Binding) {
	b.SetManagedFields(nil)
	r.wrote.Put(client.ObjectKeyFromObject(b), b)
}
