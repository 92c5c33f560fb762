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

// Object names one object of a member.
type Object struct {
	schema.GroupVersionKind
	types.NamespacedName
}

// ObjectOf returns the name of an object.
func ObjectOf(obj *unstructured.Unstructured) Object {
	return Object{
		GroupVersionKind: obj.GroupVersionKind(),
		NamespacedName:   types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()},
	}
}

// String names the object for people: Deployment shop/web.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Identifier returns the name of the object as the status of a Work has it.
func (o Object) Identifier(ordinal int) workv1alpha1.ResourceIdentifier {
	return workv1alpha1.ResourceIdentifier{
		Ordinal: ordinal, Group: o.Group, Version: o.Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name,
	}
}

// Manifest is one manifest of a Work, understood.
type Manifest struct {
	// Ordinal is its index in the Work.
	Ordinal int
	// Object is what it names. Of a manifest that cannot be understood it may be
	// incomplete.
	Object Object
	// Digest identifies the text of the manifest as one of its Work.
	Digest Digest
	// Desired is what the member's object is to be: the manifest without what the
	// member decides, and with the marks of its Work. Nil if Problem is set.
	Desired *unstructured.Unstructured
	// Overwrite says that an object that is not ours may be taken over.
	Overwrite bool
	// Recreate says that the object is to be made anew if a field that cannot change is
	// changed.
	Recreate bool
	// DeleteContents says that a Namespace or a CustomResourceDefinition may be deleted with
	// what others have in it.
	DeleteContents bool
	// Propagation says what becomes of the object's dependents when it is deleted.
	Propagation metav1.DeletionPropagation
	// Kept says that the manifest is of the journal: since it was written the hub may have said something else, and the member have that.
	Kept bool
	// Problem is why the manifest cannot be applied anywhere.
	Problem error
}

// Parse understands the manifests of a Work. Each is judged on its own: what is wrong
// with one is its Problem and does not concern the others. They are returned in the
// order of the Work.
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
				m.Problem = fmt.Errorf("manifest %d of the Work is about the same object; remove one of the two", other)
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

// foreignTo says why an object is not that of the binding that a Work is of: who writes
// policies in one namespace must not reach another one, or another object, through them. The
// name of the Work tells which object it is; a binding may have any name. A Work of a
// cluster-scoped binding, or of none, may have any object.
func foreignTo(work *workv1alpha1.Work, object Object) error {
	namespace, name := work.Annotations[contract.ResourceBindingNamespaceAnnotation], work.Annotations[contract.ResourceBindingNameAnnotation]
	if name == "" || object.Namespace == namespace && contract.WorkName(object.Kind, object.Namespace, object.Name) == work.Name {
		return nil
	}
	return fmt.Errorf("the Work is of binding %s/%s, which is of another object, so it is not applied: "+
		"let no OverridePolicy change the kind, the namespace or the name of an object", namespace, name)
}

func parse(ordinal int, raw []byte, work types.NamespacedName) Manifest {
	m := Manifest{Ordinal: ordinal, Digest: DigestOf(append([]byte(work.String()+"\n"), raw...))}
	obj := &unstructured.Unstructured{}
	// The JSON of apimachinery keeps whole numbers whole.
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
		m.Problem = reserved(obj)
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

// propagation reads what a template says of its deletion. A hub sends no word that is none of the
// API; what one of before sent is deleted in the background, as it always was.
func propagation(asked string) metav1.DeletionPropagation {
	if known, ok := contract.PropagationOf(asked); ok {
		return known
	}
	return metav1.DeletePropagationBackground
}
