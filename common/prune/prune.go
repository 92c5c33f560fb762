package prune

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/contract"
)

// Object removes what belongs to the hub's copy of an object and would be wrong in a member: see Generated and
// Lifetime. It modifies obj in place and is idempotent.
func Object(obj *unstructured.Unstructured) {
	Generated(obj)
	Lifetime(obj)
}

// Generated removes what an API server and its controllers have filled in. It goes by the kind alone, whatever the
// group. It modifies obj in place and is idempotent.
func Generated(obj *unstructured.Unstructured) {
	delete(obj.Object, "status")
	metadata := mapAt(obj.Object, "metadata")
	for _, field := range []string{
		"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "managedFields",
		"resourceVersion", "selfLink", "uid", "ownerReferences", "finalizers",
	} {
		delete(metadata, field)
	}
	removeKeys(metadata, "annotations", contract.TemplateEditAnnotation, contract.RolloutStrategyAnnotation)
	switch obj.GetKind() {
	case "Deployment":
		removeKeys(metadata, "annotations", "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history")
	case "Job":
		pruneJob(mapAt(obj.Object, "spec"))
	case "ClusterRole":
		// Aggregated rules are written by a controller in the same cluster.
		if obj.Object["aggregationRule"] != nil {
			delete(obj.Object, "rules")
		}
	case "Secret":
		if obj.Object["type"] == string(corev1.SecretTypeServiceAccountToken) {
			removeKeys(metadata, "annotations", corev1.ServiceAccountUIDKey)
			delete(obj.Object, "data")
		}
	case "ServiceAccount":
		pruneServiceAccount(obj)
	case "Service":
		if spec := mapAt(obj.Object, "spec"); spec["clusterIP"] != corev1.ClusterIPNone {
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
	case "PersistentVolumeClaim":
		removeKeys(metadata, "annotations", "volume.kubernetes.io/selected-node")
	}
}

// pruneJob removes what the API server generates for a Job, unless the selector was chosen by hand.
//
// podReplacementPolicy is removed if it has the default value: the hub's API server has filled it in, and members
// before Kubernetes 1.28 refuse objects with unknown fields.
func pruneJob(spec map[string]any) {
	replacement := batchv1.TerminatingOrFailed
	if spec["podFailurePolicy"] != nil {
		replacement = batchv1.Failed
	}
	if spec["podReplacementPolicy"] == string(replacement) {
		delete(spec, "podReplacementPolicy")
	}
	if spec["manualSelector"] == true {
		return
	}
	if selector := mapAt(spec, "selector"); selector != nil {
		removeKeys(selector, "matchLabels", "controller-uid", "batch.kubernetes.io/controller-uid")
		if len(selector) == 0 {
			delete(spec, "selector")
		}
	}
	removeKeys(mapAt(spec, "template", "metadata"), "labels",
		"controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
}

// pruneServiceAccount removes the tokens that the hub's controllers generated.
func pruneServiceAccount(obj *unstructured.Unstructured) {
	secrets, ok := obj.Object["secrets"].([]any)
	if !ok {
		return
	}
	kept := make([]any, 0, len(secrets))
	for _, entry := range secrets {
		secret, _ := entry.(map[string]any)
		if name, _ := secret["name"].(string); !strings.HasPrefix(name, obj.GetName()+"-token-") {
			kept = append(kept, entry)
		}
	}
	if len(kept) == 0 {
		delete(obj.Object, "secrets")
		return
	}
	obj.Object["secrets"] = kept
}

// removeKeys removes keys from a map in a field, and the field if the map is then empty.
func removeKeys(parent map[string]any, field string, keys ...string) {
	m, ok := parent[field].(map[string]any)
	if !ok {
		return
	}
	for _, key := range keys {
		delete(m, key)
	}
	if len(m) == 0 {
		delete(parent, field)
	}
}

// mapAt returns the map at a path; nil if there is none.
func mapAt(m map[string]any, path ...string) map[string]any {
	for _, field := range path {
		next, ok := m[field].(map[string]any)
		if !ok {
			return nil
		}
		m = next
	}
	return m
}
