package hostile

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration"
	"fairlead.dev/test/stagetest"
)

// mostAnnotations is the API's limit for the annotations of an object.
const mostAnnotations = 256 << 10

// TestATenantCannotHoldAClusterByAFullBinding has a tenant write a placement that leaves no room in the annotations of
// its binding: the application still leaves a cluster that the namespace may not use any more, and one that is
// forgotten.
func TestATenantCannotHoldAClusterByAFullBinding(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	kept, barred := w.member(t, "forgettable"), w.member(t, "barred")
	ns := w.api.Namespace(t)
	allow := func(names ...string) {
		t.Helper()
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		stagetest.Change(t, w.Client, namespace, func() {
			metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, contract.ClustersAnnotation, fmt.Sprintf("member in (%s)", strings.Join(names, ",")))
		})
	}
	for _, m := range []*member{kept, barred} {
		c := w.cluster(t, m.name)
		stagetest.Change(t, w.Client, c, func() { metav1.SetMetaDataLabel(&c.ObjectMeta, "member", m.name) })
	}
	allow(kept.name, barred.name)
	policy := everywhere(ns, kept.name, barred.name)
	g.Expect(w.Create(t.Context(), policy)).To(Succeed())
	g.Expect(w.Create(t.Context(), deployment(ns, "web", honestly))).To(Succeed())
	binding := &workv1alpha2.ResourceBinding{}
	is := func(check func(g Gomega)) {
		t.Helper()
		eventually(t, func(g Gomega) {
			g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web-deployment"}, binding)).To(Succeed())
			check(g)
		})
	}
	in := func(names ...string) func(g Gomega) {
		return func(g Gomega) {
			var have []string
			for _, target := range binding.Spec.Clusters {
				have = append(have, target.Name)
			}
			g.Expect(have).To(ConsistOf(names))
		}
	}
	is(in(kept.name, barred.name))

	room := mostAnnotations - 50
	for key, value := range binding.Annotations {
		room -= len(key) + len(value)
	}
	stagetest.Change(t, w.Client, policy, func() {
		policy.Spec.Placement.ClusterAffinity = &policyv1alpha1.ClusterAffinity{ClusterNames: append([]string{kept.name, barred.name}, padding(room)...)}
	})
	is(func(g Gomega) {
		in(kept.name, barred.name)(g)
		g.Expect(binding.Status.SchedulerObservedGeneration).To(Equal(binding.Generation))
		g.Expect(len(binding.Spec.Placement.ClusterAffinity.ClusterNames)).To(BeNumerically(">", 1000))
	})
	t.Logf("the placement that was applied takes %d bytes", len(binding.Annotations[contract.AppliedPlacementAnnotation]))

	// Nor is there less room for the whole.
	stagetest.Change(t, w.Client, policy, func() {
		policy.Spec.Placement.ClusterAffinity.ClusterNames = append([]string{kept.name, barred.name}, padding(1_500_000)...)
	})
	eventually(t, func(g Gomega) {
		var events corev1.EventList
		g.Expect(w.List(t.Context(), &events, client.InNamespace(ns))).To(Succeed())
		g.Expect(events.Items).To(ContainElement(HaveField("Message", ContainSubstring("the binding would be too large"))))
	})
	is(func(g Gomega) {
		g.Expect(len(binding.Spec.Placement.ClusterAffinity.ClusterNames)).To(BeNumerically("<", 10_000))
	})

	allow(kept.name)
	is(in(kept.name))
	g.Expect(registration.Forget(t.Context(), w.Client, w.Client, w.cluster(t, kept.name), "ann", w.now())).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKey{Name: kept.name}, &clusterv1alpha1.Cluster{}))).To(BeTrue())
	})
	is(in())
}

// padding returns so many bytes of names, as appended to a list in JSON.
func padding(bytes int) []string {
	const each = 100
	var out []string
	for bytes > 2*each {
		out = append(out, strings.Repeat("x", each-3))
		bytes -= each
	}
	return append(out, strings.Repeat("x", bytes-3))
}
