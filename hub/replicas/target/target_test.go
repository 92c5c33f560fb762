package target_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/replicas/target"
)

func TestOf(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ref     any
		want    target.Target
		wantErr bool
	}{
		"a Deployment":        {map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, target.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}, false},
		"nothing":             {nil, target.Target{}, true},
		"something nameless":  {map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}, target.Target{}, true},
		"something of no API": {map[string]any{"kind": "Deployment", "name": "web"}, target.Target{}, true},
		"not a reference":     {"web", target.Target{}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			spec := map[string]any{}
			if tt.ref != nil {
				spec["scaleTargetRef"] = tt.ref
			}
			got, err := target.Of(&unstructured.Unstructured{Object: map[string]any{"spec": spec}})
			g.Expect(err != nil).To(Equal(tt.wantErr))
			g.Expect(got).To(Equal(tt.want))
		})
	}
}

func TestIs(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	web := target.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	ref := func(apiVersion, kind, name string) workv1alpha2.ObjectReference {
		return workv1alpha2.ObjectReference{APIVersion: apiVersion, Kind: kind, Name: name}
	}
	g.Expect(web.Is(ref("apps/v1", "Deployment", "web"))).To(BeTrue())
	g.Expect(web.Is(ref("apps/v2", "Deployment", "web"))).To(BeTrue(), "another version of it")
	g.Expect(web.Is(ref("farm/v1", "Deployment", "web"))).To(BeFalse())
	g.Expect(web.Is(ref("apps/v1", "StatefulSet", "web"))).To(BeFalse())
	g.Expect(web.Is(ref("apps/v1", "Deployment", "api"))).To(BeFalse())
	g.Expect(target.IsAutoscaler(ref("autoscaling/v1", "HorizontalPodAutoscaler", "x"))).To(BeTrue())
	g.Expect(target.IsAutoscaler(ref("farm/v1", "HorizontalPodAutoscaler", "x"))).To(BeFalse())
}

func TestWhatIsMarkedIsRemembered(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{}
	b.Annotations = map[string]string{"kept": "yes"}
	g.Expect(target.Marked(b)).To(BeZero())
	web := target.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	g.Expect(target.SetMarked(b, web)).To(Succeed())
	g.Expect(target.Marked(b)).To(Equal(web))
	g.Expect(target.SetMarked(b, target.Target{})).To(Succeed())
	g.Expect(target.Marked(b)).To(BeZero())
	g.Expect(b.Annotations).To(Equal(map[string]string{"kept": "yes"}))
}
