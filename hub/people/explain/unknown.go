package explain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/flow/scheduler/fit"
	"fairlead.dev/hub/people/view/clusters"
)

// TellUnknown sets CapacityUnknown on the verdicts about clusters whose free capacity is unknown.
func TellUnknown(attempts []Attempt, fleet []*clusterv1alpha1.Cluster) {
	for i := range attempts {
		for j := range attempts[i].Clusters {
			v := &attempts[i].Clusters[j]
			if v.CapacityLimit != fit.LimitNoSummary && v.Limit != fit.LimitNoSummary {
				continue
			}
			at := slices.IndexFunc(fleet, func(c *clusterv1alpha1.Cluster) bool { return c.Name == v.Cluster })
			if at >= 0 {
				v.CapacityUnknown = whyUnknown(fleet[at])
			}
		}
	}
}

// whyUnknown says why a cluster has no summary of its resources.
func whyUnknown(c *clusterv1alpha1.Cluster) string {
	message := ""
	unknown := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterCapacityUnknown)
	if unknown != nil && unknown.Status == metav1.ConditionTrue {
		message = strings.TrimSuffix(unknown.Message, ".")
	}
	ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady)
	var now string
	switch {
	case message != "" && !clusters.SaidLast(c, unknown.Type):
		return message + "."
	case ready == nil:
		return fmt.Sprintf("Its agent was never heard from; see `hub clusters describe %s`.", c.Name)
	case ready.Status == metav1.ConditionUnknown:
		now = "Its agent is no longer heard from"
	case ready.Status == metav1.ConditionFalse:
		now = "Its API server is not ready (" + strings.TrimSuffix(ready.Message, ".") + ")"
	default:
		return "Its agent has not reported its nodes and the requests of its pods yet; if this does not change, see the agent's log."
	}
	if message == "" {
		return now + ", and its nodes and the requests of its pods were never reported."
	}
	return now + "; before, it said: " + message + "."
}

// unknown lists the reasons for unknown capacities, each once.
func (p *printer) unknown(r *Report) {
	told := map[string]bool{}
	for _, a := range r.Attempts {
		for _, v := range a.Clusters {
			if v.CapacityUnknown == "" || told[v.Cluster] {
				continue
			}
			if len(told) == 0 {
				p.line("")
				p.line("Why the free resources of clusters are unknown:")
			}
			told[v.Cluster] = true
			p.line("  %s: %s", v.Cluster, v.CapacityUnknown)
		}
	}
}

// withoutSummary returns the sorted names of the clusters with unknown capacity.
func withoutSummary(attempts []Attempt) []string {
	var out []string
	for _, a := range attempts {
		for _, v := range a.Clusters {
			if v.CapacityUnknown != "" {
				out = append(out, v.Cluster)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
