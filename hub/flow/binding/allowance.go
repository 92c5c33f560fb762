package binding

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/flow/binding/fanout"
)

// errNotAllowed says that the namespace of a template may not use a cluster.
var errNotAllowed = errors.New("its namespace may not use the cluster")

// readAllowance drops the targets that the namespace of the template may not use. The scheduler chooses none of them, but
// somebody may write bindings, and what another namespace needs follows it. Where the application is, it stays until the
// scheduler has it leave; what only another namespace needs goes at once. If nothing follows from the annotation, nothing goes.
func (r *reconciler) readAllowance(ctx context.Context, s *scope) error {
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.hubReader, s.binding.GetNamespace())
	if ns == nil || err != nil {
		return err
	}
	allowance := selector.AllowanceOf(ns)
	if allowance == nil {
		return nil
	}
	allowed := func(target workv1alpha2.TargetCluster) bool {
		cluster := s.clusters[target.Name]
		return cluster == nil || allowance.Allows(cluster)
	}
	if !slices.ContainsFunc(s.targets, func(t workv1alpha2.TargetCluster) bool { return !allowed(t) }) {
		return nil
	}
	all, err := kube.Clusters(ctx, r.hubClient)
	if err != nil {
		return err
	}
	why, unusable := allowance.Why(), allowance.Unusable(all)
	why = cmp.Or(strings.TrimSuffix(unusable, "."), why)
	s.targets = slices.DeleteFunc(s.targets, func(target workv1alpha2.TargetCluster) bool {
		there := s.live[contract.ExecutionNamespace(r.prefix, target.Name)] != nil
		if allowed(target) || there && (unusable != "" || ownTarget(s.binding.BindingSpec(), s.binding.GetNamespace(), target.Name)) {
			return false
		}
		s.refused = append(s.refused, failure{cluster: target.Name, err: fmt.Errorf("%w: %s", errNotAllowed, why)})
		return true
	})
	return nil
}

// ownTarget says whether a cluster is one for the sake of the namespace itself.
func ownTarget(spec *workv1alpha2.ResourceBindingSpec, namespace, cluster string) bool {
	named := func(target workv1alpha2.TargetCluster) bool { return target.Name == cluster }
	return slices.ContainsFunc(spec.Clusters, named) || slices.ContainsFunc(spec.RequiredBy, func(by workv1alpha2.BindingSnapshot) bool {
		return by.Namespace == namespace && slices.ContainsFunc(by.Clusters, named)
	})
}

// preserves returns what says of the Works of a binding whether their objects stay in the members when they go.
func (r *reconciler) preserves(binding kube.Binding) func(*workv1alpha1.Work) bool {
	preserved := bindings.Preserving(binding.BindingSpec())
	return func(w *workv1alpha1.Work) bool {
		cluster, known := contract.ClusterOf(r.prefix, w.Namespace)
		return known && preserved(cluster)
	}
}

// settlePreservation has a Work say, before it is deleted, whether its objects stay in the member, which is all that the agent goes by. They
// stay if the binding says so by now, and if the Work did, which may have been the last to say it. They go if the namespace may not use the
// cluster: whoever writes policies in it would have them run there for ever, where nobody could take them away any more.
func (r *reconciler) settlePreservation(ctx context.Context, d fanout.Deletion) error {
	said := ptr.Deref(d.Live.Spec.PreserveResourcesOnDeletion, false)
	if !said && !d.Preserve {
		return nil
	}
	not, err := r.isRefused(ctx, d)
	if err != nil || said == !not {
		return err
	}
	// It is then no more what its hash is of. If we are stopped before it is deleted, and it is wanted after all, the spec is written again.
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": d.Live.UID, "annotations": map[string]any{
			contract.ManifestHashAnnotation: nil, contract.RenderedFromAnnotation: nil,
		}},
		"spec": map[string]any{"preserveResourcesOnDeletion": !not},
	})
	if err != nil {
		return fmt.Errorf("encoding a patch of work %q: %w", d.Live.Name, err)
	}
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: d.Live.Namespace, Name: d.Live.Name}}
	err = r.hubClient.Patch(ctx, work, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerBinding))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing on work %q in %q whether its objects stay in the member: %w", work.Name, work.Namespace, err)
	}
	return nil
}

// isRefused says whether the namespace of a Work's template may not use the cluster that the Work is for, and that stays in the fleet.
func (r *reconciler) isRefused(ctx context.Context, d fanout.Deletion) (bool, error) {
	name, known := contract.ClusterOf(r.prefix, d.Live.Namespace)
	if !known || d.Intent == contract.DeletionClusterLeft {
		return false, nil
	}
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.hubReader, d.Live.Annotations[contract.ResourceBindingNamespaceAnnotation])
	if ns == nil || err != nil || selector.AllowanceOf(ns) == nil {
		return false, err
	}
	return r.mayNotUse(ctx, ns.Name, name)
}
