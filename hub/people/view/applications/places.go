package applications

import (
	"maps"
	"regexp"
	"slices"
	"time"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/bindings"
)

const (
	healthy   = string(workv1alpha1.Healthy)
	unhealthy = string(workv1alpha1.Unhealthy)
)

// places returns an entry for each cluster that has the application or should.
func places(b workv1alpha2.Binding, clusters Clusters) []Place {
	spec := b.BindingSpec()
	at := map[string]*Place{}
	for i, t := range bindings.Targets(spec) {
		at[t.Name] = &Place{Cluster: t.Name}
		if i < len(spec.Clusters) { // the other targets are those of the workload that it is attached to, whose replicas they have
			at[t.Name].Replicas = t.Replicas
		}
	}
	leave := func(cluster, why string) {
		if at[cluster] == nil {
			at[cluster] = &Place{Cluster: cluster, Leaving: true, Why: why}
		}
	}
	reported := map[string]*workv1alpha2.AggregatedStatusItem{}
	items := b.BindingStatus().AggregatedStatus
	for i := range items {
		reported[items[i].ClusterName] = &items[i]
	}
	for i := range spec.GracefulEvictionTasks {
		leave(spec.GracefulEvictionTasks[i].FromCluster, leavingSentence(&spec.GracefulEvictionTasks[i]))
	}
	for cluster := range reported {
		leave(cluster, "It is being removed from there.")
	}
	out := make([]Place, 0, len(at))
	for _, cluster := range slices.Sorted(maps.Keys(at)) {
		p := at[cluster]
		p.fill(reported[cluster], clusters, bindings.Suspended(spec.Suspension, cluster))
		out = append(out, *p)
	}
	return out
}

// leavingSentence says why the application leaves a cluster.
func leavingSentence(task *workv1alpha2.GracefulEvictionTask) string {
	why := "It leaves for " + task.Reason
	if task.Message != "" {
		why += ": " + task.Message
	}
	if task.PurgeMode.Canonical() == policyv1alpha1.PurgeGracefully {
		return why + "; the copy stays until the new one is healthy."
	}
	return why + "."
}

// fill sets the state in the cluster. Cluster, Leaving and the reason for that are already set.
func (p *Place) fill(item *workv1alpha2.AggregatedStatusItem, clusters Clusters, suspended bool) {
	heard, known := clusters[p.Cluster]
	if clusters == nil {
		heard, known = heardBy(item), true
	}
	if item != nil {
		p.Applied, p.Health = item.Applied, string(item.Health)
	}
	if !heard.Fresh {
		p.Stale = true
		if !heard.Since.IsZero() {
			p.StaleSince = &heard.Since
		}
	}
	switch {
	case p.Leaving:
		p.State = Moving
		if p.Stale && known {
			p.Why += " " + staleSentence(p.StaleSince)
		}
	case item != nil && !item.Applied && item.AppliedMessage != "":
		p.State, p.Why = Failing, whyRefused(item.AppliedMessage)
	case !known:
		p.State, p.Why = Stale, "The hub has no such cluster any more."
	case p.Health == unhealthy:
		p.State, p.Why = Unhealthy, unhealthySentence(item.Status, p.Replicas, item.PodReasons)
	case p.Stale:
		p.State, p.Why = Stale, staleSentence(p.StaleSince)
	case suspended:
		p.State, p.Why = Suspended, "Delivery is suspended."
	case !p.Applied:
		p.State, p.Why = Waiting, "The cluster has not reported yet."
	case p.Health != healthy:
		p.State, p.Why = Waiting, "It is applied; the cluster has not reported its health yet."
	default:
		p.State = Healthy
	}
}

// heardBy returns the freshness of a cluster as the hub recorded it on a binding.
func heardBy(item *workv1alpha2.AggregatedStatusItem) Freshness {
	if item == nil || item.StaleSince == nil {
		return Freshness{Fresh: true}
	}
	return Freshness{Since: item.StaleSince.Time}
}

// oneOfOne matches the prefix with which agents report that the only manifest of a Work was refused.
var oneOfOne = regexp.MustCompile(`^Failed to apply all manifests \(0/1\): `)

// whyRefused returns an agent's message about manifests that were not applied, without its prefix if there is only one.
func whyRefused(message string) string { return oneOfOne.ReplaceAllString(message, "") }

// refused says whether the cluster refuses the object.
func (p *Place) refused() bool { return p.State == Failing }

func staleSentence(since *time.Time) string {
	if since == nil {
		return "The cluster was never heard from."
	}
	return "The cluster has not been heard from since " + since.UTC().Format(time.RFC3339) + "; its last report is shown."
}
