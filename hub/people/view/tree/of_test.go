package tree

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/people/view/applications"
)

func work(cluster, status string, health workv1alpha1.ResourceHealth) workv1alpha1.Work {
	w := workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{Namespace: "karmada-es-" + cluster, Name: "web-1"}}
	w.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web"}}`),
	}}}
	if health != "" {
		m := workv1alpha1.ManifestStatus{
			Identifier: workv1alpha1.ResourceIdentifier{Group: "apps", Version: "v1", Kind: "Deployment", Namespace: "shop", Name: "web"}, Health: health,
		}
		if status != "" {
			m.Status = &runtime.RawExtension{Raw: []byte(status)}
		}
		w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{m}
	}
	return w
}

func TestATreeSaysHowEachStepWent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ResourceBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-deployment"}}
	b.Status.Conditions = []metav1.Condition{
		{Type: workv1alpha2.BindingScheduled, Status: metav1.ConditionTrue},
		{Type: workv1alpha2.BindingFullyApplied, Status: metav1.ConditionFalse, Message: "Failed in 1 of 4 clusters: b."},
	}
	leaving := work("e", "", workv1alpha1.Healthy)
	leaving.DeletionTimestamp = &metav1.Time{}
	in := Input{
		Binding: b,
		App: applications.Application{
			Template: applications.Template{Kind: "Deployment", Namespace: "shop", Name: "web"}, State: applications.Failing, Why: "b: denied",
			Policy: applications.PolicyKey{Kind: "PropagationPolicy", Namespace: "shop", Name: "all"},
			Places: []applications.Place{
				{Cluster: "a", State: applications.Healthy},
				{Cluster: "b", State: applications.Failing, Why: "denied"},
				{Cluster: "c", State: applications.Waiting, Why: "The cluster has not reported yet."},
				{Cluster: "d", State: applications.Stale, Why: "silent", Stale: true},
				{Cluster: "e", State: applications.Moving, Leaving: true},
			},
		},
		Works: map[string][]workv1alpha1.Work{
			"a": {work("a", `{"replicas":3,"readyReplicas":2}`, workv1alpha1.Healthy)},
			"b": {work("b", "", "")},
			"d": {work("d", `{"replicas":1}`, workv1alpha1.Healthy)},
			"e": {leaving},
		},
	}
	var out strings.Builder
	g.Expect(Write(&out, Of(in), func(s applications.State) string { return string(s) })).To(Succeed())
	g.Expect(out.String()).To(Equal(strings.TrimLeft(`
Deployment shop/web  Failing  b: denied
└─ PropagationPolicy shop/all
   └─ ResourceBinding shop/web-deployment  Scheduled; FullyApplied=False: Failed in 1 of 4 clusters: b.
      ├─ [a] Work karmada-es-a/web-1  Healthy
      │  └─ [a] Deployment shop/web  Healthy  2 of 3 ready
      ├─ [b] Work karmada-es-b/web-1  Failing  denied
      │  └─ [b] Deployment shop/web  Waiting  not reported yet
      ├─ [c] Work (none yet)  Waiting  The cluster has not reported yet.
      ├─ [d] Work karmada-es-d/web-1  Stale  silent
      │  └─ [d] Deployment shop/web  Stale  0 of 1 ready
      └─ [e] Work karmada-es-e/web-1  Deleting  The agent has yet to remove it.
         └─ [e] Deployment shop/web  Healthy
`, "\n")))
}

func TestOwnersOfADependencyComeFirst(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	b := &workv1alpha2.ClusterResourceBinding{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	n := Of(Input{Binding: b, App: applications.Application{Follows: []string{"shop/web"}}})
	g.Expect(n.Next[0].Name).To(Equal("shop/web"))
	g.Expect(n.Next[0].Next[0].Kind).To(Equal("ClusterResourceBinding"))
	g.Expect(Of(Input{Binding: b}).Next[0].Kind).To(Equal("ClusterResourceBinding"))
}
