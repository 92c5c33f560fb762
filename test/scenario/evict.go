package scenario

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/evictions"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/hub/flow/scheduler/decide"
)

// evict plays the failover stage, which evicts applications from clusters.
func (w *world) evict() bool {
	changed := false
	for _, name := range names(w.apps) {
		changed = w.evictOne(w.apps[name]) || changed
	}
	return changed
}

func (w *world) evictOne(a *app) bool {
	b := a.binding.DeepCopy()
	in := w.evictInput(a, b)
	waited := w.hub.waiting[a.name]
	w.hub.waiting[a.name] = map[string]string{}
	d := evict.Decide(in)
	for cluster, region := range waited {
		if _, still := w.hub.waiting[a.name][cluster]; !still {
			w.hub.rate.Forget(region, a.name+"/"+cluster)
		}
	}
	w.after(d.RecheckAfter)
	w.hub.evict[a.name] = d.Memory
	if d.Changes() {
		past := evict.Remember(&in, &d)
		b.Spec.Clusters, b.Spec.GracefulEvictionTasks = evict.Apply(&a.binding.Spec, &d, w.now)
		if err := evictions.Set(b, past); err != nil {
			panic(err)
		}
		b.Generation++
	}
	meta.RemoveStatusCondition(&b.Status.Conditions, workv1alpha2.BindingEvicting)
	if d.Condition != nil {
		c := *d.Condition
		if before := meta.FindStatusCondition(a.binding.Status.Conditions, c.Type); before != nil && before.Status == c.Status {
			c.LastTransitionTime = before.LastTransitionTime
		}
		meta.SetStatusCondition(&b.Status.Conditions, c)
	}
	if equal(b, a.binding) {
		return false
	}
	for _, e := range d.Evictions {
		a.allowed[e.Cluster] = "evicted"
		if e.Task.PurgeMode == policyv1alpha1.PurgeDirectly {
			a.allowed[e.Cluster] = "at once"
		}
		w.tell("%s leaves %s (%s): %s", a.name, e.Cluster, e.Task.PurgeMode, e.Task.Message)
	}
	for _, e := range d.Ended {
		if e.How == workv1alpha2.EvictionReturned {
			delete(a.allowed, e.Cluster)
		} else if a.allowed[e.Cluster] != "at once" {
			a.allowed[e.Cluster] = e.How
		}
		w.tell("%s: the task of %s is over: %s", a.name, e.Cluster, e.How)
	}
	for _, cluster := range names(d.Withdrawn) {
		if _, ok := a.allowed[cluster]; !ok {
			a.allowed[cluster] = "taken back"
		}
		w.tell("%s: what %s was to get is taken back", a.name, cluster)
	}
	if said, says := evicting(a.binding), evicting(b); said != says {
		w.tell("%s says %s", a.name, says)
	}
	a.binding = b
	w.place(a)
	return true
}

func (w *world) evictInput(a *app, b *workv1alpha2.ResourceBinding) evict.Input {
	verdict := disruption.Decide(w.list(), w.now)
	in := evict.Input{
		Now: w.now, Generation: b.Generation, Namespaced: true, HasHealthRule: true, Spec: &b.Spec, Status: &b.Status, Tolerations: b.Spec.Placement.ClusterTolerations,
		Clusters: w.clusters, Works: map[string]evict.Work{}, Suspended: map[string]evict.Suspension{}, HeardSince: map[string]time.Time{}, ByCondition: sets.New("lost"), Expiring: map[string]sets.Set[string]{},
		Past: evictions.Of(b), Memory: w.hub.evict[a.name], Began: w.hub.began,
	}
	for cluster, work := range a.works {
		applied := meta.FindStatusCondition(work.Status.Conditions, workv1alpha1.WorkApplied)
		in.Works[cluster] = evict.Work{Observed: applied != nil && applied.ObservedGeneration >= work.Generation, Created: work.CreationTimestamp.Time}
	}
	policies := evict.CompileTaintPolicies(w.policies)
	in.BySilence = policies.BySilence()
	for name := range w.clusters {
		in.Expiring[name] = policies.Expiring(w.clusters[name])
		if verdict.Suspended(name) {
			in.Suspended[name] = evict.Suspension{Reason: verdict.Reason(name), Message: verdict.Message(name)}
		}
	}
	for name, c := range w.clusters {
		if ready := meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady); ready != nil && ready.Status != metav1.ConditionUnknown {
			in.HeardSince[name] = ready.LastTransitionTime.Time
		}
	}
	in.RateLimit = func(cluster string) time.Duration {
		region := w.clusters[cluster].Spec.Region
		w.hub.waiting[a.name][cluster] = region
		return w.hub.rate.Ask(region, a.binding.Namespace, a.name+"/"+cluster, w.now)
	}
	in.WouldReturn = func(cluster string) bool { return decide.WouldReturn(w.placing(a, a.binding.Spec.DeepCopy()), cluster) }
	in.CouldPlaceWithout = func(without []string) bool {
		return decide.CouldPlaceWithout(w.placing(a, a.binding.Spec.DeepCopy()), without)
	}
	in.State = func(cluster string, rules []policyv1alpha1.StatePreservationRule) (map[string]string, error) {
		for _, item := range b.Status.AggregatedStatus {
			if item.ClusterName == cluster && item.Status != nil {
				return map[string]string{rules[0].AliasLabelName: a.name + "-" + cluster}, nil
			}
		}
		return nil, fmt.Errorf("%s has not reported", cluster)
	}
	return in
}

func evicting(b *workv1alpha2.ResourceBinding) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.BindingEvicting); c != nil {
		return c.Reason
	}
	return "nothing"
}

// taintByHand changes the taints as `hub cordon`, `hub cordon --evict` and `hub uncordon` do.
func taintByHand(c *clusterv1alpha1.Cluster, effects ...corev1.TaintEffect) {
	var kept []corev1.Taint
	for _, t := range c.Spec.Taints {
		if t.Key != "cluster.karmada.io/unschedulable" {
			kept = append(kept, t)
		}
	}
	for _, effect := range effects {
		kept = append(kept, corev1.Taint{Key: "cluster.karmada.io/unschedulable", Effect: effect})
	}
	c.Spec.Taints = kept
}
