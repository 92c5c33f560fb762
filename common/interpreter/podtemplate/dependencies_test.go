package podtemplate_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/yaml"

	"fairlead.dev/common/interpreter/podtemplate"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pod  string
		want []string
	}{
		"nothing":                         {pod: "containers: [{name: c}]"},
		"a service account":               {"serviceAccountName: web", []string{"ServiceAccount web"}},
		"the default one is everywhere":   {pod: "serviceAccountName: default"},
		"the deprecated field is ignored": {pod: "serviceAccount: web"},
		"pull secrets":                    {"imagePullSecrets: [{name: b}, {name: a}, {name: b}, {}]", []string{"Secret a", "Secret b"}},
		"variables": {
			"containers: [{name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: k}}}, {name: B, valueFrom: {secretKeyRef: {name: s, key: k, optional: true}}}, {name: C, value: v}, {name: D, valueFrom: {fieldRef: {fieldPath: f}}}]}]",
			[]string{"ConfigMap m", "Secret s"},
		},
		"whole environments": {"containers: [{name: c, envFrom: [{configMapRef: {name: m}}, {secretRef: {name: s}}]}]", []string{"ConfigMap m", "Secret s"}},
		"every sort of container": {
			"initContainers: [{name: i, envFrom: [{configMapRef: {name: a}}]}]\nephemeralContainers: [{name: e, envFrom: [{configMapRef: {name: b}}]}]\ncontainers: [{name: c, envFrom: [{configMapRef: {name: c}}]}]",
			[]string{"ConfigMap a", "ConfigMap b", "ConfigMap c"},
		},
		"volumes": {
			"volumes: [{name: a, configMap: {name: m}}, {name: b, secret: {secretName: s}}, {name: c, persistentVolumeClaim: {claimName: d}}, {name: e, emptyDir: {}}]",
			[]string{"ConfigMap m", "PersistentVolumeClaim d", "Secret s"},
		},
		"projected volumes": {
			"volumes: [{name: a, projected: {sources: [{configMap: {name: m}}, {secret: {name: s}}, {serviceAccountToken: {path: t}}]}}]",
			[]string{"ConfigMap m", "Secret s"},
		},
		"secrets of storage": {
			`volumes:
- {name: a, azureFile: {secretName: azure, shareName: x}}
- {name: b, cephfs: {monitors: [m], secretRef: {name: ceph}}}
- {name: c, cinder: {volumeID: v, secretRef: {name: cinder}}}
- {name: d, flexVolume: {driver: d, secretRef: {name: flex}}}
- {name: e, rbd: {monitors: [m], image: i, secretRef: {name: rbd}}}
- {name: f, scaleIO: {gateway: g, system: s, secretRef: {name: scaleio}}}
- {name: g, iscsi: {targetPortal: t, iqn: q, lun: 1, secretRef: {name: iscsi}}}
- {name: h, storageos: {secretRef: {name: storageos}}}
- {name: i, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
- {name: j, csi: {driver: d}}`,
			[]string{"Secret azure", "Secret ceph", "Secret cinder", "Secret csi", "Secret flex", "Secret iscsi", "Secret rbd", "Secret scaleio", "Secret storageos"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			pod := &corev1.PodSpec{}
			g.Expect(yaml.UnmarshalStrict([]byte(tt.pod), pod)).To(Succeed())
			var got []string
			for _, ref := range podtemplate.Dependencies(pod, "shop") {
				g.Expect(ref.APIVersion).To(Equal("v1"))
				g.Expect(ref.Namespace).To(Equal("shop"))
				got = append(got, ref.Kind+" "+ref.Name)
			}
			g.Expect(got).To(Equal(tt.want))
		})
	}
}
