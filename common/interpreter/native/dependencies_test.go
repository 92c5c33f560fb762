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
		"a Deployment": {`{"apiVersion":"apps/v1","kind":"Deployment",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a ReplicaSet": {`{"apiVersion":"apps/v1","kind":"ReplicaSet",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a DaemonSet":  {`{"apiVersion":"apps/v1","kind":"DaemonSet",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a Job":        {`{"apiVersion":"batch/v1","kind":"Job",` + meta + `,"spec":{"template":{"spec":` + pod + `}}}`, whole},
		"a CronJob":    {`{"apiVersion":"batch/v1","kind":"CronJob",` + meta + `,"spec":{"jobTemplate":{"spec":{"template":{"spec":` + pod + `}}}}}`, whole},
		"a Pod":        {`{"apiVersion":"v1","kind":"Pod",` + meta + `,"spec":` + pod + `}`, whole},
		"a StatefulSet, without the claims that it makes": {
			`{"apiVersion":"apps/v1","kind":"StatefulSet",` + meta + `,"spec":{"serviceName":"peers","volumeClaimTemplates":[{"metadata":{"name":"data"}}],"template":{"spec":` + pod + `}}}`,
			[]string{"v1 ConfigMap shop/settings", "v1 Service shop/peers", "v1 ServiceAccount shop/web"},
		},
		"an Ingress": {
			`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress",` + meta + `,"spec":{"tls":[{"secretName":"b"},{"hosts":["h"]},{"secretName":"a"},{"secretName":"b"}]}}`,
			[]string{"v1 Secret shop/a", "v1 Secret shop/b"},
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
