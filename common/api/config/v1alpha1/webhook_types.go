package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InterpreterOperation is a question about an object, by its name on the wire.
type InterpreterOperation string

// Values of InterpreterOperation.
const (
	// InterpreterOperationAll, in a rule, is every operation.
	InterpreterOperationAll InterpreterOperation = "*"
	// InterpreterOperationInterpretReplica : how many replicas, and what one needs?
	InterpreterOperationInterpretReplica InterpreterOperation = "InterpretReplica"
	// InterpreterOperationInterpretComponent : which components, and what do they need?
	InterpreterOperationInterpretComponent InterpreterOperation = "InterpretComponent"
	// InterpreterOperationReviseReplica : the object with another number of replicas.
	InterpreterOperationReviseReplica InterpreterOperation = "ReviseReplica"
	// InterpreterOperationRetain : the object with what the member owns.
	InterpreterOperationRetain InterpreterOperation = "Retain"
	// InterpreterOperationAggregateStatus : the object with the sum of the statuses.
	InterpreterOperationAggregateStatus InterpreterOperation = "AggregateStatus"
	// InterpreterOperationInterpretStatus : what of the status does the hub want?
	InterpreterOperationInterpretStatus InterpreterOperation = "InterpretStatus"
	// InterpreterOperationInterpretHealth : is the object healthy?
	InterpreterOperationInterpretHealth InterpreterOperation = "InterpretHealth"
	// InterpreterOperationInterpretDependency : what does the object need?
	InterpreterOperationInterpretDependency InterpreterOperation = "InterpretDependency"
)

// ResourceInterpreterWebhookConfiguration names webhooks that know what kinds mean.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,categories={karmada-io}
type ResourceInterpreterWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Webhooks that are asked.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Webhooks []ResourceInterpreterWebhook `json:"webhooks"`
}

// ResourceInterpreterWebhook is a webhook and what it is asked about.
type ResourceInterpreterWebhook struct {
	// Name is a fully qualified domain name, such as workloads.example.com.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue() && self.split('.').size() >= 3",message="must be a fully qualified domain name with at least three parts, such as workloads.example.com"
	Name string `json:"name"`

	// ClientConfig says how to reach it.
	// +required
	ClientConfig WebhookClientConfig `json:"clientConfig"`

	// Rules say what it is asked about; any of them is enough.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Rules []RuleWithOperations `json:"rules,omitempty"`

	// TimeoutSeconds is how long an answer may take; 10 if absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=30
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`

	// InterpreterContextVersions are the versions of ResourceInterpreterContext that
	// the webhook understands, by preference. One of them must be v1alpha1.
	// +required
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="'v1alpha1' in self",message="must include v1alpha1, the only version that is sent"
	InterpreterContextVersions []string `json:"interpreterContextVersions"`
}

// WebhookClientConfig says how to reach a webhook: by a URL or by a Service.
//
// +kubebuilder:validation:XValidation:rule="has(self.url) != has(self.service)",message="exactly one of url and service is required"
type WebhookClientConfig struct {
	// URL such as https://host:port/path. The scheme must be https; it has no user,
	// query or fragment.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && url(self).getScheme() == 'https' && url(self).getHost() != '' && !self.contains('@') && !self.contains('?') && !self.contains('#')",message="must be an https URL with a host, and without user, query or fragment"
	URL *string `json:"url,omitempty"`

	// Service that serves it.
	// +optional
	Service *ServiceReference `json:"service,omitempty"`

	// CABundle holds the certificates, in PEM, by which the webhook's is verified; the
	// roots of the machine if absent.
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
}

// ServiceReference names a Service.
type ServiceReference struct {
	// Name of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// Namespace of the Service.
	// +required
	// +kubebuilder:validation:MinLength=1
	Namespace string `json:"namespace"`

	// Path of the request; begins with a slash.
	// +optional
	// +kubebuilder:validation:Pattern=`^/`
	// +kubebuilder:validation:MaxLength=1024
	Path *string `json:"path,omitempty"`

	// Port of the Service; 443 if absent.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port *int32 `json:"port,omitempty"`
}

// RuleWithOperations says about which operations of which kinds a webhook is asked.
type RuleWithOperations struct {
	// Operations, or * alone for all.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Enum=*;InterpretReplica;InterpretComponent;ReviseReplica;Retain;AggregateStatus;InterpretStatus;InterpretHealth;InterpretDependency
	// +kubebuilder:validation:XValidation:rule="!('*' in self) || self.size() == 1",message="* already stands for every operation and must be alone"
	Operations []InterpreterOperation `json:"operations"`

	// Rule says which kinds.
	Rule `json:",inline"`
}

// Rule says which kinds a webhook is asked about. In each list, * is everything.
type Rule struct {
	// APIGroups of the kinds; the core group is "".
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	APIGroups []string `json:"apiGroups"`

	// APIVersions of the kinds.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	APIVersions []string `json:"apiVersions"`

	// Kinds by name.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	Kinds []string `json:"kinds"`
}

// ResourceInterpreterWebhookConfigurationList is a list of them.
//
// +kubebuilder:object:root=true
type ResourceInterpreterWebhookConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ResourceInterpreterWebhookConfiguration `json:"items"`
}
