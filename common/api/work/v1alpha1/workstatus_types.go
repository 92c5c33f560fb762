package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Condition types of a Work. Applied, Dispatching, fairlead.dev/StatusCut and fairlead.dev/NotWatched
// are written by the agent, fairlead.dev/StatusLeftOut by the hub; the others are reserved.
const (
	// WorkApplied says whether every manifest is in the member as asked for.
	WorkApplied = "Applied"
	// WorkProgressing is reserved.
	WorkProgressing = "Progressing"
	// WorkAvailable is reserved.
	WorkAvailable = "Available"
	// WorkDegraded is reserved.
	WorkDegraded = "Degraded"
	// WorkDispatching says whether the agent acts on the Work or is told not to.
	WorkDispatching = "Dispatching"
	// WorkStatusLeftOut is True while the hub does not use the status that the agent reports of
	// an object, because it is not fit to be read or added up; the message says why. The hub
	// writes it. It is ours.
	WorkStatusLeftOut = "fairlead.dev/StatusLeftOut"
	// WorkStatusCut is True (reason NestedTooDeep or TooLarge) while the agent leaves a part out of
	// what it reports of an object, or all of it, because no reader of the API would take all of it; the
	// message says of which object. It is absent otherwise. The agent writes it. It is ours.
	WorkStatusCut = "fairlead.dev/StatusCut"
	// WorkNotWatched is True (reason WatchForbidden, KindNotServed or WatchFailing) while the member does not let the
	// agent watch the kind of an object, or fails to: then the agent reads the object now and then, and reports that it
	// is Unknown if it cannot do that either; the message says of which kind, and what to do. It is
	// absent otherwise. The agent writes it. It is ours.
	WorkNotWatched = "fairlead.dev/NotWatched"
)

// Reasons of the conditions of a Work.
const (
	// ReasonAppliedSuccessful : every manifest was applied.
	ReasonAppliedSuccessful = "AppliedSuccessful"
	// ReasonAppliedFailed : at least one manifest was not; the message says which
	// and why.
	ReasonAppliedFailed = "AppliedFailed"
	// ReasonDispatching : the agent acts on the Work.
	ReasonDispatching = "Dispatching"
	// ReasonSuspendDispatching : the agent was told to leave the objects alone.
	ReasonSuspendDispatching = "SuspendDispatching"
	// ReasonNotFit : the status is nested too deep, or no status of the template can be made
	// with it.
	ReasonNotFit = "NotFit"
	// ReasonNestedTooDeep : the status of an object is nested deeper than is reported.
	ReasonNestedTooDeep = "NestedTooDeep"
	// ReasonTooLarge : the statuses of the objects of the Work are more than is reported.
	ReasonTooLarge = "TooLarge"
	// ReasonWatchForbidden : the agent may not list and watch the kind of an object.
	ReasonWatchForbidden = "WatchForbidden"
	// ReasonKindNotServed : the member does not serve the kind of an object any more.
	ReasonKindNotServed = "KindNotServed"
	// ReasonWatchFailing : the member answers otherwise, and has failed to list and watch the kind of an object for a minute or more.
	ReasonWatchFailing = "WatchFailing"
)

// WorkStatus is the agent's report, and the hub's conclusions from it.
type WorkStatus struct {
	// Conditions are Applied, Dispatching, fairlead.dev/StatusCut and fairlead.dev/NotWatched, which
	// the agent writes, and fairlead.dev/StatusLeftOut, which the hub writes.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ManifestStatuses has an entry for each manifest whose object was observed in
	// the member.
	// +optional
	ManifestStatuses []ManifestStatus `json:"manifestStatuses,omitempty"`

	// ObservedGeneration is the generation of the Work that the report is about. Written
	// by the agent. It is ours.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// ReportTime is when the agent made the report, by its own clock. An agent that has
	// nothing new to say does not report: that it is alive is said by its Lease. It is
	// ours.
	// +optional
	ReportTime *metav1.Time `json:"reportTime,omitempty"`

	// Drift are the latest changes made in the member to what the manifests set, which the
	// agent put back; the newest first, at most MaxDrift. Written by the agent. It is
	// ours.
	// +optional
	Drift []Drift `json:"drift,omitempty"`
}

