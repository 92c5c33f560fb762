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
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/common/selector"
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

// forfeit takes off a Work that its objects stay in the member when it is deleted, if its namespace may not use the cluster:
// whoever writes policies in the namespace would have them run there for ever by that, where nobody could take them away any more.
func (r *reconciler) forfeit(ctx context.Context, w *workv1alpha1.Work) error {
	name, known := contract.ClusterOf(r.prefix, w.Namespace)
	if !known || !ptr.Deref(w.Spec.PreserveResourcesOnDeletion, false) {
		return nil
	}
	ns, err := kube.NamespaceNamed(ctx, r.hubClient, r.hubReader, w.Annotations[contract.ResourceBindingNamespaceAnnotation])
	if ns == nil || err != nil {
		return err
	}
	if selector.AllowanceOf(ns) == nil {
		return nil
	}
	// One that leaves the hub keeps what it was to keep.
	if not, err := r.mayNotUse(ctx, ns.Name, name); !not || err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.UID}, "spec": map[string]any{"preserveResourcesOnDeletion": false}})
	if err != nil {
		return fmt.Errorf("encoding a patch of work %q: %w", w.Name, err)
	}
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name}}
	err = r.hubClient.Patch(ctx, work, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(contract.FieldManagerBinding))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("having the objects of work %q in %q leave a cluster that its namespace may not use: %w", w.Name, w.Namespace, err)
	}
	return nil
}
