package lua

import (
	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter"
)

// Rule describes where the script of an operation is, and what it defines.
type Rule struct {
	Operation interpreter.Operation
	// Field is the field of spec.customizations.
	Field string
	// Function is the function that the script defines.
	Function string

	of func(*configv1alpha1.CustomizationRules) *configv1alpha1.LuaRule
}

// Script returns the script of a customization; empty if it has none.
func (r Rule) Script(c *configv1alpha1.ResourceInterpreterCustomization) string {
	if rule := r.of(&c.Spec.Customizations); rule != nil {
		return rule.LuaScript
	}
	return ""
}

// Rules returns all rules, in the order in which the operations occur in the flow.
func Rules() []Rule {
	type customizations = configv1alpha1.CustomizationRules
	type script = configv1alpha1.LuaRule
	return []Rule{
		{interpreter.InterpretReplica, "replicaResource", "GetReplicas", func(c *customizations) *script { return c.ReplicaResource }},
		{interpreter.InterpretComponent, "componentResource", "GetComponents", func(c *customizations) *script { return c.ComponentResource }},
		{interpreter.InterpretDependency, "dependencyInterpretation", "GetDependencies", func(c *customizations) *script { return c.DependencyInterpretation }},
		{interpreter.ReviseReplica, "replicaRevision", "ReviseReplica", func(c *customizations) *script { return c.ReplicaRevision }},
		{interpreter.Retain, "retention", "Retain", func(c *customizations) *script { return c.Retention }},
		{interpreter.InterpretStatus, "statusReflection", "ReflectStatus", func(c *customizations) *script { return c.StatusReflection }},
		{interpreter.InterpretHealth, "healthInterpretation", "InterpretHealth", func(c *customizations) *script { return c.HealthInterpretation }},
		{interpreter.AggregateStatus, "statusAggregation", "AggregateStatus", func(c *customizations) *script { return c.StatusAggregation }},
	}
}

func fieldOf(op interpreter.Operation) string {
	for _, r := range Rules() {
		if r.Operation == op {
			return r.Field
		}
	}
	return ""
}
