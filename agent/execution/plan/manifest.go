package plan

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
)

// Object identifies an object of a member.
type Object struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// ObjectOf returns the identity of an object.
func ObjectOf(obj *unstructured.Unstructured) Object {
	return Object{
		GroupVersionKind: obj.GroupVersionKind(),
		NamespacedName:   types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()},
	}
}

// String formats the identity for people: Deployment shop/web.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Identifier returns the identity in the form that the status of a Work uses.
func (o Object) Identifier(ordinal int) workv1alpha1.ResourceIdentifier {
	return workv1alpha1.ResourceIdentifier{
		Ordinal: ordinal, Group: o.Group, Version: o.Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
	}
}

// Manifest is a parsed manifest of a Work.
type Manifest struct {
	// Ordinal is its index in the Work.
	Ordinal int
	// Object is the object it describes; it may be incomplete if the manifest cannot be parsed.
	Object Object
	// Digest identifies the text of the manifest, and its Work.
	Digest Digest
	// Desired is the desired object: the manifest without what the member decides, and with the marks of its Work. It
	// is nil if Problem is set.
	Desired *unstructured.Unstructured
	// Overwrite says that an existing object that is not managed may be taken over.
	Overwrite bool
	// Recreate says that the object is deleted and created again if an immutable field changes.
	Recreate bool
	// DeleteContents says that a Namespace or a CustomResourceDefinition may be deleted together with what others
	// have in it.
	DeleteContents bool
	// Propagation is the deletion propagation for the object's dependents.
	Propagation metav1.DeletionPropagation
	// Kept says that the manifest comes from the journal: the hub, and with it the member, may have moved on since it
	// was written.
	Kept bool
	// Problem is why the manifest cannot be applied anywhere.
	Problem error
}

// Parse parses the manifests of a Work, each on its own: an error in one is its Problem and does not affect the
// others. They are returned in the order of the Work.
func Parse(work *workv1alpha1.Work) []Manifest {
	out := make([]Manifest, 0, len(work.Spec.Workload.Manifests))
	first := map[Object]int{}
	name := types.NamespacedName{Namespace: work.Namespace, Name: work.Name}
	contents := work.Annotations[contract.DeleteContentsAnnotation] == contract.LabelTrue
	for i := range work.Spec.Workload.Manifests {
		m := parse(i, work.Spec.Workload.Manifests[i].Raw, name)
		m.DeleteContents = m.DeleteContents || contents
		if m.Problem == nil {
			m.Problem = foreignTo(work, m.Object)
		}
		if m.Problem == nil {
			if other, twice := first[m.Object]; twice {
				m.Problem = fmt.Errorf("manifest %d of the Work is the same object; remove one of the two", other)
			} else {
				first[m.Object] = i
			}
		}
		if m.Problem != nil {
			m.Desired = nil
		}
		out = append(out, m)
	}
	return out
}

// foreignTo returns an error if an object is not the one of the binding behind a Work: whoever writes policies in one
// namespace must not reach another namespace, or another object, through them. The name of the Work determines the
// object; a binding may have any name. A Work of a cluster-scoped binding, or of none, may contain any object.
func foreignTo(work *workv1alpha1.Work, object Object) error {
	namespace, name := work.Annotations[contract.ResourceBindingNamespaceAnnotation], work.Annotations[contract.ResourceBindingNameAnnotation]
	if name == "" || object.Namespace == namespace && contract.WorkName(object.Kind, object.Namespace, object.Name) == work.Name {
		return nil
	}
	return fmt.Errorf("the Work names binding %s/%s, which is the binding of another object, so it is not applied: "+
		"an OverridePolicy must not change the kind, the namespace or the name of an object", namespace, name)
}

func parse(ordinal int, raw []byte, work types.NamespacedName) Manifest {
	m := Manifest{Ordinal: ordinal, Digest: DigestOf(append([]byte(work.String()+"\n"), raw...))}
	obj := &unstructured.Unstructured{}
	// apimachinery's JSON preserves integers.
	if err := json.Unmarshal(raw, &obj.Object); err != nil {
		m.Problem = fmt.Errorf("the manifest is not an object in JSON: %w", err)
		return m
	}
	m.Object = ObjectOf(obj)
	switch {
	case obj.GetAPIVersion() == "":
		m.Problem = errors.New("the manifest has no apiVersion")
	case obj.GetKind() == "":
		m.Problem = errors.New("the manifest has no kind")
	case obj.GetName() == "":
		m.Problem = errors.New("the manifest has no metadata.name; generateName cannot be used, as each try would make another object")
	default:
		m.Problem = Reserved(obj)
	}
	if m.Problem != nil {
		return m
	}
	m.Overwrite = obj.GetAnnotations()[contract.ConflictResolutionAnnotation] == contract.ConflictOverwrite
	m.Recreate = obj.GetAnnotations()[contract.RecreateAnnotation] == contract.LabelTrue
	m.DeleteContents = obj.GetAnnotations()[contract.DeleteContentsAnnotation] == contract.LabelTrue
	m.Propagation = propagation(obj.GetAnnotations()[contract.DeletionPropagationAnnotation])
	m.Desired = Desired(obj, work)
	return m
}

// propagation reads a template's deletion propagation. The hub sends only values of the API; anything else, from an
// older hub, means background deletion, as it always did.
func propagation(asked string) metav1.DeletionPropagation {
	if known, ok := contract.PropagationOf(asked); ok {
		return known
	}
	return metav1.DeletePropagationBackground
}
