package admit

import (
	"k8s.io/apimachinery/pkg/util/sets"

	fairleadv1alpha1 "fairlead.dev/common/api/fairlead/v1alpha1"
	"fairlead.dev/hub/flow/rollout/judge"
)

// grantRetries restarts the deadlines of clusters for which a person requested a retry.
func (r *rollout) grantRetries() {
	granted, again := sets.New(r.status.Retried...), sets.Set[string]{}
	r.status.Retried = r.retries(granted)
	for _, retry := range r.status.Retried {
		if !granted.Has(retry) {
			r.lifted = true
			again.Insert(retry.Cluster)
		}
	}
	for _, m := range r.members {
		if !again.Has(m.name) {
			continue
		}
		if m.before.state == fairleadv1alpha1.ClusterFailed {
			m.before.state, m.before.reason = fairleadv1alpha1.ClusterInFlight, ""
		}
		if m.before.state == fairleadv1alpha1.ClusterCatchingUp {
			m.before.reason = ""
		}
		r.out.Memory.Progress[m.name] = judge.Progress{Revision: r.expected(m).Number, RetriedAt: r.in.Now}
	}
}

// retries returns the requested retries for the newest revision: the last of each cluster that is a member, or was when it was granted.
// People may write thousands of others, and the status that repeats them must fit into an object.
func (r *rollout) retries(granted sets.Set[fairleadv1alpha1.ClusterAtRevision]) []fairleadv1alpha1.ClusterAtRevision {
	members := sets.Set[string]{}
	for _, m := range r.members {
		members.Insert(m.name)
	}
	last := map[string]fairleadv1alpha1.ClusterAtRevision{}
	for _, retry := range r.in.Spec.Retry {
		if retry.Revision == r.newest.Number && (members.Has(retry.Cluster) || granted.Has(retry)) {
			last[retry.Cluster] = retry
		}
	}
	var out []fairleadv1alpha1.ClusterAtRevision
	for _, retry := range r.in.Spec.Retry {
		if is, asked := last[retry.Cluster]; asked && is == retry {
			out = append(out, retry)
			delete(last, retry.Cluster)
		}
	}
	return out
}
