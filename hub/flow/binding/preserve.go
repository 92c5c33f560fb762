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

// preserveAsPolicySays has the objects of a binding that is being deleted stay in the members if its policy says so by now, which is read
// live, once for each binding that is deleted. What no policy selects stays where a workload that needs it has such a policy: one commit may
// edit the policy and take both away, and then nobody told the binding of what the workload needs.
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

// neededByPreserved returns the clusters where workloads need the object of a binding whose policies have it by now that what they leave
// there stays. A workload whose binding is gone left its word on this one before (see the dependencies stage): if the cache does not show
// that, whoever confirms this binding after this call finds that it is behind.
func (r *reconciler) neededByPreserved(ctx context.Context, needed kube.Binding) (sets.Set[string], error) {
	out, preserving := sets.Set[string]{}, r.policiesNow()
	for _, by := range bindings.Snapshots(needed.BindingSpec()) {
		if by.Name == "" {
			continue // it is all that is in a namespace, which is preserved by no policy
		}
		if bindings.IsForeign(by.Namespace, needed.GetNamespace()) {
			continue // who writes policies there has no say over what is this namespace's
		}
		if len(validatecontent.IsPathSegmentName(by.Namespace))+len(validatecontent.IsPathSegmentName(by.Name)) > 0 {
			continue // somebody wrote what no binding can be called, and what cannot be asked for
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

// policiesNow returns what says of bindings whether what they brought stays in the members, by the last word of their policies. Each policy is
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

// deleteStray deletes a Work whose binding is gone. Its object stays in the member if it would have stayed when the binding went: by what that said
// last, or by what its policy says by now.
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
