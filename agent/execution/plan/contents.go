package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// IsContainer returns whether deleting an object deletes its contents: a Namespace or a CustomResourceDefinition.
func IsContainer(o Object) bool { return contract.IsContainer(o.Group, o.Kind) }

// IsNamespace returns whether an object is a Namespace.
func IsNamespace(o Object) bool { return o.Group == "" && o.Kind == "Namespace" }

// Foreign says whether an object in a Namespace or of a CustomResourceDefinition, which no Work has, is anything else than
// what the member makes by itself. Its marks say nothing, since controllers and people copy them. Whose it is that has owners
// they tell.
func Foreign(kind schema.GroupVersionKind, obj *metav1.PartialObjectMetadata) bool {
	return obj.DeletionTimestamp == nil && !derived(kind.GroupKind()) && !everywhere(kind.GroupKind(), obj)
}

// derived returns whether the objects of a kind are derived from others, and are of no use without them.
func derived(kind schema.GroupKind) bool {
	switch kind.String() {
	case "Event", "Event.events.k8s.io", "Endpoints", "EndpointSlice.discovery.k8s.io", "PodMetrics.metrics.k8s.io", "ImageStreamTag.image.openshift.io", "ImageTag.image.openshift.io",
		"PolicyReport.wgpolicyk8s.io", "CiliumEndpoint.cilium.io":
		return true
	default:
		return false
	}
}

// trustBundle is the label of objects that trust-manager creates.
const trustBundle = "trust.cert-manager.io/bundle"

// everywhere returns whether an object is one that something in the member creates in every namespace: Kubernetes
// itself, OpenShift, Istio or trust-manager. A namespace with nothing else is empty. agent/DESIGN.md lists them.
func everywhere(kind schema.GroupKind, obj *metav1.PartialObjectMetadata) bool {
	var names []string
	switch inOneGroup(kind).String() {
	case "ServiceAccount":
		names = []string{"default", "builder", "deployer", "pipeline"}
	case "ConfigMap":
		names = []string{"kube-root-ca.crt", "openshift-service-ca.crt", "istio-ca-root-cert"}
		if obj.Labels[trustBundle] != "" {
			return true
		}
	case "RoleBinding.rbac.authorization.k8s.io":
		names = []string{"system:deployers", "system:image-builders", "system:image-pullers"}
	case "Secret": // the token or pull secret of a ServiceAccount
		return obj.Labels[trustBundle] != "" || obj.Annotations["kubernetes.io/service-account.name"] != "" || obj.Annotations["openshift.io/internal-registry-auth-token.service-account"] != ""
	}
	return slices.Contains(names, obj.Name)
}

// Objects returns a predicate for the objects of a Work, whatever their API version. Manifests that cannot be applied
// do not count.
func Objects(work *workv1alpha1.Work) func(Object) bool {
	type name struct {
		schema.GroupKind
		types.NamespacedName
	}
	has := map[name]bool{}
	for _, m := range Parse(work) {
		if m.Problem == nil {
			has[name{inOneGroup(m.Object.GroupKind()), m.Object.NamespacedName}] = true
		}
	}
	return func(o Object) bool { return has[name{inOneGroup(o.GroupKind()), o.NamespacedName}] }
}

// inOneGroup returns the canonical group of a kind that the API serves in two groups.
func inOneGroup(kind schema.GroupKind) schema.GroupKind {
	switch kind.String() {
	case "Role.authorization.openshift.io", "RoleBinding.authorization.openshift.io":
		kind.Group = "rbac.authorization.k8s.io"
	case "Ingress.extensions":
		kind.Group = "networking.k8s.io"
	}
	return kind
}

// Outlives returns whether the objects of a Work stay when the Work ends, so that they must not be deleted with their
// container either: the Work preserves them, somebody other than the hub deletes it, or the hub does not have it
// (nil), which deletes nothing.
func Outlives(work *workv1alpha1.Work) bool {
	return work == nil || ptr.Deref(work.Spec.PreserveResourcesOnDeletion, false) ||
		!work.DeletionTimestamp.IsZero() && !contract.DeletesObjects(work.Annotations)
}

// LeftMessage explains why a Namespace or a CustomResourceDefinition is left in the member.
func LeftMessage(o Object, foreign []string) string {
	return fmt.Sprintf("%s is not deleted from the member, because it contains objects that are not from the hub or are to stay (%s): "+
		"delete them, or allow their deletion on its template or Work (annotation %s: %q)",
		o, strings.Join(foreign, ", "), contract.DeleteContentsAnnotation, contract.LabelTrue)
}
