package parts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/quantity"
	"fairlead.dev/common/quota"
)

// Part is the part of one cluster.
type Part struct {
	Cluster string
	// Hard is its assignment in the FederatedResourceQuota.
	Hard corev1.ResourceList
	// Work propagates it.
	Work *workv1alpha1.Work
}

// Reports caches the parsed statuses of the Works of one FederatedResourceQuota, so that only changed ones are parsed
// again. The zero value is ready for use; it is not safe for concurrent use.
type Reports struct {
	// quota and generation identify the FederatedResourceQuota that the reports were parsed for.
	quota      types.UID
	generation int64
	byCluster  map[string]report
}

// report is the parsed status of one Work; ok is false if the cluster has not reported.
type report struct {
	work     types.UID
	version  string
	reported corev1.ResourceQuotaStatus
	ok       bool
}

// Status returns the status of a FederatedResourceQuota; it shares the clusters' reports with r. The usage of resources
// that bindings request is theirs; that of all others, such as object counts, is what the clusters report. Unused
// resources are left out.
func (r *Reports) Status(q *policyv1alpha1.FederatedResourceQuota, bindings []workv1alpha2.Binding, parts []Part) policyv1alpha1.FederatedResourceQuotaStatus {
	out := policyv1alpha1.FederatedResourceQuotaStatus{Overall: q.Spec.Overall.DeepCopy(), AggregatedStatus: r.aggregate(q, parts)}
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

// aggregate returns the reports of the clusters that have applied their part, by name.
func (r *Reports) aggregate(q *policyv1alpha1.FederatedResourceQuota, parts []Part) []policyv1alpha1.ClusterQuotaStatus {
	if r.quota != q.UID || r.generation != q.Generation {
		r.quota, r.generation, r.byCluster = q.UID, q.Generation, nil
	}
	before := r.byCluster
	r.byCluster = make(map[string]report, len(parts))
	var out []policyv1alpha1.ClusterQuotaStatus
	for _, part := range parts {
		last, known := before[part.Cluster]
		if !known || last.work != part.Work.UID || last.version != part.Work.ResourceVersion || last.version == "" {
			last = report{work: part.Work.UID, version: part.Work.ResourceVersion}
			last.reported, last.ok = reportOf(q, part)
		}
		r.byCluster[part.Cluster] = last
		if last.ok {
			out = append(out, policyv1alpha1.ClusterQuotaStatus{ClusterName: part.Cluster, ResourceQuotaStatus: last.reported})
		}
	}
	slices.SortFunc(out, func(a, b policyv1alpha1.ClusterQuotaStatus) int { return strings.Compare(a.ClusterName, b.ClusterName) })
	return out
}

// reportOf returns what a cluster reports of its part, and whether it does. It ignores additional objects, and
// resources that the part does not limit, because they would take the room of other clusters in the aggregated status.
func reportOf(q *policyv1alpha1.FederatedResourceQuota, part Part) (corev1.ResourceQuotaStatus, bool) {
	if !meta.IsStatusConditionTrue(part.Work.Status.Conditions, workv1alpha1.WorkApplied) {
		return corev1.ResourceQuotaStatus{}, false
	}
	for i := range part.Work.Status.ManifestStatuses {
		item := &part.Work.Status.ManifestStatuses[i]
		id := &item.Identifier
		if id.Group != "" || id.Kind != kind || id.Namespace != q.Namespace || id.Name != q.Name || item.Status == nil {
			continue
		}
		reported, err := read(item.Status.Raw, part.Hard)
		return reported, err == nil
	}
	return corev1.ResourceQuotaStatus{}, false
}

// read parses the amounts of some resources from an agent's status.
func read(raw []byte, of corev1.ResourceList) (corev1.ResourceQuotaStatus, error) {
	var reported struct {
		Hard, Used map[corev1.ResourceName]json.RawMessage
	}
	if err := json.Unmarshal(raw, &reported); err != nil {
		return corev1.ResourceQuotaStatus{}, fmt.Errorf("reading the status of a ResourceQuota: %w", err)
	}
	hard, err := amounts(reported.Hard, of)
	if err != nil {
		return corev1.ResourceQuotaStatus{}, fmt.Errorf("reading what a ResourceQuota allows: %w", err)
	}
	used, err := amounts(reported.Used, of)
	if err != nil {
		return corev1.ResourceQuotaStatus{}, fmt.Errorf("reading what is used of a ResourceQuota: %w", err)
	}
	return corev1.ResourceQuotaStatus{Hard: hard, Used: used}, nil
}

// amounts parses the amounts of some resources, after validating each.
func amounts(reported map[corev1.ResourceName]json.RawMessage, of corev1.ResourceList) (corev1.ResourceList, error) {
	out := corev1.ResourceList{}
	for name := range of {
		raw, ok := reported[name]
		if !ok {
			continue
		}
		var amount resource.Quantity
		err := json.Unmarshal(raw, &quantity.Checked{})
		if err == nil {
			err = json.Unmarshal(raw, &amount)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out[name] = amount
	}
	return out, nil
}

// Over returns the resources whose usage exceeds the quota, sorted.
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

// Same reports whether two statuses are equal, regardless of the notation of quantities.
func Same(a, b *policyv1alpha1.FederatedResourceQuotaStatus) bool {
	return sameAmounts(a.Overall, b.Overall) && sameAmounts(a.OverallUsed, b.OverallUsed) &&
		slices.EqualFunc(a.AggregatedStatus, b.AggregatedStatus, func(a, b policyv1alpha1.ClusterQuotaStatus) bool {
			return a.ClusterName == b.ClusterName && sameAmounts(a.Hard, b.Hard) && sameAmounts(a.Used, b.Used)
		})
}

func sameAmounts(a, b corev1.ResourceList) bool {
	return maps.EqualFunc(a, b, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })
}
