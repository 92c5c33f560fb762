package prune

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lifetime removes settings that delete an object by itself after it has ended (TTL). They belong to the template on
// the hub: a member's agent would create the object, and run it, again each time. It goes by kind, and by group where
// another kind of the same name could mean something else. It modifies obj in place and is idempotent.
func Lifetime(obj *unstructured.Unstructured) {
	spec := mapAt(obj.Object, "spec")
	switch kind := obj.GroupVersionKind().GroupKind(); kind {
	case schema.GroupKind{Group: "kubeflow.org", Kind: "TFJob"}, schema.GroupKind{Group: "kubeflow.org", Kind: "PyTorchJob"}, schema.GroupKind{Group: "kubeflow.org", Kind: "XGBoostJob"}:
		delete(mapAt(spec, "runPolicy"), "ttlSecondsAfterFinished") // runPolicy itself is required, even if it is empty
	case schema.GroupKind{Group: "sparkoperator.k8s.io", Kind: "SparkApplication"}:
		delete(spec, "timeToLiveSeconds")
	case schema.GroupKind{Group: "argoproj.io", Kind: "Workflow"}:
		delete(spec, "ttlStrategy")
		delete(spec, "ttlSecondsAfterFinished") // in early versions
	case schema.GroupKind{Group: "apps.kruise.io", Kind: "BroadcastJob"}:
		delete(mapAt(spec, "completionPolicy"), "ttlSecondsAfterFinished")
	case schema.GroupKind{Group: "ray.io", Kind: "RayJob"}:
		keepRayJob(spec)
	default:
		if kind.Kind == "Job" { // Kubernetes' Job, and custom Jobs modelled on it, such as Volcano's
			delete(spec, "ttlSecondsAfterFinished")
		}
	}
}

// What a RayJob deletes after it has ended.
const (
	rayDeletesSelf    = "DeleteSelf"
	rayDeletesCluster = "DeleteCluster"
	rayDeletesNone    = "DeleteNone"
)

// keepRayJob makes a RayJob that would delete itself delete the cluster that it created instead, or nothing if it
// runs in an existing one.
func keepRayJob(spec map[string]any) {
	instead := rayDeletesCluster
	if len(mapAt(spec, "clusterSelector")) > 0 {
		instead = rayDeletesNone
	}
	if spec["deletionPolicy"] == rayDeletesSelf { // in version 1.3
		spec["deletionPolicy"] = instead
	}
	strategy := mapAt(spec, "deletionStrategy")
	for _, outcome := range []string{"onSuccess", "onFailure"} {
		if policy := mapAt(strategy, outcome); policy["policy"] == rayDeletesSelf {
			policy["policy"] = instead
		}
	}
	if rules, ok := strategy["deletionRules"].([]any); ok {
		strategy["deletionRules"] = keepingRules(rules, instead)
	}
}

// keepingRules adapts the deletion rules of a RayJob; there may be one per policy and outcome.
func keepingRules(rules []any, instead string) []any {
	outcome := func(rule map[string]any) any { return mapAt(rule, "condition")["jobStatus"] }
	has := func(policy string, of any) bool {
		for _, one := range rules {
			if rule, _ := one.(map[string]any); rule["policy"] == policy && outcome(rule) == of {
				return true
			}
		}
		return false
	}
	out := make([]any, 0, len(rules))
	for _, one := range rules {
		rule, _ := one.(map[string]any)
		if rule["policy"] == rayDeletesSelf {
			if has(instead, outcome(rule)) {
				continue
			}
			rule["policy"] = instead
		}
		out = append(out, one)
	}
	return out
}
