package parts_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/hub/adjust/quotas/parts"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

// part returns a part with a cluster's report.
func part(t *testing.T, name string, applied metav1.ConditionStatus, hard, used corev1.ResourceList) parts.Part {
	t.Helper()
	raw, err := json.Marshal(corev1.ResourceQuotaStatus{Hard: hard, Used: used})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	w := &workv1alpha1.Work{}
	w.Status.Conditions = []metav1.Condition{{Type: workv1alpha1.WorkApplied, Status: applied}}
	w.Status.ManifestStatuses = []workv1alpha1.ManifestStatus{{
		Identifier: identifier("all"), Status: &runtime.RawExtension{Raw: raw},
	}}
	return parts.Part{Cluster: name, Hard: list("cpu", "1", "services", "3"), Work: w}
}

func identifier(name string) workv1alpha1.ResourceIdentifier {
	return workv1alpha1.ResourceIdentifier{Version: "v1", Kind: "ResourceQuota", Namespace: "shop", Name: name}
}

func whole(overall corev1.ResourceList) *policyv1alpha1.FederatedResourceQuota {
	return &policyv1alpha1.FederatedResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "all"}, Spec: policyv1alpha1.FederatedResourceQuotaSpec{Overall: overall},
	}
}

func web(replicas int32) workv1alpha2.Binding {
	b := &workv1alpha2.ResourceBinding{}
	b.Spec.Replicas = replicas
	b.Spec.Clusters = []workv1alpha2.TargetCluster{{Name: "a", Replicas: replicas}}
	b.Spec.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "500m")}
	return b
}

func TestAmountsThatTakeMinutesAreNotRead(t *testing.T) {
	t.Parallel()
	one := part(t, "a", metav1.ConditionTrue, nil, nil)
	one.Work.Status.ManifestStatuses[0].Status.Raw = []byte(`{"used": {"cpu": "1e-99999999"}}`)
	got := new(parts.Reports).Status(whole(nil), nil, []parts.Part{one})
	NewWithT(t).Expect(got.AggregatedStatus).To(BeEmpty())
}

// TestOfAReportCountsWhatWasAsked checks that additional reports are dropped, because all clusters share the aggregated
// status.
func TestOfAReportCountsWhatWasAsked(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	liar := part(t, "liar", metav1.ConditionTrue, list("cpu", "1", "pods", "7"), list("cpu", "100m", "secrets", "5"))
	honest := liar.Work.Status.ManifestStatuses[0]
	liar.Work.Status.ManifestStatuses = nil
	for _, id := range []workv1alpha1.ResourceIdentifier{
		identifier("other"),
		{Version: "v1", Kind: "ResourceQuota", Namespace: "elsewhere", Name: "all"},
		{Version: "v1", Kind: "ResourceQuota"},
		{Group: "example.com", Version: "v1", Kind: "ResourceQuota", Namespace: "shop", Name: "all"},
		identifier("all"), identifier("all"), identifier("all"),
	} {
		item := honest
		item.Identifier = id
		liar.Work.Status.ManifestStatuses = append(liar.Work.Status.ManifestStatuses, item)
	}
	got := new(parts.Reports).Status(whole(list("cpu", "2", "secrets", "9")), nil, []parts.Part{liar})
	want := []policyv1alpha1.ClusterQuotaStatus{
		{ClusterName: "liar", ResourceQuotaStatus: corev1.ResourceQuotaStatus{Hard: list("cpu", "1"), Used: list("cpu", "100m")}},
	}
	g.Expect(got.AggregatedStatus).To(HaveLen(1))
	g.Expect(parts.Same(&policyv1alpha1.FederatedResourceQuotaStatus{AggregatedStatus: got.AggregatedStatus},
		&policyv1alpha1.FederatedResourceQuotaStatus{AggregatedStatus: want})).To(BeTrue(), "got %+v", got.AggregatedStatus)
	g.Expect(got.OverallUsed).To(BeEmpty(), "its part has no secrets")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	q := whole(list("cpu", "2", "services", "5"))
	got := new(parts.Reports).Status(q, []workv1alpha2.Binding{web(3), web(2)}, []parts.Part{
		part(t, "b", metav1.ConditionTrue, list("cpu", "1", "services", "2"), list("cpu", "900m", "services", "2")),
		part(t, "a", metav1.ConditionTrue, list("cpu", "1", "services", "3"), list("cpu", "100m", "services", "4")),
		part(t, "c", metav1.ConditionFalse, list("cpu", "1"), list("cpu", "1")),
		{Cluster: "d", Work: &workv1alpha1.Work{}},
	})
	want := policyv1alpha1.FederatedResourceQuotaStatus{
		Overall:     list("cpu", "2", "services", "5"),
		OverallUsed: list("cpu", "2500m", "services", "6"),
		AggregatedStatus: []policyv1alpha1.ClusterQuotaStatus{
			{ClusterName: "a", ResourceQuotaStatus: corev1.ResourceQuotaStatus{Hard: list("cpu", "1", "services", "3"), Used: list("cpu", "100m", "services", "4")}},
			{ClusterName: "b", ResourceQuotaStatus: corev1.ResourceQuotaStatus{Hard: list("cpu", "1", "services", "2"), Used: list("cpu", "900m", "services", "2")}},
		},
	}
	g.Expect(parts.Same(&got, &want)).To(BeTrue(), "got %+v", got)
	g.Expect(parts.Over(&got)).To(Equal([]string{"cpu (2500m of 2)", "services (6 of 5)"}))
	want.OverallUsed = list("cpu", "2", "services", "5")
	g.Expect(parts.Over(&want)).To(BeEmpty(), "all of it is not more than all of it")
}

// TestUnchangedReportsAreNotReadAgain changes the status of a Work without a new resourceVersion, which does not happen
// in an API, to show that it is not parsed again.
func TestUnchangedReportsAreNotReadAgain(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	q, reports := whole(list("services", "5")), &parts.Reports{}
	report := func(services, version string) parts.Part {
		p := part(t, "a", metav1.ConditionTrue, nil, list("services", services))
		p.Work.UID, p.Work.ResourceVersion = "u", version
		return p
	}
	used := func(p ...parts.Part) string {
		status := reports.Status(q, nil, p)
		return status.OverallUsed.Name("services", resource.DecimalSI).String()
	}
	g.Expect(used(report("1", "1"))).To(Equal("1"))
	g.Expect(used(report("2", "1"))).To(Equal("1"), "it is the same version")
	g.Expect(used(report("2", "2"))).To(Equal("2"))
	again := report("3", "2")
	again.Work.UID = "another"
	g.Expect(used(again)).To(Equal("3"), "it is another Work of this name")
	q.Generation++
	g.Expect(used(report("4", "2"))).To(Equal("4"), "another quota may ask for more")
	g.Expect(used()).To(Equal("0"), "there is no Work")
	g.Expect(used(report("5", "2"))).To(Equal("5"), "it is back")
}
