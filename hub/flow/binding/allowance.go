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

// errNotAllowed means that the namespace of a template may not use a cluster.
var errNotAllowed = errors.New("its namespace may not use the cluster")

// readAllowance drops the targets that the template's namespace may not use. The scheduler does not choose such clusters, but users may
// write bindings, and objects that other namespaces need get their clusters. A Work of the application itself stays until the scheduler
// makes the application leave; one that only another namespace needs is removed at once. If the annotation is unusable, no Work is removed.
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

// ownTarget returns whether a cluster is a target because of the namespace itself.
func ownTarget(spec *workv1alpha2.ResourceBindingSpec, namespace, cluster string) bool {
	named := func(target workv1alpha2.TargetCluster) bool { return target.Name == cluster }
	return slices.ContainsFunc(spec.Clusters, named) || slices.ContainsFunc(spec.RequiredBy, func(by workv1alpha2.BindingSnapshot) bool {
		return by.Namespace == namespace && slices.ContainsFunc(by.Clusters, named)
	})
}

// preserves returns a function that tells whether the objects of a binding's Work stay in the member when the Work is deleted.
func (r *reconciler) preserves(binding kube.Binding) func(*workv1alpha1.Work) bool {
	preserved := bindings.Preserving(binding.BindingSpec())
	return func(w *workv1alpha1.Work) bool {
		cluster, known := contract.ClusterOf(r.prefix, w.Namespace)
		return known && preserved(cluster)
	}
}

// settlePreservation writes on a Work, before it is deleted, whether its objects stay in the member, since the agent reads only the Work.
// They stay if the binding says so now, or if the Work did, which may have the last word of a policy. They do not stay if the namespace may
// not use the cluster: otherwise its users could leave objects running there forever, which nobody could remove any more.
func (r *reconciler) settlePreservation(ctx context.Context, d fanout.Deletion) error {
	said := ptr.Deref(d.Live.Spec.PreserveResourcesOnDeletion, false)
	if !said && !d.Preserve {
		return nil
	}
	not, err := r.isRefused(ctx, d)
	if err != nil || said == !not {
		return err
	}
	// Its hash is not right any more. If the hub stops before the deletion, and the Work is wanted after all, the spec is written again.
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

// isRefused returns whether a Work is in a cluster that stays in the fleet and that the namespace of its template may not use.
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
