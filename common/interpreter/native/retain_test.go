package native_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/interpreter/native"
)

// pulling returns metadata that records the imagePullSecrets of an object's template.
func pulling(names string) object {
	return object{"name": "x", "annotations": object{contract.ImagePullSecretsAnnotation: names}}
}

func TestRetain(t *testing.T) {
	t.Parallel()
	keep := object{"labels": object{"resourcetemplate.karmada.io/retain-replicas": "true"}, "name": "x"}
	tests := map[string]struct {
		apiVersion, kind    string
		desired, live, want object
	}{
		"the replicas of a Deployment are the hub's": {
			"apps/v1", "Deployment",
			object{"spec": object{"replicas": int64(1)}},
			object{"spec": object{"replicas": int64(5)}},
			object{"spec": object{"replicas": int64(1)}},
		},
		"the replicas of a Deployment that says so are the member's": {
			"apps/v1", "Deployment",
			object{"metadata": keep, "spec": object{"replicas": int64(1)}},
			object{"spec": object{"replicas": int64(5)}},
			object{"metadata": keep, "spec": object{"replicas": int64(5)}},
		},
		"so are those of a StatefulSet": {
			"apps/v1", "StatefulSet",
			object{"metadata": keep, "spec": object{"replicas": int64(1)}},
			object{"spec": object{"replicas": int64(5)}},
			object{"metadata": keep, "spec": object{"replicas": int64(5)}},
		},
		"so are those of a ReplicaSet": {
			"apps/v1", "ReplicaSet",
			object{"metadata": keep, "spec": object{"replicas": int64(1)}},
			object{"spec": object{"replicas": int64(5)}},
			object{"metadata": keep, "spec": object{"replicas": int64(5)}},
		},
		"so are those of a ReplicationController": {
			"v1", "ReplicationController",
			object{"metadata": keep, "spec": object{"replicas": int64(1)}},
			object{"spec": object{"replicas": int64(5)}},
			object{"metadata": keep, "spec": object{"replicas": int64(5)}},
		},
		"a label in the member does not say so": {
			"apps/v1", "Deployment",
			object{"spec": object{"replicas": int64(1)}},
			object{"metadata": keep, "spec": object{"replicas": int64(5)}},
			object{"spec": object{"replicas": int64(1)}},
		},
		"a Service keeps its address and its health check port": {
			"v1", "Service",
			object{"spec": object{"type": "LoadBalancer"}},
			object{"spec": object{"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}, "healthCheckNodePort": int64(30001), "ports": []any{object{"nodePort": int64(30002)}}}},
			object{"spec": object{"type": "LoadBalancer", "clusterIP": "10.0.0.1", "healthCheckNodePort": int64(30001)}},
		},
		"a Service that has none keeps none": {
			"v1", "Service",
			object{"spec": object{}},
			object{"spec": object{"clusterIP": "", "healthCheckNodePort": int64(0)}},
			object{"spec": object{}},
		},
		"a Job keeps what was generated for it": {
			"batch/v1", "Job",
			object{"spec": object{"template": object{"metadata": object{"labels": object{"app": "x"}}, "spec": object{}}}},
			object{"spec": object{
				"selector": object{"matchLabels": object{"controller-uid": "u"}},
				"template": object{"metadata": object{"labels": object{"app": "x", "controller-uid": "u"}}},
			}},
			object{"spec": object{
				"selector": object{"matchLabels": object{"controller-uid": "u"}},
				"template": object{"metadata": object{"labels": object{"app": "x", "controller-uid": "u"}}, "spec": object{}},
			}},
		},
		"a Job for which nothing was generated stays as it is": {
			"batch/v1", "Job", object{"spec": object{}}, object{"spec": object{}}, object{"spec": object{}},
		},
		"a claim keeps its volume": {
			"v1", "PersistentVolumeClaim", object{"spec": object{}}, object{"spec": object{"volumeName": "v"}}, object{"spec": object{"volumeName": "v"}},
		},
		"a claim that has no volume yet keeps none": {
			"v1", "PersistentVolumeClaim", object{"spec": object{}}, object{"spec": object{"volumeName": ""}}, object{"spec": object{}},
		},
		"a volume keeps its claim": {
			"v1", "PersistentVolume", object{"spec": object{}}, object{"spec": object{"claimRef": object{"name": "c"}}}, object{"spec": object{"claimRef": object{"name": "c"}}},
		},
		"a Service that is to have no address asks for none": {
			"v1", "Service",
			object{"spec": object{"clusterIP": "None"}},
			object{"spec": object{"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}}},
			object{"spec": object{"clusterIP": "None"}},
		},
		"a Service that says so in the other field asks for none, either": {
			"v1", "Service",
			object{"spec": object{"clusterIPs": []any{"None"}}},
			object{"spec": object{"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}}},
			object{"spec": object{"clusterIPs": []any{"None"}}},
		},
		"a Service keeps its health check port, whatever port the hub's API gave its template": {
			"v1", "Service",
			object{"spec": object{"healthCheckNodePort": int64(30003)}},
			object{"spec": object{"healthCheckNodePort": int64(30001)}},
			object{"spec": object{"healthCheckNodePort": int64(30001)}},
		},
		"a ServiceAccount keeps what others gave it to pull images with": {
			"v1", "ServiceAccount",
			object{"secrets": []any{object{"name": "a"}}, "imagePullSecrets": []any{object{"name": "q"}}},
			object{"secrets": []any{object{"name": "b"}}, "imagePullSecrets": []any{object{"name": "p"}, object{"name": "q"}}},
			object{"secrets": []any{object{"name": "a"}}, "imagePullSecrets": []any{object{"name": "q"}, object{"name": "p"}}},
		},
		"a ServiceAccount loses what its template had and has no more": {
			"v1", "ServiceAccount",
			object{"imagePullSecrets": []any{object{"name": "a"}}},
			object{"metadata": pulling("a,b"), "imagePullSecrets": []any{object{"name": "a"}, object{"name": "b"}, object{"name": "p"}}},
			object{"imagePullSecrets": []any{object{"name": "a"}, object{"name": "p"}}},
		},
		"a ServiceAccount whose template had none keeps all": {
			"v1", "ServiceAccount",
			object{},
			object{"metadata": pulling(""), "imagePullSecrets": []any{object{"name": "p"}}},
			object{"imagePullSecrets": []any{object{"name": "p"}}},
		},
		"a ServiceAccount without any stays without": {
			"v1", "ServiceAccount", object{}, object{}, object{},
		},
		"a Secret is the hub's": {
			"v1", "Secret",
			object{"type": "Opaque", "data": object{"a": "MQ=="}},
			object{"type": "Opaque", "data": object{"a": "Mg==", "b": "Mw=="}},
			object{"type": "Opaque", "data": object{"a": "MQ=="}},
		},
		"the token of a ServiceAccount is the member's": {
			"v1", "Secret",
			object{"type": "kubernetes.io/service-account-token"},
			object{"data": object{"token": "dA=="}},
			object{"type": "kubernetes.io/service-account-token", "data": object{"token": "dA=="}},
		},
		"a Pod keeps what was added to it": {
			"v1", "Pod",
			object{"spec": object{
				"containers":     []any{object{"name": "web", "image": "new"}, object{"name": "new"}},
				"initContainers": []any{object{"name": "init"}}, "volumes": []any{object{"name": "mine"}},
			}},
			object{"spec": object{
				"nodeName": "n1", "serviceAccountName": "default", "volumes": []any{object{"name": "token"}},
				"containers":     []any{object{"name": "sidecar"}, object{"name": "web", "image": "old", "volumeMounts": []any{object{"name": "token"}}}},
				"initContainers": []any{object{"name": "init", "volumeMounts": []any{object{"name": "token"}}}},
			}},
			object{"spec": object{
				"nodeName": "n1", "serviceAccountName": "default", "volumes": []any{object{"name": "token"}, object{"name": "mine"}},
				"containers":     []any{object{"name": "web", "image": "new", "volumeMounts": []any{object{"name": "token"}}}, object{"name": "new"}},
				"initContainers": []any{object{"name": "init", "volumeMounts": []any{object{"name": "token"}}}},
			}},
		},
		"a Pod has what its template asks for, in the order of the member": {
			"v1", "Pod",
			object{"spec": object{
				"nodeName": "n2", "serviceAccountName": "mine", "volumes": []any{object{"name": "new"}, object{"name": "data", "emptyDir": object{"medium": "Memory"}}},
				"containers": []any{object{"name": "web", "volumeMounts": []any{
					object{"name": "new", "mountPath": "/new"}, object{"name": "data", "mountPath": "/data", "readOnly": true},
				}}},
			}},
			object{"spec": object{
				"nodeName": "n1", "serviceAccountName": "default", "volumes": []any{object{"name": "token"}, object{"name": "data", "emptyDir": object{}}},
				"containers": []any{object{"name": "web", "volumeMounts": []any{
					object{"name": "token", "mountPath": "/token"}, object{"name": "data", "mountPath": "/data"},
				}}},
			}},
			object{"spec": object{
				"nodeName": "n2", "serviceAccountName": "mine",
				"volumes": []any{object{"name": "token"}, object{"name": "data", "emptyDir": object{"medium": "Memory"}}, object{"name": "new"}},
				"containers": []any{object{"name": "web", "volumeMounts": []any{
					object{"name": "token", "mountPath": "/token"}, object{"name": "data", "mountPath": "/data", "readOnly": true}, object{"name": "new", "mountPath": "/new"},
				}}},
			}},
		},
		"a Pod that is not placed yet": {
			"v1", "Pod", object{"spec": object{"containers": []any{object{"name": "web"}}}}, object{"spec": object{}}, object{"spec": object{"containers": []any{object{"name": "web"}}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			desired, live := made(tt.apiVersion, tt.kind, tt.desired), made(tt.apiVersion, tt.kind, tt.live)
			before, liveBefore := desired.DeepCopy(), live.DeepCopy()
			out, err := native.New().Retain(t.Context(), desired, live)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.Object).To(BeComparableTo(made(tt.apiVersion, tt.kind, tt.want).Object))
			g.Expect(desired).To(Equal(before), "desired is not changed")
			g.Expect(live).To(Equal(liveBefore), "live is not changed")

			again, err := native.New().Retain(t.Context(), out, live)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(again).To(Equal(out), "twice is once")
		})
	}
}

func TestReplicasThatAreNotThereCannotBeRetained(t *testing.T) {
	t.Parallel()
	keep := made("apps/v1", "Deployment", object{"metadata": object{"labels": object{"resourcetemplate.karmada.io/retain-replicas": "true"}}})
	_, err := native.New().Retain(t.Context(), keep, made("apps/v1", "Deployment", object{"spec": object{}}))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("spec.replicas")))
}
