package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// IsContainer says whether the deletion of an object deletes what is in it: a Namespace, or
// a CustomResourceDefinition.
func IsContainer(o Object) bool { return contract.IsContainer(o.Group, o.Kind) }

// IsNamespace says whether an object is a Namespace.
func IsNamespace(o Object) bool { return o.Group == "" && o.Kind == "Namespace" }

// Instances returns the kind that a CustomResourceDefinition defines, in a version that the
// member serves. It says false if the member serves none: then there are no instances to ask for, though some may be stored.
func Instances(definition *unstructured.Unstructured) (schema.GroupVersionKind, bool) {
	out := schema.GroupVersionKind{Group: text(definition.Object, "spec", "group"), Kind: text(definition.Object, "spec", "names", "kind")}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if served, _, _ := unstructured.NestedBool(version, "served"); served {
			out.Version = text(version, "name")
			return out, out.Version != "" && out.Kind != ""
		}
	}
	return out, false
}

// Established returns since when the member takes instances of a CustomResourceDefinition, by its clock, and whether it ever did:
// if not, there are none.
func Established(definition *unstructured.Unstructured) (time.Time, bool) {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || text(condition, "type") != "Established" {
			continue
		}
		since, _ := time.Parse(time.RFC3339, text(condition, "lastTransitionTime")) // without one it is long ago
		return since, text(condition, "status") == string(metav1.ConditionTrue)
	}
	return time.Time{}, false
}

// Foreign says whether an object in a Namespace or of a CustomResourceDefinition, which no Work has, is anything else than
// what the member makes by itself. Its marks say nothing, since controllers and people copy them. Whose it is that has owners
// they tell.
func Foreign(kind schema.GroupVersionKind, obj *metav1.PartialObjectMetadata) bool {
	return obj.DeletionTimestamp == nil && !derived(kind.GroupKind()) && !everywhere(kind.GroupKind(), obj)
}

// derived says whether the objects of a kind are made from others, and with them gone are of
// no use to anybody.
func derived(kind schema.GroupKind) bool {
	switch kind.String() {
	case "Event", "Event.events.k8s.io", "Endpoints", "EndpointSlice.discovery.k8s.io", "PodMetrics.metrics.k8s.io", "ImageStreamTag.image.openshift.io", "ImageTag.image.openshift.io",
		"PolicyReport.wgpolicyk8s.io", "CiliumEndpoint.cilium.io":
		return true
	default:
		return false
	}
}

// trustBundle is the label of what trust-manager makes.
const trustBundle = "trust.cert-manager.io/bundle"

// everywhere says whether an object is one that something in the member puts into every
// namespace: Kubernetes itself, OpenShift, Istio or trust-manager. A namespace that has
// nothing else is empty. agent/DESIGN.md has the list for people.
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
	case "Secret": // the token, or the access to a registry, of a ServiceAccount
		return obj.Labels[trustBundle] != "" || obj.Annotations["kubernetes.io/service-account.name"] != "" || obj.Annotations["openshift.io/internal-registry-auth-token.service-account"] != ""
	}
	return slices.Contains(names, obj.Name)
}

// Objects returns what tells of an object whether it is one of a Work, in whichever version. What cannot be applied is not.
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

// inOneGroup returns a kind as one of the group that is meant to have it, if the API shows the same objects in two groups.
func inOneGroup(kind schema.GroupKind) schema.GroupKind {
	switch kind.String() {
	case "Role.authorization.openshift.io", "RoleBinding.authorization.openshift.io":
		kind.Group = "rbac.authorization.k8s.io"
	case "Ingress.extensions":
		kind.Group = "networking.k8s.io"
	}
	return kind
}

// Outlives says whether the objects of a Work stay when the Work ends, so that they are not to
// go with what they are in either: it asks for that, somebody else than the hub deletes it, or
// the hub does not have it (nil), which deletes nothing.
func Outlives(work *workv1alpha1.Work) bool {
	return work == nil || ptr.Deref(work.Spec.PreserveResourcesOnDeletion, false) ||
		!work.DeletionTimestamp.IsZero() && !contract.DeletesObjects(work.Annotations)
}

// LeftMessage says why a Namespace or a CustomResourceDefinition is left in the member.
func LeftMessage(o Object, foreign []string) string {
	return fmt.Sprintf("%s is left in the member, since there are objects in it that are not from the hub or are to stay (%s): "+
		"delete those, or say on its template or Work that they may go (annotation %s: %q)",
		o, strings.Join(foreign, ", "), contract.DeleteContentsAnnotation, contract.LabelTrue)
}
