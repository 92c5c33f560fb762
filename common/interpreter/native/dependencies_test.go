package native_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/interpreter/native"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	const (
		meta = `"metadata":{"name":"web","namespace":"shop"}`
		pod  = `{"serviceAccountName":"web","volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}},{"name":"w","configMap":{"name":"settings"}}]}`
	)
	whole := []string{"v1 ConfigMap shop/settings", "v1 PersistentVolumeClaim shop/data", "v1 ServiceAccount shop/web"}
	tests := map[string]struct {
		template string
		want     []string
	}{
		"a Deployment":            {`{"apiVersion":"apps/v1","kind":"Deployment",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a ReplicaSet":            {`{"apiVersion":"apps/v1","kind":"ReplicaSet",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a ReplicationController": {`{"apiVersion":"v1","kind":"ReplicationController",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a DaemonSet":             {`{"apiVersion":"apps/v1","kind":"DaemonSet",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a Job":                   {`{"apiVersion":"batch/v1","kind":"Job",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a CronJob":               {`{"apiVersion":"batch/v1","kind":"CronJob",` + meta + `,"spec":{"jobTemplate":{"spec":{"template":{"spec":` + pod + `}}}}}`, whole},
		"a Pod":                   {`{"apiVersion":"v1","kind":"Pod",` + meta + `,"spec":` + pod + `}`, whole},
		"a StatefulSet, without the claims that it makes": {
			`{"apiVersion":"apps/v1","kind":"StatefulSet",` + meta + `,"spec":{"serviceName":"peers","volumeClaimTemplates":[{"metadata":{"name":"data"}}],"template":{"spec":` + pod + `}}}`,
			[]string{"v1 ConfigMap shop/settings", "v1 Service shop/peers", "v1 ServiceAccount shop/web"},
		},
		"an Ingress": {
			`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress",` + meta + `,"spec":{"tls":[{"secretName":"b"},{"hosts":["h"]},{"secretName":"a"},{"secretName":"b"}]}}`,
			[]string{"v1 Secret shop/a", "v1 Secret shop/b"},
		},
		"a ServiceAccount, without tokens that were generated for it": {
			`{"apiVersion":"v1","kind":"ServiceAccount",` + meta + `,"secrets":[{"name":"web-token-x2k"},{"name":"b"},{}],"imagePullSecrets":[{"name":"a"},{"name":"b"}]}`,
			[]string{"v1 Secret shop/a", "v1 Secret shop/b"},
		},
		"a volume of a driver": {
			`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{"claimRef":{"namespace":"shop"},"csi":{
			"controllerPublishSecretRef":{"namespace":"d","name":"a"},"controllerExpandSecretRef":{"namespace":"c","name":"a"},
			"nodeStageSecretRef":{"namespace":"d","name":"a"},"nodePublishSecretRef":{"name":"p"},"nodeExpandSecretRef":{"namespace":"d","name":"e"}}}}`,
			[]string{"v1 Secret c/a", "v1 Secret d/a", "v1 Secret d/e", "v1 Secret shop/p"},
		},
		"a volume of the kinds of old": {
			`{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{"cephfs":{"secretRef":{"namespace":"s","name":"ceph"}},
			"cinder":{"secretRef":{"namespace":"s","name":"cinder"}},"flexVolume":{"secretRef":{"namespace":"s","name":"flex"}},"iscsi":{"secretRef":{"namespace":"s","name":"iscsi"}},
			"rbd":{"secretRef":{"namespace":"s","name":"rbd"}},"scaleIO":{"secretRef":{"namespace":"s","name":"scaleio"}},"storageos":{"secretRef":{"namespace":"s","name":"storageos"}},
			"azureFile":{"secretNamespace":"s","secretName":"azure"}}}`,
			[]string{
				"v1 Secret s/azure", "v1 Secret s/ceph", "v1 Secret s/cinder", "v1 Secret s/flex",
				"v1 Secret s/iscsi", "v1 Secret s/rbd", "v1 Secret s/scaleio", "v1 Secret s/storageos",
			},
		},
		"a volume that nobody claims and whose Secret is nowhere": {
			template: `{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},"spec":{"azureFile":{"secretName":"azure"}}}`,
		},
		"a ServiceImport": {
			`{"apiVersion":"multicluster.x-k8s.io/v1alpha1","kind":"ServiceImport",` + meta + `}`,
			[]string{"discovery.k8s.io/v1 EndpointSlice shop/ by kubernetes.io/service-name=derived-web", "v1 Service shop/derived-web"},
		},
		"an empty Deployment": {template: `{"apiVersion":"apps/v1","kind":"Deployment",` + meta + `}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			refs, err := native.New().Dependencies(t.Context(), parsed(tt.template))
			g.Expect(err).NotTo(HaveOccurred())
			var got []string
			for _, ref := range refs {
				line := ref.APIVersion + " " + ref.Kind + " " + ref.Namespace + "/" + ref.Name
				if ref.LabelSelector != nil {
					for key, value := range ref.LabelSelector.MatchLabels {
						line += " by " + key + "=" + value
					}
				}
				got = append(got, line)
			}
			g.Expect(got).To(Equal(tt.want))
		})
	}
	_, err := native.New().Dependencies(t.Context(), parsed(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"volumes":"none"}}`))
	NewWithT(t).Expect(err).To(MatchError(And(ContainSubstring(`Pod "web"`), ContainSubstring("at spec"))))
	_, err = native.New().Dependencies(t.Context(), parsed(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`))
	NewWithT(t).Expect(err).To(HaveOccurred())
}