// Bounds of what is kept of drift.
const (
	// MaxDrift is how many changes a Work's status has.
	MaxDrift = 5
	// MaxDriftFields is how many fields of one are named.
	MaxDriftFields = 10
)

// Drift is a change that somebody made in the member and the agent put back.
type Drift struct {
	// Identifier says which object.
	// +required
	Identifier ResourceIdentifier `json:"identifier"`

	// Deleted says that the object was deleted, and made anew.
	// +optional
	Deleted bool `json:"deleted,omitempty"`

	// Fields are the paths that were not as the manifest has them, at most
	// MaxDriftFields; empty if the object was deleted.
	// +optional
	Fields []string `json:"fields,omitempty"`

	// ChangedBy are the field managers that made the change, as far as the member knows:
	// whoever removes a field leaves no trace.
	// +optional
	ChangedBy []string `json:"changedBy,omitempty"`

	// Time is when it was changed last, as the member has it, or else when the agent
	// noticed.
	// +required
	Time metav1.Time `json:"time"`

	// Times is how often the same was put back since it was put back first.
	// +optional
	Times int32 `json:"times,omitempty"`
}

// ManifestStatus is the observed state of one manifest's object.
type ManifestStatus struct {
	// Identifier says which manifest.
	// +required
	Identifier ResourceIdentifier `json:"identifier"`

	// Status is the part of the object's status that the rules of its kind reflect;
	// absent if there is none.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *runtime.RawExtension `json:"status,omitempty"`

	// Health is the verdict of the rules of its kind.
	// +optional
	// +kubebuilder:validation:Enum=Healthy;Unhealthy;Unknown
	Health ResourceHealth `json:"health,omitempty"`

	// PodReasons say why pods of an object that is Unhealthy are not ready: what most of its
	// pods say comes first. It is empty if the object is not Unhealthy, or has no such pods.
	// Written by the agent. It is ours.
	// +optional
	// +kubebuilder:validation:MaxItems=5
	PodReasons []PodReason `json:"podReasons,omitempty"`
}

// Bounds of what is told of pods.
const (
	// MaxPodReasons is how many reasons an object has.
	MaxPodReasons = 5
	// MaxPodMessage is how many bytes of a message are told.
	MaxPodMessage = 256
)

// PodReason is why pods of a workload are not ready, once for all that say the same. It never
// has anything that a container wrote, be it to its log or as its termination message.
type PodReason struct {
	// Reason is the reason in the status of the pod or its container, such as CrashLoopBackOff, ImagePullBackOff, OOMKilled, Unschedulable
	// or Evicted.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason"`

	// Container is the name of the container that it is about; empty if it is the pod.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Container string `json:"container,omitempty"`

	// Message is the message beside the reason, cut to MaxPodMessage bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`

	// Terminated is the reason for which the container ended last, such as Error or
	// OOMKilled; empty if it never did.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Terminated string `json:"terminated,omitempty"`

	// ExitCode is with which the container ended last; absent if it never did.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`

	// Restarts is how often the container was started again, of several pods the most.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`

	// Pods is how many pods say so.
	// +required
	Pods int32 `json:"pods"`

	// Pod is the name of one of them, the first by name; Message, Terminated and ExitCode are
	// its.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
}

// ResourceIdentifier says which manifest of a Work is meant.
type ResourceIdentifier struct {
	// Ordinal is the index of the manifest in the Work.
	// +required
	Ordinal int `json:"ordinal"`

	// Group of the object; empty is the core group.
	// +optional
	Group string `json:"group,omitempty"`

	// Version of the object.
	// +required
	Version string `json:"version"`

	// Kind of the object.
	// +required
	Kind string `json:"kind"`

	// Resource is always written as the empty string.
	// +required
	Resource string `json:"resource"`

	// Namespace of the object; empty for a cluster-scoped one.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Name of the object.
	// +required
	Name string `json:"name"`
}

// ResourceHealth is how an object fares.
type ResourceHealth string

// Values of ResourceHealth.
const (
	Healthy   ResourceHealth = "Healthy"
	Unhealthy ResourceHealth = "Unhealthy"
	Unknown   ResourceHealth = "Unknown"
)
