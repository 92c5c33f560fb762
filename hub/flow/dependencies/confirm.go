package dependencies

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// What is detached is deleted in the members, and would come back as another object. When a hub has just become active, each of its
// informers may be older than what the previous active hub did, so that one of them may lack a dependency. Everything from which follows
// that an object is not needed is therefore read live before it is detached. Only detaching costs these reads.

// behind returns the error for a stale cache, which leads to a retry.
func behind(name string) error {
	return kube.CacheBehind(workv1alpha2.GroupVersion.WithResource("bindings").GroupResource(), name)
}

// bindingNow reads a binding live; nil if it does not exist.
func (r *Reconciler) bindingNow(ctx context.Context, key types.NamespacedName) (kube.Binding, error) {
	b := kindFor(key).New()
	err := r.liveReader.Get(ctx, key, b)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // nil is a result: it does not exist
	case err != nil:
		return nil, fmt.Errorf("reading binding %q before anything is detached from it: %w", key, err)
	}
	return b, nil
}

// letsNothingFollow returns whether nothing should be attached to a binding: it does not exist, is being deleted, or has no propagateDeps.
func letsNothingFollow(b kube.Binding) bool {
	return b == nil || b.GetDeletionTimestamp() != nil || !b.BindingSpec().PropagateDeps || plan.OfAnother(b)
}

// confirmReleased reads the binding live and confirms that nothing should be attached to it. It returns the binding; nil if it does not
// exist.
func (r *Reconciler) confirmReleased(ctx context.Context, req request) (kube.Binding, error) {
	now, err := r.bindingNow(ctx, req)
	if err == nil && !letsNothingFollow(now) {
		err = behind(req.Name)
	}
	return now, err
}

// confirmSame confirms live that a binding is as in the cache.
func (r *Reconciler) confirmSame(ctx context.Context, b kube.Binding) error {
	now, err := r.bindingNow(ctx, client.ObjectKeyFromObject(b))
	switch {
	case err != nil:
		return err
	case now == nil, now.GetUID() != b.GetUID(), now.GetGeneration() != b.GetGeneration(),
		bindings.IsStaged(now) != bindings.IsStaged(b), (now.GetDeletionTimestamp() == nil) != (b.GetDeletionTimestamp() == nil):
		return behind(b.GetName())
	}
	return nil
}

// confirmUnneeded confirms live that a workload needs none of some bindings whose objects were not found among its dependencies. The
// function same confirms that its binding is as in the cache.
func (r *Reconciler) confirmUnneeded(ctx context.Context, in *gathered, others []kube.Binding, same func() error) error {
	b := in.binding
	if err := same(); err != nil {
		return err
	}
	if r.rulesNow != nil {
		rules, err := r.rulesNow(ctx, plan.KindOf(b))
		if err != nil {
			return fmt.Errorf("reading by which rules %q needs nothing of what is to be detached: %w", b.GetName(), err)
		}
		if rules != in.read.rules {
			return behind(b.GetName())
		}
	}
	for _, ref := range slices.Concat(in.Permitted.Granted, in.Permitted.Stays, in.Permitted.Ending) {
		needs, err := r.refersTo(ctx, ref, others)
		if err != nil {
			return err
		}
		if needs {
			return behind(b.GetName())
		}
	}
	for _, ref := range in.Permitted.Withheld {
		needs, err := r.refersTo(ctx, ref, others)
		if needs {
			needs, err = r.grantedNow(ctx, b, ref)
		}
		if err != nil {
			return err
		}
		if needs {
			return behind(b.GetName())
		}
	}
	return nil
}

// mayMean returns whether a reference may mean the object of a binding, by its kind and name, in any version.
func mayMean(ref configv1alpha1.DependentObjectReference, b kube.Binding) bool {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return plan.KindOf(b).GroupKind() == kind.GroupKind() && b.GetNamespace() == ref.Namespace &&
		(ref.Name == "" || b.GetName() == contract.BindingName(kind.Kind, ref.Name))
}

// refersTo reads live whether a reference means the object of one of some bindings, which a policy may have in another version.
func (r *Reconciler) refersTo(ctx context.Context, ref configv1alpha1.DependentObjectReference, others []kube.Binding) (bool, error) {
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if r.exclusions.ExcludesKind(kind) || !slices.ContainsFunc(others, func(b kube.Binding) bool { return mayMean(ref, b) }) {
		return false, nil
	}
	namespaced, err := r.kinds.Ensure(ctx, kind)
	if err != nil {
		return false, err
	}
	found, err := find(ctx, r.liveReader, namespaced, kind, ref)
	if err != nil {
		return false, err
	}
	for _, meta := range *found {
		o := plan.Object{Kind: kind, Meta: meta}
		if !r.exclusions.Excludes(targetOf(o)) && slices.ContainsFunc(others, func(b kube.Binding) bool { return o.IsOf(b) }) {
			return true, nil
		}
	}
	return false, nil
}

// grantedNow reads live whether a reference to another namespace is granted there.
func (r *Reconciler) grantedNow(ctx context.Context, b kube.Binding, ref configv1alpha1.DependentObjectReference) (bool, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(attach.GrantKind())
	err := r.liveReader.List(ctx, list, client.InNamespace(ref.Namespace))
	if kube.IsUnserved(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("listing the ReferenceGrants of namespace %q: %w", ref.Namespace, err)
	}
	var grants []*unstructured.Unstructured
	for i := range list.Items {
		grants = append(grants, &list.Items[i])
	}
	return attach.Granted(grants, b.BindingSpec().Resource, ref), nil
}

// confirmGone confirms live that clusters which are missing in the cache do not exist.
func (r *Reconciler) confirmGone(ctx context.Context, clusters sets.Set[string]) error {
	for name := range clusters {
		cluster := kube.MetadataOf(clusterv1alpha1.GroupVersion.WithKind(clusterv1alpha1.KindCluster))
		err := r.liveReader.Get(ctx, client.ObjectKey{Name: name}, cluster)
		switch {
		case err == nil:
			return behind(name)
		case !apierrors.IsNotFound(err):
			return fmt.Errorf("reading cluster %q before a namespace leaves it: %w", name, err)
		}
	}
	return nil
}
