package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration"
)

// TestAPaddedStatusIsInNobodysWay fills the status of a Cluster, and of a Work, up to the API's limit, so that the hub
// could write nothing more: the cluster can still be cordoned and forgotten, its objects deleted, and the other cluster
// is still shown.
func TestAPaddedStatusIsInNobodysWay(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	honest, thief := w.member(t, "thrifty"), w.member(t, "padder")
	ns := w.api.Namespace(t)
	g.Expect(w.Create(t.Context(), everywhere(ns, honest.name, thief.name))).To(Succeed())
	app := deployment(ns, "web", honestly)
	g.Expect(w.Create(t.Context(), app)).To(Succeed())
	toHonest := worksOf(honest.name) + "/" + honest.workOf(t, ns, "web-deployment").Name + "/status"
	toThief := worksOf(thief.name) + "/" + thief.workOf(t, ns, "web-deployment").Name + "/status"
	shown := func(replicas int) {
		t.Helper()
		honest.reports(t, toHonest, deploymentReport(ns, "web", readyStatus(replicas)))
		eventually(t, func(g Gomega) {
			binding := &workv1alpha2.ResourceBinding{}
			g.Expect(w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web-deployment"}, binding)).To(Succeed())
			g.Expect(binding.Status.AggregatedStatus).To(ContainElement(And(HaveField("ClusterName", honest.name),
				HaveField("Status", HaveField("Raw", MatchJSON(readyStatus(replicas)))))))
		})
	}
	thief.reports(t, toThief, deploymentReport(ns, "web", readyStatus(honestly)))
	shown(honestly)

	unfit := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	padded := thief.pad(t, toThief, 16, func(n int) string {
		return deploymentReport(ns, "web", `{"unfit":`+unfit+`,"pad":"`+repeat("x", n)+`"}`)
	})
	t.Logf("the status of the Work takes %d bytes of a string", padded)
	shown(honestly - 1)
	g.Expect(w.Delete(t.Context(), app)).To(Succeed())
	for _, m := range []*member{honest, thief} {
		eventually(t, func(g Gomega) {
			work := m.findWork(t, g, ns, "web-deployment")
			g.Expect(work.DeletionTimestamp).NotTo(BeNil())
			g.Expect(work.Annotations).To(HaveKeyWithValue(contract.DeletionIntentAnnotation, contract.DeletionRemoved))
		})
	}
	// The honest cluster reports the object as gone; the other one reports nothing.
	code := honest.do(t, http.MethodPatch, strings.TrimSuffix(toHonest, "/status"), `{"metadata":{"finalizers":null}}`, row{method: http.MethodPatch}.header())
	g.Expect(code).To(Equal(http.StatusOK))

	for _, of := range []struct {
		what string
		near int
		body func(n int) string
	}{
		{"a name", 16, func(n int) string {
			return `{"status":{"apiEnablements":[{"groupVersion":"` + repeat("x", n) + `"}]}}`
		}},
		{"kinds", rough, func(n int) string {
			kind := `,{"name":"` + repeat("n", 60) + `","kind":"K"}`
			group := `,{"groupVersion":"a/v1","resources":[` + strings.Repeat(kind, 100)[1:] + `]}`
			return `{"status":{"apiEnablements":[` + strings.Repeat(group, n/len(group)+1)[1:] + `]}}`
		}},
		{"reasons", rough, func(n int) string {
			reason := fmt.Sprintf(`,{"type":"Ready","status":"False","reason":"No","message":"%s"}`, repeat("<", 20_000))
			return `{"status":{"conditions":[` + strings.Repeat(reason, n/20_000+1)[1:] + `]}}`
		}},
		{"a version", rough, func(n int) string { return `{"status":{"kubernetesVersion":"` + repeat("x", n) + `"}}` }},
	} {
		t.Logf("the status of the Cluster takes %d bytes of %s", thief.pad(t, thief.clusterPath()+"/status", of.near, of.body), of.what)
	}
	eventually(t, func(g Gomega) {
		c := w.cluster(t, thief.name)
		c.Spec.Taints = append(c.Spec.Taints, corev1.Taint{Key: "example.com/suspect", Value: repeat("x", 60), Effect: corev1.TaintEffectNoSchedule})
		g.Expect(w.Update(t.Context(), c)).To(Succeed(), "it can be tainted")
	})
	g.Expect(registration.Forget(t.Context(), w.Client, w.Client, w.cluster(t, thief.name), "ann", w.now())).To(Succeed())
	thief.refused(t, http.MethodGet, worksOf(thief.name), "", nil)
	eventually(t, func(g Gomega) {
		g.Expect(apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKey{Name: thief.name}, &clusterv1alpha1.Cluster{}))).To(BeTrue())
		binding := &workv1alpha2.ResourceBinding{}
		g.Expect(apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "web-deployment"}, binding))).To(BeTrue(), "nothing of the template is left")
	})
}

// TestAWorkThatItsAgentFilledToTheBrimIsDeleted has Works whose agent filled them before a policy bounded what else it writes than statuses: one
// whose template goes, and one of a cluster that is forgotten.
func TestAWorkThatItsAgentFilledToTheBrimIsDeleted(t *testing.T) {
	w := hub(t)
	g := NewWithT(t)
	thief := w.member(t, "brimmer")
	ns := w.api.Namespace(t)
	g.Expect(w.Create(t.Context(), everywhere(ns, thief.name))).To(Succeed())
	goes, stays := deployment(ns, "goes", honestly), deployment(ns, "stays", honestly)
	for _, app := range []client.Object{goes, stays} {
		g.Expect(w.Create(t.Context(), app)).To(Succeed())
		work := thief.workOf(t, ns, app.GetName()+"-deployment")
		// An etcd takes requests of 1.5 MiB. No room is left for the time of a deletion.
		const limit, rest, room = 1536 << 10, 20_000, 30
		least, most := limit-rest, limit
		for most-least > room {
			n := (least + most) / 2
			patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"generateName":"`+repeat("x", n)+`"}}`))
			if w.Patch(t.Context(), work.DeepCopy(), patch) == nil {
				least = n
			} else {
				most = n
			}
		}
		g.Expect(least).To(BeNumerically(">", limit-rest))
	}
	g.Expect(w.Delete(t.Context(), goes)).To(Succeed())
	eventually(t, func(g Gomega) {
		work := thief.findWork(t, g, ns, "goes-deployment")
		g.Expect(work.DeletionTimestamp).NotTo(BeNil())
		g.Expect(work.Annotations).To(HaveKeyWithValue(contract.DeletionIntentAnnotation, contract.DeletionRemoved))
	})
	g.Expect(registration.Forget(t.Context(), w.Client, w.Client, w.cluster(t, thief.name), "ann", w.now())).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(apierrors.IsNotFound(w.Get(t.Context(), client.ObjectKey{Name: thief.name}, &clusterv1alpha1.Cluster{}))).To(BeTrue())
	})
}

// rough is how near to what the API takes a pad comes which is not the first.
const rough = 20_000

// pad fills a status nearly up to the API's limit, and returns the size of the padding.
func (m *member) pad(t *testing.T, path string, near int, body func(n int) string) int {
	t.Helper()
	const beyond = 1_600_000
	least, most := 0, beyond
	for most-least > near {
		n := (least + most) / 2
		if m.do(t, http.MethodPatch, path, body(n), row{method: http.MethodPatch}.header()) == http.StatusOK {
			least = n
		} else {
			most = n
		}
	}
	return least
}
