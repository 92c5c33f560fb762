package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CustomizationCompiled is the condition that says whether every script of a
// customization can be used. The hub writes it.
const CustomizationCompiled = "Compiled"

// Reasons of CustomizationCompiled.
const (
	// CompiledSucceeded : every script compiles and has its function.
	CompiledSucceeded = "Compiled"
	// CompiledFailed : a script does not compile, or lacks its function.
	CompiledFailed = "CompileFailed"
	// CompiledShadowed : a script is not used, because a customization whose name
	// comes first has one for the same kind and operation.
	CompiledShadowed = "Shadowed"
)

// CustomizationFailing is the condition that says that a script failed on the hub when it
// was asked; it goes when the customization changes. What fails on a member is told on
// the Work. The hub writes it.
const CustomizationFailing = "Failing"

// FailingScript is the reason of CustomizationFailing.
const FailingScript = "ScriptFailed"

// ResourceInterpreterCustomization says in Lua what a kind means. Its rules come
// before those of webhooks and those that are built in.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=ric,categories={karmada-io}
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:JSONPath=`.spec.target.apiVersion`,name=TARGET-API-VERSION,type=string
// +kubebuilder:printcolumn:JSONPath=`.spec.target.kind`,name=TARGET-KIND,type=string
// +kubebuilder:printcolumn:JSONPath=`.status.conditions[?(@.type=="Compiled")].status`,name=COMPILED,type=string
// +kubebuilder:printcolumn:JSONPath=`.metadata.creationTimestamp`,name=AGE,type=date
type ResourceInterpreterCustomization struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is written by users.
	// +required
	Spec ResourceInterpreterCustomizationSpec `json:"spec"`

	// Status is written by the hub.
	// +optional
	Status ResourceInterpreterCustomizationStatus `json:"status,omitempty"`
}

// ResourceInterpreterCustomizationSpec is a kind and what it means.
type ResourceInterpreterCustomizationSpec struct {
	// Target is the kind.
	// +required
	Target CustomizationTarget `json:"target"`

	// Customizations are the rules.
	// +required
	Customizations CustomizationRules `json:"customizations"`
}

// CustomizationTarget names a kind of one version.
type CustomizationTarget struct {
	// APIVersion such as apps/v1.
	// +required
	// +kubebuilder:validation:MinLength=1
	APIVersion string `json:"apiVersion"`

	// Kind such as Deployment.
	// +required
	// +kubebuilder:validation:MinLength=1
	Kind string `json:"kind"`
}

// CustomizationRules holds a script for each operation that it has a rule for.
type CustomizationRules struct {
	// Retention keeps what the member owns. Its script has a function
	// Retain(desiredObj, observedObj) that returns the object to apply.
	// +optional
	Retention *LuaRule `json:"retention,omitempty"`

	// ReplicaResource tells replicas and requirements. Its script has a function
	// GetReplicas(obj) that returns a number and a table of requirements, or nil.
	// +optional
	ReplicaResource *LuaRule `json:"replicaResource,omitempty"`

	// ComponentResource tells the components of a workload that has several pod
	// templates. Its script has a function GetComponents(obj) that returns a list.
	// +optional
	ComponentResource *LuaRule `json:"componentResource,omitempty"`

	// ReplicaRevision sets the replicas. Its script has a function
	// ReviseReplica(obj, desiredReplica) that returns the object.
	// +optional
	ReplicaRevision *LuaRule `json:"replicaRevision,omitempty"`

	// StatusReflection picks what the hub is told of a status. Its script has a
	// function ReflectStatus(observedObj) that returns a table.
	// +optional
	StatusReflection *LuaRule `json:"statusReflection,omitempty"`

	// StatusAggregation adds up the statuses of the members. Its script has a
	// function AggregateStatus(desiredObj, statusItems) that returns the object.
	// +optional
	StatusAggregation *LuaRule `json:"statusAggregation,omitempty"`

	// HealthInterpretation tells whether an object is healthy. Its script has a
	// function InterpretHealth(observedObj) that returns true or false.
	// +optional
	HealthInterpretation *LuaRule `json:"healthInterpretation,omitempty"`

	// DependencyInterpretation tells what an object needs. Its script has a function
	// GetDependencies(desiredObj) that returns a list. Unlike the other rules, those
	// of several customizations add up.
	// +optional
	DependencyInterpretation *LuaRule `json:"dependencyInterpretation,omitempty"`
}

// LuaRule is a rule written in Lua.
type LuaRule struct {
	// LuaScript defines the function of the operation.
	// +required
	LuaScript string `json:"luaScript"`
}

// ResourceInterpreterCustomizationStatus says whether the rules are in use.
type ResourceInterpreterCustomizationStatus struct {
	// Conditions: Compiled, Failing.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ResourceInterpreterCustomizationList is a list of them.
//
// +kubebuilder:object:root=true
type ResourceInterpreterCustomizationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ResourceInterpreterCustomization `json:"items"`
}
