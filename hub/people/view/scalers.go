package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1alpha1 "fairlead.dev/common/api/autoscaling/v1alpha1"
)

// scalers returns a sentence for each CronFederatedHPA that scales an object; none if the person may not read them.
func (r *Reader) scalers(ctx context.Context, template *unstructured.Unstructured) ([]string, error) {
	if template.GetNamespace() == "" {
		return nil, nil
	}
	var list autoscalingv1alpha1.CronFederatedHPAList
	err := r.hub.List(ctx, &list, client.InNamespace(template.GetNamespace()))
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing CronFederatedHPAs: %w", err)
	}
	var out []string
	for i := range list.Items {
		one := &list.Items[i]
		ref := one.Spec.ScaleTargetRef
		if schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() == template.GroupVersionKind().GroupKind() && ref.Name == template.GetName() {
			out = append(out, fmt.Sprintf("CronFederatedHPA %s scales it by the clock: %s.", one.Name, rulesOf(one)))
		}
	}
	return out, nil
}

// rulesOf describes what the rules of a CronFederatedHPA do next.
func rulesOf(one *autoscalingv1alpha1.CronFederatedHPA) string {
	due := map[string]string{}
	for i := range one.Status.ExecutionHistories {
		if h := &one.Status.ExecutionHistories[i]; h.NextExecutionTime != nil {
			due[h.RuleName] = h.NextExecutionTime.Format(time.RFC3339)
		}
	}
	parts := make([]string, 0, len(one.Spec.Rules))
	for i := range one.Spec.Rules {
		rule := &one.Spec.Rules[i]
		replicas := int32(0)
		if rule.TargetReplicas != nil {
			replicas = *rule.TargetReplicas
		}
		when := "which has no next run"
		switch at, known := due[rule.Name]; {
		case rule.Suspend != nil && *rule.Suspend:
			when = "but is suspended"
		case known:
			when = "at " + at
		}
		parts = append(parts, fmt.Sprintf("rule %s to %d replicas, %s", rule.Name, replicas, when))
	}
	if len(parts) == 0 {
		return "it has no rules"
	}
	return strings.Join(parts, "; ")
}
