package integration

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/controller-runtime/pkg/client"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/test/builder"
)

func TestEveryKindOfAnApplicationArrives(t *testing.T) {
	t.Parallel()
	s := shared(t)
	ns := s.namespace(t)
	templates := []*unstructured.Unstructured{
		builder.MakeTemplate("v1", "ServiceAccount", ns, "app").Obj(),
		builder.MakeTemplate("v1", "Secret", ns, "app").Set("aGVsbG8=", "data", "greeting").Obj(),
		builder.MakeService(ns, "app").Obj(),
		builder.MakeTemplate("batch/v1", "Job", ns, "app").
			Set([]any{map[string]any{"name": "app", "image": "busybox"}}, "spec", "template", "spec", "containers").
			Set("Never", "spec", "template", "spec", "restartPolicy").Obj(),
		builder.MakeTemplate("v1", "PersistentVolumeClaim", ns, "app").
			Set([]any{"ReadWriteOnce"}, "spec", "accessModes").Set("1Gi", "spec", "resources", "requests", "storage").Obj(),
	}
	policy := builder.MakePolicy(ns, "app").Clusters("edge-1")
	objects := []client.Object{}
	for _, template := range templates {
		policy.Select(template.GetAPIVersion(), template.GetKind(), "app")
		objects = append(objects, template)
	}
	s.create(t, append(objects, policy.Obj())...)
	for _, template := range templates {
		eventually(t, func(g Gomega) {
			s.inMember(t, g, "edge-1", template)
			g.Expect(meta.IsStatusConditionTrue(s.binding(t, g, template).Status.Conditions, workv1alpha2.BindingFullyApplied)).To(BeTrue(), template.GetKind())
		})
	}
}
