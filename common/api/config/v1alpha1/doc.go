// Package v1alpha1 holds what users write to tell what a kind means: rules in Lua
// (ResourceInterpreterCustomization), and webhooks that are asked
// (ResourceInterpreterWebhookConfiguration), with the question and the answer that
// travel between them (ResourceInterpreterContext).
//
// +kubebuilder:object:generate=true
// +groupName=config.karmada.io
package v1alpha1
