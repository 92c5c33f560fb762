package binding

import (
	"context"
	"slices"

	validatecontent "k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/binding/fanout"
)

// preserveAsPolicySays makes the objects of a binding that is being deleted stay in the members if its policy says so now. The policy is
// read live, once for each deleted binding. An object without a policy stays where a workload that needs it has such a policy: one commit
// may change the policy and delete both, before the binding of the dependency has the change.
func (r *reconciler) preserveAsPolicySays(ctx context.Context, binding kube.Binding, plan fanout.Plan) error {
	if !slices.ContainsFunc(plan.Delete, func(d fanout.Deletion) bool { return !d.Preserve }) {
		return nil
	}
	everywhere, err := kube.PolicyPreserves(ctx, r.hubReader, binding)
	if err != nil {
		return err
	}
	stays := sets.Set[string]{}
	if !everywhere && binding.BindingSpec().Placement == nil {
		if stays, err = r.neededByPreserved(ctx, binding); err != nil {
			return err
		}
	}
	for i := range plan.Delete {
		name, known := contract.ClusterOf(r.prefix, plan.Delete[i].Live.Namespace)
		if everywhere || known && stays.Has(name) {
			plan.Delete[i].Preserve = true
		}
	}
	return nil
}

// neededByPreserved returns the clusters where workloads need the object of a binding and have policies that now preserve what is left
// there. A workload whose binding is gone has written its option on this one before (see the dependencies stage). If the cache does not
// show that, the confirmation of this binding, which must come later, finds the cache stale.
func (r *reconciler) neededByPreserved(ctx context.Context, needed kube.Binding) (sets.Set[string], error) {
	out, preserving := sets.Set[string]{}, r.policiesNow()
	for _, by := range bindings.Snapshots(needed.BindingSpec()) {
		if by.Name == "" {
			continue // it is for the objects in a namespace, which no policy preserves
		}
		if bindings.IsForeign(by.Namespace, needed.GetNamespace()) {
			continue // users who write policies there may not decide about objects of this namespace
		}
		if len(validatecontent.IsPathSegmentName(by.Namespace))+len(validatecontent.IsPathSegmentName(by.Name)) > 0 {
			continue // it is forged: no binding can have such a name
		}
		key := types.NamespacedName{Namespace: by.Namespace, Name: by.Name}
		workload, err := r.bindingNamed(ctx, r.hubClient, key)
		if workload == nil && err == nil {
			workload, err = r.bindingNamed(ctx, r.hubReader, key)
		}
		if err != nil {
			return nil, err
		}
		if workload == nil {
			continue
		}
		preserves, err := preserving(ctx, workload)
		if err != nil {
			return nil, err
		}
		if preserves {
			for i := range by.Clusters {
				out.Insert(by.Clusters[i].Name)
			}
		}
	}
	return out, nil
}

// policiesNow returns a function that tells whether the objects of a binding stay in the members by the present policies. Each policy is
// read once.
func (r *reconciler) policiesNow() func(context.Context, kube.Binding) (bool, error) {
	type policy struct {
		named types.NamespacedName
		id    string
	}
	known := map[policy]bool{}
	return func(ctx context.Context, b kube.Binding) (bool, error) {
		if ptr.Deref(b.BindingSpec().PreserveResourcesOnDeletion, false) {
			return true, nil
		}
		named, id := bindings.PolicyOn(b)
		if says, read := known[policy{named, id}]; read {
			return says, nil
		}
		says, err := kube.PolicyPreserves(ctx, r.hubReader, b)
		if err == nil {
			known[policy{named, id}] = says
		}
		return says, err
	}
}

// deleteStray deletes a Work whose binding is gone. Its object stays in the member if it would have stayed when the binding was deleted: by
// the last state of the binding, or by its present policy.
func (r *reconciler) deleteStray(ctx context.Context, was *departed, w *workv1alpha1.Work) error {
	cluster, known := contract.ClusterOf(r.prefix, w.Namespace)
	stays := known && was.preserves(cluster)
	if !stays {
		var err error
		if stays, err = kube.PolicyWithIDPreserves(ctx, r.hubReader, was.policy, was.policyID); err != nil {
			return err
		}
	}
	return r.delete(ctx, bindings.IDOf(w), fanout.Deletion{Live: w, Intent: contract.DeletionRemoved, Preserve: stays})
}
