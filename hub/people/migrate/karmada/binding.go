package karmada

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/people/migrate/conversion"
)

// binding converts a binding, which preserves the placement of an object: to the hub it is already scheduled with its
// present placement.
func (c *converter) binding(d conversion.Document, find finder) {
	b, err := bindingOf(d.Object)
	withhold := func() { c.omitBound(d.Object) }
	switch {
	case err != nil:
		withhold()
		find(true, "", "it cannot be read: %v", err)
		return
	case b.Spec.Placement == nil || len(b.Spec.Clusters) == 0:
		return // it is only attached to others, or placed nowhere
	}
	if len(b.Spec.GracefulEvictionTasks) > 0 {
		withhold()
		find(true, "spec.gracefulEvictionTasks", "the object is being evicted from %s; convert it when the eviction is over", b.Spec.GracefulEvictionTasks[0].FromCluster)
		return
	}
	clusters, left := c.targetsOf(b)
	// A workload that is scaled to 0 has no shares to lose.
	if bindings.Divided(&b.Spec) && b.Spec.Replicas > 0 && len(left) > 0 && len(clusters) > 0 {
		withhold()
		find(true, "spec.clusters", "its replicas are divided with %s, which is not migrated; name all of its clusters with --cluster", strings.Join(left, ", "))
		return
	}
	if len(clusters) == 0 {
		withhold()
		find(false, "spec.clusters", "left out with its object, which is only in %s; name its clusters with --cluster if they are migrated too", strings.Join(left, ", "))
		return
	}
	placement, err := json.Marshal(b.Spec.Placement)
	if err != nil {
		find(true, "spec.placement", "it cannot be encoded: %v", err)
		return
	}
	c.byRole[binding] = append(c.byRole[binding], converted(d.Object, b, clusters, string(placement)))
}

// targetsOf returns the targets of a binding that are included, as the hub writes them, and the clusters that are not.
func (c *converter) targetsOf(b *workv1alpha2.ResourceBinding) (clusters []any, left []string) {
	clusters = []any{}
	for _, t := range b.Spec.Clusters {
		if !c.isIncluded(t.Name) {
			left = append(left, t.Name)
			continue
		}
		target := map[string]any{"name": t.Name}
		if t.Replicas > 0 {
			target["replicas"] = int64(t.Replicas)
		}
		clusters = append(clusters, target)
	}
	return clusters, left
}

// converted returns a binding with the fields that the hub has, too.
func converted(obj *unstructured.Unstructured, b *workv1alpha2.ResourceBinding, clusters []any, placement string) *unstructured.Unstructured {
	out := cleaned(obj)
	out.SetFinalizers(nil)
	out.SetAPIVersion(workv1alpha2.GroupVersion.String())
	annotations := out.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[contract.AppliedPlacementAnnotation] = placement
	out.SetAnnotations(annotations)
	spec, _ := obj.Object["spec"].(map[string]any)
	kept := map[string]any{"clusters": clusters}
	for _, field := range []string{"placement", "replicas", "replicaRequirements", "components", "schedulerName", "conflictResolution", "propagateDeps", "preserveResourcesOnDeletion", "suspension", "failover"} {
		if value, has := spec[field]; has {
			kept[field] = runtime.DeepCopyJSONValue(value)
		}
	}
	reference := map[string]any{"apiVersion": b.Spec.Resource.APIVersion, "kind": b.Spec.Resource.Kind, "name": b.Spec.Resource.Name}
	if b.Spec.Resource.Namespace != "" {
		reference["namespace"] = b.Spec.Resource.Namespace
	}
	kept["resource"] = reference
	out.Object["spec"] = kept
	return out
}

// bindingOf decodes a binding of either kind.
func bindingOf(obj *unstructured.Unstructured) (*workv1alpha2.ResourceBinding, error) {
	if obj.GroupVersionKind().Version != workv1alpha2.GroupVersion.Version {
		return nil, fmt.Errorf("its version is %s; export it as %s", obj.GetAPIVersion(), workv1alpha2.GroupVersion)
	}
	var b workv1alpha2.ResourceBinding
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &b); err != nil {
		return nil, err
	}
	return &b, nil
}
