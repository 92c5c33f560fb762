package parts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
	"fairlead.dev/common/quota"
)

// Part is the Work of one cluster.
type Part struct {
	Cluster string
	Work    *workv1alpha1.Work
}

// Status returns the status of a FederatedResourceQuota. Of what bindings tell, used is
// what they use; of all else, such as counts of objects, what the clusters report.
// What nothing is used of is left out.
func Status(q *policyv1alpha1.FederatedResourceQuota, bindings []workv1alpha2.Binding, parts []Part) policyv1alpha1.FederatedResourceQuotaStatus {
	out := policyv1alpha1.FederatedResourceQuotaStatus{Overall: q.Spec.Overall.DeepCopy(), AggregatedStatus: aggregate(parts)}
	used := corev1.ResourceList{}
	for _, b := range bindings {
		quota.Add(used, quota.InUse(b, b.BindingSpec().Clusters))
	}
	out.OverallUsed = quota.Of(q.Spec.Overall, used)
	for name := range q.Spec.Overall {
		if quota.Known(name) {
			continue
		}
		for i := range out.AggregatedStatus {
			if amount, ok := out.AggregatedStatus[i].Used[name]; ok {
				quota.Add(out.OverallUsed, corev1.ResourceList{name: amount})
			}
		}
	}
	maps.DeleteFunc(out.OverallUsed, func(_ corev1.ResourceName, amount resource.Quantity) bool { return amount.IsZero() })
	return out
}

// aggregate returns what clusters report of their parts, those that applied them, by name.
func aggregate(parts []Part) []policyv1alpha1.ClusterQuotaStatus {
	var out []policyv1alpha1.ClusterQuotaStatus
	for _, part := range parts {
		if !meta.IsStatusConditionTrue(part.Work.Status.Conditions, workv1alpha1.WorkApplied) {
			continue
		}
		for i := range part.Work.Status.ManifestStatuses {
			item := &part.Work.Status.ManifestStatuses[i]
			if item.Identifier.Kind != "ResourceQuota" || item.Status == nil {
				continue
			}
			if reported, err := read(item.Status.Raw); err == nil {
				out = append(out, policyv1alpha1.ClusterQuotaStatus{ClusterName: part.Cluster, ResourceQuotaStatus: reported})
			}
		}
	}
	slices.SortFunc(out, func(a, b policyv1alpha1.ClusterQuotaStatus) int { return strings.Compare(a.ClusterName, b.ClusterName) })
	return out
}

// read reads what an agent wrote, after a look at its amounts.
func read(raw []byte) (corev1.ResourceQuotaStatus, error) {
	var out corev1.ResourceQuotaStatus
	var amounts struct{ Hard, Used map[string]quantity.Checked }
	err := json.Unmarshal(raw, &amounts)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return corev1.ResourceQuotaStatus{}, fmt.Errorf("reading the status of a ResourceQuota: %w", err)
	}
	return out, nil
}

// Over returns the resources of which more is used than is allowed, sorted.
func Over(s *policyv1alpha1.FederatedResourceQuotaStatus) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s.Overall)) {
		used, limit := s.OverallUsed[name], s.Overall[name]
		if used.Cmp(limit) > 0 {
			out = append(out, string(name)+" ("+used.String()+" of "+limit.String()+")")
		}
	}
	return out
}

// Same says whether two statuses say the same, however their quantities are written.
func Same(a, b *policyv1alpha1.FederatedResourceQuotaStatus) bool {
	return equality.Semantic.DeepEqual(a, b)
}
