package dependencies

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/dependencies/attach"
	"fairlead.dev/hub/flow/dependencies/plan"
)

// asBound returns an object in the version that its binding has, as long as the hub serves that version and a workload that needs the
// object names it. Otherwise workloads that name it in different versions would overwrite the binding forever.
func (r *Reconciler) asBound(ctx context.Context, b kube.Binding, o plan.Object, referrers []workv1alpha2.Binding) (plan.Object, error) {
	resource := b.BindingSpec().Resource
	bound := plan.KindOf(b)
	if attach.Selected(b) || bound.GroupKind() != o.Kind.GroupKind() || resource.UID != o.Meta.UID {
		return o, nil
	}
	if bound != o.Kind && isNeededIn(referrers, bound, client.ObjectKeyFromObject(o.Meta)) && r.kinds.IsServed(ctx, bound) {
		o.Kind = bound
	}
	if !r.isWatchedInAnother(o.Kind) || !contract.Older(o.Meta.ResourceVersion, resource.ResourceVersion) {
		return o, nil
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(o.Kind)
	err := r.liveReader.Get(ctx, client.ObjectKeyFromObject(o.Meta), live)
	if err != nil && !apierrors.IsNotFound(err) {
		return o, fmt.Errorf("reading %s %q, of which one watch is behind: %w", o.Kind.Kind, o.Meta.Name, err)
	}
	if err != nil || live.UID != o.Meta.UID { // if it is gone, its watch will trigger a reconcile
		live = o.Meta.DeepCopy() // the object is shared with the cache
		live.ResourceVersion = resource.ResourceVersion
	}
	o.Meta = live
	return o, nil
}

// isNeededIn returns whether a workload names an object in this very version, by the record on its binding. A record that cannot be parsed
// counts as naming it.
func isNeededIn(by []workv1alpha2.Binding, kind schema.GroupVersionKind, name client.ObjectKey) bool {
	return slices.ContainsFunc(by, func(b workv1alpha2.Binding) bool {
		var refs []configv1alpha1.DependentObjectReference
		if json.Unmarshal([]byte(b.GetAnnotations()[contract.DependenciesAnnotation]), &refs) != nil {
			return true
		}
		return slices.ContainsFunc(refs, func(ref configv1alpha1.DependentObjectReference) bool {
			// A reference without a name is by labels.
			return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind) == kind && ref.Namespace == name.Namespace && (ref.Name == name.Name || ref.Name == "")
		})
	})
}

// isWatchedInAnother returns whether a kind is watched in several versions. Then one watch may be behind the other.
func (r *Reconciler) isWatchedInAnother(kind schema.GroupVersionKind) bool {
	return len(r.kinds.Versions(kind.GroupKind())) > 1
}
