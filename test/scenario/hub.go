package scenario

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/contract"
	"fairlead.dev/common/disruption"
	"fairlead.dev/common/selector"
	"fairlead.dev/hub/adjust/failover/evict"
	"fairlead.dev/hub/fleet/cluster/health"
	"fairlead.dev/hub/fleet/cluster/taint"
)

// hub is the in-memory state of a hub, which a restart loses.
type hub struct {
	// began is its start time.
	began  time.Time
	health map[string]health.Memory
	evict  map[string]evict.Memory
	rate   *evict.RateLimiter
	// waiting are the clusters whose eviction is queued for an application.
	waiting map[string]map[string]string
	// better is the time since when a better placement has existed for an application.
	better map[string]time.Time
	// scheduled, bound and added are the last inputs of these stages.
	scheduled, bound, added map[string]inputs
}

func newHub(began time.Time) *hub {
	return &hub{
		began:  began,
		health: map[string]health.Memory{}, evict: map[string]evict.Memory{}, rate: evict.NewRateLimiter(5), waiting: map[string]map[string]string{}, better: map[string]time.Time{},
		scheduled: map[string]inputs{}, bound: map[string]inputs{}, added: map[string]inputs{},
	}
}

// judge is the stage that decides the readiness and taints of Clusters.
func (w *world) judge() bool {
	changed := false
	policies, _ := selector.CompileTaintPolicies(w.policies)
	for _, shared := range w.list() {
		c := shared
		in := health.Input{
			Now: w.now, Ready: meta.FindStatusCondition(c.Status.Conditions, clusterv1alpha1.ClusterReady), Generation: c.Generation, Renewed: w.leases[c.Name],
			Options: health.Options{Period: 5 * time.Second, Grace: 40 * time.Second, StartupGrace: 60 * time.Second},
		}
		if memory, ok := w.hub.health[c.Name]; ok {
			in.Memory = &memory
		}
		d := health.Decide(in)
		w.after(d.RecheckAfter)
		w.hub.health[c.Name] = d.Memory
		if d.Ready != nil {
			c = c.DeepCopy()
			meta.SetStatusCondition(&c.Status.Conditions, *d.Ready)
			w.tell("%s is silent", c.Name)
		}
		believed := taint.EffectiveConditions(c.Status.Conditions, d.Settling)
		byReadiness := *c // policies add to the readiness taints
		byReadiness.Spec.Taints = taint.Decide(c.Spec.Taints, meta.FindStatusCondition(believed, clusterv1alpha1.ClusterReady), w.now)
		if taints := taint.ByPolicy(&byReadiness, believed, policies, w.now); !equal(taints, shared.Spec.Taints) {
			c = c.DeepCopy()
			c.Spec.Taints = taints
			w.tell("%s %s", c.Name, tainted(taints))
		}
		if c != shared && !equal(c, shared) {
			w.clusters[c.Name], changed = c, true
		}
	}
	return changed
}

func tainted(taints []corev1.Taint) string {
	if len(taints) == 0 {
		return "has no taints"
	}
	words := []string{"has taints"}
	for i := range taints {
		words = append(words, taints[i].ToString())
	}
	return strings.Join(words, " ")
}

// suspect writes the hub's suspicion of itself to Clusters.
func (w *world) suspect() bool {
	changed := false
	verdict := disruption.Decide(w.list(), w.now)
	for _, until := range verdict.Awaited {
		w.again(until)
	}
	for _, shared := range w.list() {
		said := meta.FindStatusCondition(shared.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended)
		suspended := verdict.Suspended(shared.Name)
		if (said != nil) == suspended && (said == nil || said.Reason == verdict.Reason(shared.Name)) {
			continue
		}
		c := shared.DeepCopy()
		meta.RemoveStatusCondition(&c.Status.Conditions, clusterv1alpha1.ClusterEvictionSuspended)
		if suspended {
			meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
				Type: clusterv1alpha1.ClusterEvictionSuspended, Status: metav1.ConditionTrue, Reason: verdict.Reason(c.Name), LastTransitionTime: metav1.NewTime(w.now),
			})
			w.tell("%s: %s", c.Name, verdict.Reason(c.Name))
		} else {
			w.tell("%s: its silence is believed", c.Name)
		}
		w.clusters[c.Name], changed = c, true
	}
	return changed
}

// remove finalizes Clusters that are being deleted.
func (w *world) remove() bool {
	changed := false
	for _, c := range w.list() {
		if c.DeletionTimestamp.IsZero() {
			continue
		}
		targeted := func(name string) bool {
			return slices.ContainsFunc(w.apps[name].binding.Spec.Clusters, func(t workv1alpha2.TargetCluster) bool { return t.Name == c.Name })
		}
		if slices.ContainsFunc(names(w.apps), targeted) {
			continue
		}
		left := 0
		for _, name := range names(w.apps) {
			a := w.apps[name]
			work := a.works[c.Name]
			if work == nil {
				continue
			}
			left++
			if work.DeletionTimestamp.IsZero() {
				a.allowed[c.Name] = workv1alpha2.EvictionGone // the objects in the member stay
				w.deleteWork(a, c.Name, work, contract.DeletionClusterLeft)
			}
			delete(a.works, c.Name)
			changed = true
		}
		if left == 0 {
			w.tell("%s is gone", c.Name)
			delete(w.clusters, c.Name)
			delete(w.leases, c.Name)
			delete(w.hub.health, c.Name)
			changed = true
		}
	}
	return changed
}

// forget retires a cluster.
func retire(c *clusterv1alpha1.Cluster) {
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, contract.RetiredAnnotation, "{}")
}
