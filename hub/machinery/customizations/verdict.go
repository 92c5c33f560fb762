package customizations

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "fairlead.dev/common/api/config/v1alpha1"
	"fairlead.dev/common/interpreter/lua"
	"fairlead.dev/common/prose"
)

// compiled returns the condition Compiled for a customization with these problems.
func compiled(generation int64, problems []lua.Problem) metav1.Condition {
	out := metav1.Condition{
		Type: configv1alpha1.CustomizationCompiled, Status: metav1.ConditionTrue, Reason: configv1alpha1.CompiledSucceeded,
		ObservedGeneration: generation, Message: "Every script compiles and is used.",
	}
	var broken, shadowed []string
	for _, p := range problems {
		switch {
		case p.ShadowedBy != "":
			shadowed = append(shadowed, fmt.Sprintf("%s (%s answers)", p.Rule.Field, p.ShadowedBy))
		case p.Line > 0:
			broken = append(broken, fmt.Sprintf("%s (function %s), line %d: %s", p.Rule.Field, p.Rule.Function, p.Line, p.Message))
		default:
			broken = append(broken, fmt.Sprintf("%s (function %s): %s", p.Rule.Field, p.Rule.Function, p.Message))
		}
	}
	switch {
	case len(broken) > 0:
		out.Status, out.Reason = metav1.ConditionFalse, configv1alpha1.CompiledFailed
		out.Message = "These scripts cannot be used, and questions to them fail until they are mended: " + strings.Join(broken, "; ")
	case len(shadowed) > 0:
		out.Status, out.Reason = metav1.ConditionFalse, configv1alpha1.CompiledShadowed
		out.Message = "These scripts are not used, because a customization of the same kind whose name comes first has them too: " +
			strings.Join(shadowed, ", ") + ". Keep each rule in one customization."
	}
	out.Message = prose.Cut(out.Message, prose.OfCondition)
	return out
}

// failing returns the condition Failing for a customization of which a script failed.
func failing(f lua.Failure) metav1.Condition {
	return metav1.Condition{
		Type: configv1alpha1.CustomizationFailing, Status: metav1.ConditionTrue, Reason: configv1alpha1.FailingScript,
		ObservedGeneration: f.Generation,
		Message:            prose.Cut(fmt.Sprintf("A script failed when it was asked: %s. `hub interpret` runs it on an object of yours.", f.Err), prose.OfCondition),
	}
}
