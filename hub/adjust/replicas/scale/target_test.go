package scale_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/adjust/replicas/scale"
)

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ref     any
		want    scale.Target
		wantErr bool
	}{
		"a Deployment":        {map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, scale.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, false},
		"nothing":             {nil, scale.Target{}, true},
		"something nameless":  {map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}, scale.Target{}, true},
		"something of no API": {map[string]any{"kind": "Deployment", "name": "web"}, scale.Target{}, true},
		"not a reference":     {"web", scale.Target{}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			spec := map[string]any{}
			if tt.ref != nil {
				spec["scaleTargetRef"] = tt.ref
			}
			got, err := scale.TargetOf(&unstructured.Unstructured{Object: map[string]any{"spec": spec}})
			g.Expect(err != nil).To(Equal(tt.wantErr))
			g.Expect(got).To(Equal(tt.want))
		})
	}
}

func TestIsAutoscaler(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	ref := func(apiVersion, kind, name string) workv1alpha2.ObjectReference {
		return workv1alpha2.ObjectReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
	g.Expect(scale.IsAutoscaler(ref("autoscaling/v1", "HorizontalPodAutoscaler", "x"))).To(BeTrue())
	g.Expect(scale.IsAutoscaler(ref("farm/v1", "HorizontalPodAutoscaler", "x"))).To(BeFalse())
}
