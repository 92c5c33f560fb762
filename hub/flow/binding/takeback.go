package binding

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/bindings"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// takeBack withdraws the deletion of a Work of a template's former binding, after the template was deleted and created again: its objects
// are wanted and stay. It does so while the agent holds deletions because of their number, and always for objects that contain others,
// whose deletion the agent waits for although they are wanted. Otherwise the deletion proceeds, as users who replace a template expect.
func (r *reconciler) takeBack(ctx context.Context, live, desired *workv1alpha1.Work) error {
	former, ok := bindings.KeyOf(live)
	if now, _ := bindings.KeyOf(desired); !ok || former != now || !contract.DeletionIntended(live.Annotations) {
		return nil
	}
	before, after := contentOf(live), contentOf(desired)
	if !after.canFollow(before) {
		return nil
	}
	if !after.hasContents() {
		name, _ := contract.ClusterOf(r.prefix, live.Namespace)
		cluster := &clusterv1alpha1.Cluster{}
		if err := r.hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("reading whether cluster %q holds the deletion of work %q: %w", name, live.Name, err)
		}
		if !holdsDeletions(cluster) {
			return nil
		}
	}
	return kube.WithdrawDeletion(ctx, r.hubClient, live, contract.FieldManagerBinding)
}

// holdsDeletions returns whether the agent of a cluster holds all deletions until they are approved.
func holdsDeletions(cluster *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld)
}

// content is the part of a Work's object that determines whether another object can replace it: of a CustomResourceDefinition its scope,
// kind and versions.
type content struct {
	metav1.TypeMeta `json:",inline"`

	Spec struct {
		Scope    apiextensionsv1.ResourceScope                     `json:"scope"`
		Names    apiextensionsv1.CustomResourceDefinitionNames     `json:"names"`
		Versions []apiextensionsv1.CustomResourceDefinitionVersion `json:"versions"`
	} `json:"spec"`
}

// contentOf reads the object after which a Work is named. For kinds other than CustomResourceDefinition it reads only the kind.
func contentOf(work *workv1alpha1.Work) content {
	var out content
	if len(work.Spec.Workload.Manifests) == 0 {
		return out
	}
	raw := work.Spec.Workload.Manifests[0].Raw
	if json.Unmarshal(raw, &out.TypeMeta) == nil && out.isDefinition() && json.Unmarshal(raw, &out) != nil {
		return content{} // such an object cannot be applied
	}
	return out
}

func (c *content) isDefinition() bool {
	return c.GroupVersionKind().GroupKind() == schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

// hasContents returns whether other objects are deleted with this one.
func (c *content) hasContents() bool {
	kind := c.GroupVersionKind()
	return contract.IsContainer(kind.Group, kind.Kind)
}

// canFollow returns whether an object can be applied over another one of its name. The names of Works do not contain groups, and a
// CustomResourceDefinition can neither change its scope or kind nor lose a version that objects may be stored in.
func (c *content) canFollow(before content) bool {
	if kind := c.GroupVersionKind().GroupKind(); kind.Empty() || kind != before.GroupVersionKind().GroupKind() {
		return false
	}
	return c.Spec.Scope == before.Spec.Scope && c.Spec.Names.Kind == before.Spec.Names.Kind &&
		!slices.ContainsFunc(before.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return !slices.ContainsFunc(c.Spec.Versions, func(w apiextensionsv1.CustomResourceDefinitionVersion) bool { return w.Name == v.Name })
		})
}
