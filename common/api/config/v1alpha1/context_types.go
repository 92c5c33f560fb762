package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
)

// ResourceInterpreterContext is the message between the interpreter and a webhook, with the request on the way there and the response on
// the way back. It is never stored.
//
// +kubebuilder:object:root=true
type ResourceInterpreterContext struct {
	metav1.TypeMeta `json:",inline"`

	// Request is the question.
	// +optional
	Request *ResourceInterpreterRequest `json:"request,omitempty"`

	// Response is the answer.
	// +optional
	Response *ResourceInterpreterResponse `json:"response,omitempty"`
}

// ResourceInterpreterRequest is a question about an object.
type ResourceInterpreterRequest struct {
	// UID of the question; the answer repeats it.
	// +required
	UID types.UID `json:"uid"`

	// Kind of the object.
	// +required
	Kind metav1.GroupVersionKind `json:"kind"`

	// Name of the object.
	// +required
	Name string `json:"name"`

	// Namespace of the object, if it has one.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Operation is the question.
	// +required
	Operation InterpreterOperation `json:"operation"`

	// Object that the question is about.
	// +required
	Object runtime.RawExtension `json:"object"`

	// ObservedObject is the live object. Retain only.
	// +optional
	ObservedObject *runtime.RawExtension `json:"observedObject,omitempty"`

	// DesiredReplicas are the replicas to set. It is always there, and 0 with every
	// operation but ReviseReplica.
	// +optional
	DesiredReplicas *int32 `json:"replicas,omitempty"`

	// AggregatedStatus are the reports of the members. AggregateStatus only.
	// +optional
	AggregatedStatus []workv1alpha2.AggregatedStatusItem `json:"aggregatedStatus,omitempty"`
}

// ResourceInterpreterResponse is the answer to a question.
type ResourceInterpreterResponse struct {
	// UID of the question.
	// +required
	UID types.UID `json:"uid"`

	// Successful says whether there is an answer.
	// +required
	Successful bool `json:"successful"`

	// Status says why there is none.
	// +optional
	Status *RequestStatus `json:"status,omitempty"`

	// Patch has the changes to the object. ReviseReplica, Retain and AggregateStatus.
	// +optional
	Patch []byte `json:"patch,omitempty"`

	// PatchType is JSONPatch.
	// +optional
	PatchType *PatchType `json:"patchType,omitempty"`

	// ReplicaRequirements are the requirements of one replica. InterpretReplica.
	// +optional
	ReplicaRequirements *workv1alpha2.ReplicaRequirements `json:"replicaRequirements,omitempty"`

	// Replicas that the object asks for. InterpretReplica.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// Components of the object. InterpretComponent.
	// +optional
	Components []workv1alpha2.Component `json:"components,omitempty"`

	// Dependencies of the object. InterpretDependency.
	// +optional
	Dependencies []DependentObjectReference `json:"dependencies,omitempty"`

	// RawStatus is the status that the agent reports to the hub. InterpretStatus.
	// +optional
	RawStatus *runtime.RawExtension `json:"rawStatus,omitempty"`

	// Healthy says whether the object is. InterpretHealth.
	// +optional
	Healthy *bool `json:"healthy,omitempty"`
}

// RequestStatus says why a question has no answer.
type RequestStatus struct {
	// Message for people.
	// +optional
	Message string `json:"message,omitempty"`

	// Code of HTTP that fits.
	// +optional
	Code int32 `json:"code,omitempty"`
}

// PatchType is the type of a patch.
type PatchType string

// PatchTypeJSONPatch is a patch as RFC 6902 has it.
const PatchTypeJSONPatch PatchType = "JSONPatch"

// DependentObjectReference is an object, or several, that another one needs.
type DependentObjectReference struct {
	// APIVersion of the object.
	// +required
	APIVersion string `json:"apiVersion"`

	// Kind of the object.
	// +required
	Kind string `json:"kind"`

	// Namespace of the object; empty if it is cluster-scoped.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object. It or a label selector is required.
	// +optional
	Name string `json:"name,omitempty"`

	// LabelSelector finds the objects when there is no name.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// Compare orders references by apiVersion, kind, namespace and name.
func (r DependentObjectReference) Compare(other DependentObjectReference) int {
	return cmp.Or(
		cmp.Compare(r.APIVersion, other.APIVersion), cmp.Compare(r.Kind, other.Kind),
		cmp.Compare(r.Namespace, other.Namespace), cmp.Compare(r.Name, other.Name),
	)
}
