package prune_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/prune"
)

// TestNothingDeletesItselfInAMember covers the kinds that delete themselves after they finish: those with shipped
// rules, and the Job of Kubernetes.
func TestNothingDeletesItselfInAMember(t *testing.T) {
	t.Parallel()
	const seconds = int64(60)
	rule := func(policy, outcome string) object {
		return object{"policy": policy, "condition": object{"jobStatus": outcome, "ttlSeconds": seconds}}
	}
	for name, tc := range map[string]struct {
		apiVersion, kind string
		spec, want       object
	}{
		"a Job":            {"batch/v1", "Job", object{"ttlSecondsAfterFinished": seconds, "parallelism": seconds}, object{"parallelism": seconds}},
		"a Job of Volcano": {"batch.volcano.sh/v1alpha1", "Job", object{"ttlSecondsAfterFinished": seconds, "queue": "q"}, object{"queue": "q"}},
		"a TFJob": {
			"kubeflow.org/v1", "TFJob", object{"runPolicy": object{"ttlSecondsAfterFinished": seconds, "cleanPodPolicy": "None"}}, object{"runPolicy": object{"cleanPodPolicy": "None"}},
		},
		"a PyTorchJob": {"kubeflow.org/v1", "PyTorchJob", object{"runPolicy": object{"ttlSecondsAfterFinished": seconds}}, object{"runPolicy": object{}}},
		"an XGBoostJob": {
			"kubeflow.org/v1", "XGBoostJob", object{"runPolicy": object{"ttlSecondsAfterFinished": seconds, "backoffLimit": seconds}}, object{"runPolicy": object{"backoffLimit": seconds}},
		},
		"an MPIJob, of which only the launcher goes": {
			"kubeflow.org/v2beta1", "MPIJob", object{"runPolicy": object{"ttlSecondsAfterFinished": seconds}}, object{"runPolicy": object{"ttlSecondsAfterFinished": seconds}},
		},
		"a SparkApplication": {"sparkoperator.k8s.io/v1beta2", "SparkApplication", object{"timeToLiveSeconds": seconds, "type": "Scala"}, object{"type": "Scala"}},
		"a ScheduledSparkApplication, which makes others": {
			"sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication", object{"template": object{"timeToLiveSeconds": seconds}}, object{"template": object{"timeToLiveSeconds": seconds}},
		},
		"a Workflow": {
			"argoproj.io/v1alpha1", "Workflow",
			object{"ttlStrategy": object{"secondsAfterCompletion": seconds}, "podGC": object{"strategy": "OnPodCompletion"}},
			object{"podGC": object{"strategy": "OnPodCompletion"}},
		},
		"a BroadcastJob": {
			"apps.kruise.io/v1alpha1", "BroadcastJob", object{"completionPolicy": object{"type": "Always", "ttlSecondsAfterFinished": seconds}}, object{"completionPolicy": object{"type": "Always"}},
		},
		"an AdvancedCronJob, which makes others": {
			"apps.kruise.io/v1alpha1", "AdvancedCronJob",
			object{"template": object{"broadcastJobTemplate": object{"spec": object{"completionPolicy": object{"ttlSecondsAfterFinished": seconds}}}}},
			object{"template": object{"broadcastJobTemplate": object{"spec": object{"completionPolicy": object{"ttlSecondsAfterFinished": seconds}}}}},
		},
		"a RayJob, whose cluster goes": {
			"ray.io/v1", "RayJob", object{"shutdownAfterJobFinishes": true, "ttlSecondsAfterFinished": seconds}, object{"shutdownAfterJobFinishes": true, "ttlSecondsAfterFinished": seconds},
		},
		"a RayJob that would go as well": {
			"ray.io/v1", "RayJob",
			object{"deletionPolicy": "DeleteSelf", "deletionStrategy": object{"onSuccess": object{"policy": "DeleteSelf"}, "onFailure": object{"policy": "DeleteNone"}}},
			object{"deletionPolicy": "DeleteCluster", "deletionStrategy": object{"onSuccess": object{"policy": "DeleteCluster"}, "onFailure": object{"policy": "DeleteNone"}}},
		},
		"a RayJob that would go later": {
			"ray.io/v1", "RayJob",
			object{"deletionStrategy": object{"deletionRules": []any{
				rule("DeleteWorkers", "SUCCEEDED"), rule("DeleteCluster", "SUCCEEDED"), rule("DeleteSelf", "SUCCEEDED"), rule("DeleteSelf", "FAILED"),
			}}},
			object{"deletionStrategy": object{"deletionRules": []any{
				rule("DeleteWorkers", "SUCCEEDED"), rule("DeleteCluster", "SUCCEEDED"), rule("DeleteCluster", "FAILED"),
			}}},
		},
		"a RayJob in a cluster that was there": {
			"ray.io/v1", "RayJob",
			object{"clusterSelector": object{"a": "b"}, "deletionStrategy": object{"deletionRules": []any{rule("DeleteSelf", "FAILED")}}},
			object{"clusterSelector": object{"a": "b"}, "deletionStrategy": object{"deletionRules": []any{rule("DeleteNone", "FAILED")}}},
		},
		"a RayJob of another shape": {
			"ray.io/v1", "RayJob", object{"deletionStrategy": object{"onSuccess": "x", "deletionRules": []any{"x"}}}, object{"deletionStrategy": object{"onSuccess": "x", "deletionRules": []any{"x"}}},
		},
		"a kind of the same name": {"example.com/v1", "Workflow", object{"ttlStrategy": object{}}, object{"ttlStrategy": object{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := &unstructured.Unstructured{Object: object{"apiVersion": tc.apiVersion, "kind": tc.kind, "metadata": object{"name": "x"}, "spec": tc.spec}}
			for range 2 {
				prune.Object(obj)
				g.Expect(obj.Object["spec"]).To(BeComparableTo(tc.want))
			}
			for _, shapeless := range []any{"x", object{"runPolicy": "x", "completionPolicy": "x", "deletionStrategy": "x"}} {
				obj.Object["spec"] = shapeless
				prune.Lifetime(obj)
				g.Expect(obj.Object["spec"]).To(BeComparableTo(shapeless))
			}
		})
	}
}
