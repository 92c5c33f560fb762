package prune_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/prune"
)

type object = map[string]any

func TestPrune(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want object }{
		"what the API server fills in goes, for every kind": {
			object{"kind": "Thing", "spec": object{"clusterIP": "x", "ttlSecondsAfterFinished": int64(1)}, "status": object{"a": "b"}, "metadata": object{
				"name": "x", "namespace": "ns", "labels": object{"l": "1"}, "annotations": object{"deployment.kubernetes.io/revision": "1"}, "generateName": "x-",
				"creationTimestamp": nil, "deletionTimestamp": "t", "deletionGracePeriodSeconds": int64(1), "generation": int64(2), "managedFields": []any{},
				"resourceVersion": "1", "selfLink": "s", "uid": "u", "ownerReferences": []any{}, "finalizers": []any{},
			}},
			object{"kind": "Thing", "spec": object{"clusterIP": "x", "ttlSecondsAfterFinished": int64(1)}, "metadata": object{
				"name": "x", "namespace": "ns", "labels": object{"l": "1"}, "annotations": object{"deployment.kubernetes.io/revision": "1"}, "generateName": "x-",
			}},
		},
		"what only the hub is told goes": {
			object{"kind": "Thing", "metadata": object{"annotations": object{"fairlead.dev/rollout-strategy": "careful", "fairlead.dev/template-edit": "x", "a": "b"}}},
			object{"kind": "Thing", "metadata": object{"annotations": object{"a": "b"}}},
		},
		"the revisions of a Deployment go": {
			object{"kind": "Deployment", "metadata": object{"annotations": object{"deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/revision-history": "1", "a": "b"}}},
			object{"kind": "Deployment", "metadata": object{"annotations": object{"a": "b"}}},
		},
		"what a ClusterRole adds up goes": {
			object{"kind": "ClusterRole", "metadata": object{}, "aggregationRule": object{"clusterRoleSelectors": []any{}}, "rules": []any{object{"verbs": []any{"get"}}}},
			object{"kind": "ClusterRole", "metadata": object{}, "aggregationRule": object{"clusterRoleSelectors": []any{}}},
		},
		"what a ClusterRole allows by itself stays": {
			object{"kind": "ClusterRole", "metadata": object{}, "rules": []any{object{"verbs": []any{"get"}}}},
			object{"kind": "ClusterRole", "metadata": object{}, "rules": []any{object{"verbs": []any{"get"}}}},
		},
		"what is generated for a Job goes": {
			object{"kind": "Job", "metadata": object{}, "spec": object{
				"ttlSecondsAfterFinished": int64(5), "manualSelector": false,
				"selector": object{"matchLabels": object{"controller-uid": "u", "batch.kubernetes.io/controller-uid": "u"}},
				"template": object{"metadata": object{"labels": object{"app": "x", "controller-uid": "u", "job-name": "j", "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "j"}}},
			}},
			object{"kind": "Job", "metadata": object{}, "spec": object{
				"manualSelector": false, "template": object{"metadata": object{"labels": object{"app": "x"}}},
			}},
		},
		"when the pods of a Job are replaced goes, as every API server fills it in": {
			object{"kind": "Job", "metadata": object{}, "spec": object{"podReplacementPolicy": "TerminatingOrFailed", "suspend": false}},
			object{"kind": "Job", "metadata": object{}, "spec": object{"suspend": false}},
		},
		"so it does where failures of pods are told apart": {
			object{"kind": "Job", "metadata": object{}, "spec": object{"podReplacementPolicy": "Failed", "podFailurePolicy": object{}}},
			object{"kind": "Job", "metadata": object{}, "spec": object{"podFailurePolicy": object{}}},
		},
		"when the pods of a Job are replaced stays where its author chose it": {
			object{"kind": "Job", "metadata": object{}, "spec": object{"podReplacementPolicy": "Failed"}},
			object{"kind": "Job", "metadata": object{}, "spec": object{"podReplacementPolicy": "Failed"}},
		},
		"what a Job selects by hand stays": {
			object{"kind": "Job", "metadata": object{}, "spec": object{
				"ttlSecondsAfterFinished": int64(5), "manualSelector": true,
				"selector": object{"matchLabels": object{"controller-uid": "u"}},
				"template": object{"metadata": object{"labels": object{"controller-uid": "u"}}},
			}},
			object{"kind": "Job", "metadata": object{}, "spec": object{
				"manualSelector": true,
				"selector":       object{"matchLabels": object{"controller-uid": "u"}},
				"template":       object{"metadata": object{"labels": object{"controller-uid": "u"}}},
			}},
		},
		"a Job of another shape does no harm": {
			object{"kind": "Job", "metadata": object{}, "spec": "x"},
			object{"kind": "Job", "metadata": object{}, "spec": "x"},
		},
		"a token of the hub goes": {
			object{"kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": object{"annotations": object{"kubernetes.io/service-account.uid": "u", "kubernetes.io/service-account.name": "n"}}, "data": object{"token": "t"}},
			object{"kind": "Secret", "type": "kubernetes.io/service-account-token", "metadata": object{"annotations": object{"kubernetes.io/service-account.name": "n"}}},
		},
		"another Secret stays": {
			object{"kind": "Secret", "type": "Opaque", "metadata": object{}, "data": object{"token": "t"}},
			object{"kind": "Secret", "type": "Opaque", "metadata": object{}, "data": object{"token": "t"}},
		},
		"all generated tokens of a ServiceAccount go, also neighbours": {
			object{"kind": "ServiceAccount", "metadata": object{"name": "bot"}, "secrets": []any{object{"name": "bot-token-1"}, object{"name": "bot-token-2"}, object{"name": "mine"}, object{"name": "robot-token-1"}}},
			object{"kind": "ServiceAccount", "metadata": object{"name": "bot"}, "secrets": []any{object{"name": "mine"}, object{"name": "robot-token-1"}}},
		},
		"a ServiceAccount with nothing else has no secrets then": {
			object{"kind": "ServiceAccount", "metadata": object{"name": "bot"}, "secrets": []any{object{"name": "bot-token-1"}}},
			object{"kind": "ServiceAccount", "metadata": object{"name": "bot"}},
		},
		"the addresses of a Service go, its node ports stay": {
			object{"kind": "Service", "metadata": object{}, "spec": object{"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}, "healthCheckNodePort": int64(30000)}},
			object{"kind": "Service", "metadata": object{}, "spec": object{"healthCheckNodePort": int64(30000)}},
		},
		"a Service without an address stays one": {
			object{"kind": "Service", "metadata": object{}, "spec": object{"clusterIP": "None", "clusterIPs": []any{"None"}}},
			object{"kind": "Service", "metadata": object{}, "spec": object{"clusterIP": "None", "clusterIPs": []any{"None"}}},
		},
		"the node of a claim goes": {
			object{"kind": "PersistentVolumeClaim", "metadata": object{"annotations": object{"volume.kubernetes.io/selected-node": "n"}}},
			object{"kind": "PersistentVolumeClaim", "metadata": object{}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			obj := &unstructured.Unstructured{Object: tt.in}
			prune.Object(obj)
			g.Expect(obj.Object).To(BeComparableTo(tt.want))
			prune.Object(obj)
			g.Expect(obj.Object).To(BeComparableTo(tt.want), "twice is once")
		})
	}
}
