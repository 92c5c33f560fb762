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

// takeBack withdraws the deletion of a Work of the former binding of a template that was deleted and made again: its objects are wanted
// after all, and stay. So it is while the agent holds deletions for their number, and always with what others are in: the agent waits
// for these to end, and they are to be there. Otherwise the deletion is done, as whoever replaces a template expects.
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

// holdsDeletions says whether the agent of a cluster deletes nothing until somebody says so.
func holdsDeletions(cluster *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterDeletionsHeld)
}

// content is what of the object of a Work says whether another one can take its place: of a CustomResourceDefinition its scope, kind and
// versions.
type content struct {
	metav1.TypeMeta `json:",inline"`

	Spec struct {
		Scope    apiextensionsv1.ResourceScope                     `json:"scope"`
		Names    apiextensionsv1.CustomResourceDefinitionNames     `json:"names"`
		Versions []apiextensionsv1.CustomResourceDefinitionVersion `json:"versions"`
	} `json:"spec"`
}

// contentOf reads the object by which a Work is named. Of other kinds than a CustomResourceDefinition only the kind is known.
func contentOf(work *workv1alpha1.Work) content {
	var out content
	if len(work.Spec.Workload.Manifests) == 0 {
		return out
	}
	raw := work.Spec.Workload.Manifests[0].Raw
	if json.Unmarshal(raw, &out.TypeMeta) == nil && out.isDefinition() && json.Unmarshal(raw, &out) != nil {
		return content{} // nobody can apply it
	}
	return out
}

func (c *content) isDefinition() bool {
	return c.GroupVersionKind().GroupKind() == schema.GroupKind{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}
}

// hasContents says whether other objects go along when this one is deleted.
func (c *content) hasContents() bool {
	kind := c.GroupVersionKind()
	return contract.IsContainer(kind.Group, kind.Kind)
}

// canFollow says whether an object can be applied over another one of its name. The names of Works know no groups, and a
// CustomResourceDefinition cannot become one of another scope or kind, nor lose a version of which something may be stored.
func (c *content) canFollow(before content) bool {
	if kind := c.GroupVersionKind().GroupKind(); kind.Empty() || kind != before.GroupVersionKind().GroupKind() {
		return false
	}
	return c.Spec.Scope == before.Spec.Scope && c.Spec.Names.Kind == before.Spec.Names.Kind &&
		!slices.ContainsFunc(before.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return !slices.ContainsFunc(c.Spec.Versions, func(w apiextensionsv1.CustomResourceDefinitionVersion) bool { return w.Name == v.Name })
		})
}
