package owned

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object has the fields of a pod that are decoded. It is not a corev1.Pod, since a member could make a few bytes decode
// into a large one.
type Object struct {
	Meta   `json:"metadata"`
	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

// Meta has the decoded fields of metadata.
type Meta struct {
	Namespace         string                  `json:"namespace"`
	Name              string                  `json:"name"`
	UID               types.UID               `json:"uid"`
	ResourceVersion   string                  `json:"resourceVersion"`
	CreationTimestamp metav1.Time             `json:"creationTimestamp"`
	DeletionTimestamp *metav1.Time            `json:"deletionTimestamp"`
	Annotations       map[string]string       `json:"annotations"`
	OwnerReferences   []metav1.OwnerReference `json:"ownerReferences"`
}

// Spec has the decoded fields of a pod's spec.
type Spec struct {
	NodeName            string          `json:"nodeName"`
	InitContainers      []ContainerSpec `json:"initContainers"`
	Containers          []ContainerSpec `json:"containers"`
	EphemeralContainers []ContainerSpec `json:"ephemeralContainers"`
}

// ContainerSpec has the decoded fields of a container's spec.
type ContainerSpec struct {
	Name          string                         `json:"name"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
}

// Status has the decoded fields of a pod's status.
type Status struct {
	Phase                      corev1.PodPhase   `json:"phase"`
	Reason                     string            `json:"reason"`
	PodIP                      string            `json:"podIP"`
	Conditions                 []Condition       `json:"conditions"`
	InitContainerStatuses      []ContainerStatus `json:"initContainerStatuses"`
	ContainerStatuses          []ContainerStatus `json:"containerStatuses"`
	EphemeralContainerStatuses []ContainerStatus `json:"ephemeralContainerStatuses"`
}

// Condition has the decoded fields of a condition.
type Condition struct {
	Type   corev1.PodConditionType `json:"type"`
	Reason string                  `json:"reason"`
}

// ContainerStatus has the decoded fields of a container's status.
type ContainerStatus struct {
	Name                 string                `json:"name"`
	Ready                bool                  `json:"ready"`
	Started              *bool                 `json:"started"`
	RestartCount         int32                 `json:"restartCount"`
	State                corev1.ContainerState `json:"state"`
	LastTerminationState corev1.ContainerState `json:"lastState"`
}

// controller returns the controller of the pod; nil if it has none.
func (o *Object) controller() *metav1.OwnerReference {
	return metav1.GetControllerOf(&metav1.ObjectMeta{OwnerReferences: o.OwnerReferences})
}
