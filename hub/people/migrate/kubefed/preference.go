package kubefed

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
)

// everyOther is the key for clusters that a preference does not name.
const everyOther = "*"

// preferenceKey identifies the federated object of a preference.
type preferenceKey struct{ kind, namespace, name string }

func (k preferenceKey) compare(o preferenceKey) int {
	return cmp.Or(strings.Compare(k.kind, o.kind), strings.Compare(k.namespace, o.namespace), strings.Compare(k.name, o.name))
}

// preference records a ReplicaSchedulingPreference for its object.
func (c *converter) preference(i *item) bool {
	if i.Object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: groupScheduling, Kind: "ReplicaSchedulingPreference"}) {
		return false
	}
	var p replicaPreference
	if !i.decode(&p) {
		// Its object must not be converted without it.
		for _, kind := range []string{"FederatedDeployment", "FederatedReplicaSet"} {
			c.preferences[preferenceKey{kind: kind, namespace: i.Object.GetNamespace(), name: i.Object.GetName()}] = i
		}
		return true
	}
	if p.Spec.TargetKind != "FederatedDeployment" && p.Spec.TargetKind != "FederatedReplicaSet" {
		i.refuse("spec.targetKind", "%q must be FederatedDeployment or FederatedReplicaSet", p.Spec.TargetKind)
		return true
	}
	c.preferences[preferenceKey{kind: p.Spec.TargetKind, namespace: i.Object.GetNamespace(), name: i.Object.GetName()}] = i
	if len(c.hints) == 0 {
		c.hints = rescheduling()
	}
	return true
}

// rescheduling are the hints about what KubeFed does at once when a cluster is not ready.
func rescheduling() []string {
	return []string{
		"KubeFed divides replicas among ready clusters only, and again as soon as one is not. Here they move",
		"where a policy has spec.failover, when the cluster is tainted by:",
		"  apiVersion: policy.karmada.io/v1alpha1",
		"  kind: ClusterTaintPolicy",
		"  metadata: {name: not-ready}",
		"  spec:",
		"    addOnConditions: [{conditionType: Ready, operator: NotIn, statusValues: [\"True\"]}]",
		"    removeOnConditions: [{conditionType: Ready, operator: In, statusValues: [\"True\"]}]",
		"    taints: [{key: not-ready, effect: NoExecute}]",
	}
}

// prefer divides the replicas of an object according to a preference, and returns where it is placed.
func (c *converter) prefer(i, by *item, f *federated, d differences, spec *policyv1alpha1.PropagationSpec, obj *unstructured.Unstructured) reach {
	var p replicaPreference
	if !by.decode(&p) || by.refused || c.refuseInvalid(by, &p) {
		i.refuse("", "its %s is refused", by.name)
		return reach{}
	}
	if _, err := replicasOf(obj); err != nil {
		i.refuse("spec.template.spec.replicas", "%v", err)
		return reach{}
	}
	c.tellUnsupported(by, &p)
	s := replicaDivision{converter: c, item: i, by: by, preference: &p, clusters: p.Spec.Clusters}
	if len(s.clusters) == 0 {
		s.clusters = map[string]clusterPreference{everyOther: {Weight: 1}}
	}
	s.ask(f)
	if c.options.Replicas == Weights || p.Spec.TotalReplicas == 0 {
		return s.weights(spec, obj)
	}
	return s.keepShares(f, d, spec, obj)
}

// refuseInvalid refuses invalid settings of a preference.
func (c *converter) refuseInvalid(by *item, p *replicaPreference) bool {
	if p.Spec.TotalReplicas < 0 {
		by.refuse("spec.totalReplicas", "it is negative")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Spec.Clusters)) {
		cluster, field := p.Spec.Clusters[name], "spec.clusters["+name+"]"
		if cluster.Weight < 0 {
			by.refuse(field+".weight", "it is negative")
		}
		if cluster.MinReplicas < 0 || cluster.MinReplicas > math.MaxInt32 {
			by.refuse(field+".minReplicas", "%d is not a number of replicas", cluster.MinReplicas)
		}
		if cluster.MaxReplicas != nil && (*cluster.MaxReplicas < cluster.MinReplicas || *cluster.MaxReplicas > math.MaxInt32) {
			by.refuse(field+".maxReplicas", "%d is less than minReplicas, or not a number of replicas", *cluster.MaxReplicas)
		}
		if c.options.Plain && cluster.MinReplicas > 0 {
			by.refuse(field+".minReplicas", "only this hub has bounds of replicas; leave out --plain")
		}
		if c.options.Plain && cluster.MaxReplicas != nil {
			by.refuse(field+".maxReplicas", "only this hub has bounds of replicas; leave out --plain")
		}
	}
	return by.refused
}

// tellUnsupported reports the settings of a preference that have no equivalent.
func (c *converter) tellUnsupported(by *item, p *replicaPreference) {
	by.tell("spec.totalReplicas", "the replicas of the template")
	if p.Spec.Rebalance {
		by.tell("spec.rebalance", "the hub does not move replicas by itself that cannot be scheduled in a cluster: use dynamicWeight in the policy, or a WorkloadRebalancer once")
	} else {
		by.tell("spec.rebalance", "the replicas are divided from scratch when they are scaled; running replicas are not counted first, as in KubeFed")
	}
}

// replicaDivision is the division of the replicas of one object.
type replicaDivision struct {
	converter  *converter
	item, by   *item
	preference *replicaPreference
	clusters   map[string]clusterPreference
	// own are the clusters that the object's own selector matches, if the preference respects it, and bound those of
	// its namespace.
	own, bound reach
}

// ask reads which clusters the object may be in at all. Of its own placement a preference respects only the selector,
// since it names the clusters itself.
func (s *replicaDivision) ask(f *federated) {
	if s.preference.Spec.IntersectWithClusterSelector {
		s.by.tell("spec.intersectWithClusterSelector", "the policy has the object's selector too")
		s.own = reachOf(placement{ClusterSelector: f.Spec.Placement.ClusterSelector})
	}
	s.bound = s.converter.bounded(s.item, target{}, reach{})
}

// known says whether all clusters that matter are known, because they are named or the files have all clusters.
func (s *replicaDivision) known(named bool) bool {
	_, star := s.clusters[everyOther]
	named = (named || !star) && s.own.selector == nil && s.bound.selector == nil
	return named || len(s.converter.clusters) > 0
}

// members returns the names of the ready clusters among which KubeFed divides, and a function that says whether a
// cluster is within the object's reach afterwards.
func (s *replicaDivision) members() (among []string, within func(string) bool) {
	labelsOf := map[string]map[string]string{}
	for _, m := range s.converter.clusters {
		labelsOf[m.name] = m.labels
		if m.ready && s.own.matches(m.name, m.labels) {
			among = append(among, m.name)
		}
	}
	if len(s.converter.clusters) == 0 {
		for _, name := range slices.Sorted(maps.Keys(s.clusters)) {
			if s.own.matches(name, nil) {
				among = append(among, name)
			}
		}
	}
	return among, func(name string) bool { return s.bound.matches(name, labelsOf[name]) }
}
