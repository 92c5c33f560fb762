package kubefed

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/division"
)

// everyOther is the key of the clusters that a preference does not name.
const everyOther = "*"

// preferenceKey is the federated object that a preference is about.
type preferenceKey struct{ kind, namespace, name string }

func (k preferenceKey) compare(o preferenceKey) int {
	return cmp.Or(strings.Compare(k.kind, o.kind), strings.Compare(k.namespace, o.namespace), strings.Compare(k.name, o.name))
}

// preference remembers a ReplicaSchedulingPreference for the object that it is about.
func (c *converter) preference(i *item) bool {
	if i.Object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: groupScheduling, Kind: "ReplicaSchedulingPreference"}) {
		return false
	}
	var p replicaPreference
	if !i.decode(&p) {
		// Whatever it is about is not to be converted without it.
		for _, kind := range []string{"FederatedDeployment", "FederatedReplicaSet"} {
			c.preferences[preferenceKey{kind: kind, namespace: i.Object.GetNamespace(), name: i.Object.GetName()}] = i
		}
		return true
	}
	if p.Spec.TargetKind != "FederatedDeployment" && p.Spec.TargetKind != "FederatedReplicaSet" {
		i.refuse("spec.targetKind", "%q is neither FederatedDeployment nor FederatedReplicaSet", p.Spec.TargetKind)
		return true
	}
	c.preferences[preferenceKey{kind: p.Spec.TargetKind, namespace: i.Object.GetNamespace(), name: i.Object.GetName()}] = i
	if len(c.hints) == 0 {
		c.hints = rehoming()
	}
	return true
}

// rehoming are the lines about what KubeFed does at once when a cluster is not ready.
func rehoming() []string {
	return []string{
		"KubeFed divides replicas among ready clusters only, anew as soon as one is not. Here they move",
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

// prefer divides the replicas of an object as a preference says, and returns where it is.
func (c *converter) prefer(i, by *item, f *federated, d differences, spec *policyv1alpha1.PropagationSpec, obj *unstructured.Unstructured) reach {
	var p replicaPreference
	if !by.decode(&p) || by.refused || c.wrong(by, &p) {
		i.refuse("", "its %s is refused", by.name)
		return reach{}
	}
	if _, err := replicasOf(obj); err != nil {
		i.refuse("spec.template.spec.replicas", "%v", err)
		return reach{}
	}
	c.unequalled(by, &p)
	s := sharing{converter: c, item: i, by: by, preference: &p, clusters: p.Spec.Clusters}
	if len(s.clusters) == 0 {
		s.clusters = map[string]clusterPreference{everyOther: {Weight: 1}}
	}
	s.ask(f)
	if c.options.Replicas == Weights || p.Spec.TotalReplicas == 0 {
		return s.weights(spec, obj)
	}
	return s.freeze(f, d, spec, obj)
}

// wrong refuses what of a preference has no meaning.
func (c *converter) wrong(by *item, p *replicaPreference) bool {
	if p.Spec.TotalReplicas < 0 {
		by.refuse("spec.totalReplicas", "it is negative")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Spec.Clusters)) {
		of, field := p.Spec.Clusters[name], "spec.clusters["+name+"]"
		if of.Weight < 0 {
			by.refuse(field+".weight", "it is negative")
		}
		if of.MinReplicas < 0 || of.MinReplicas > math.MaxInt32 {
			by.refuse(field+".minReplicas", "%d is no number of replicas", of.MinReplicas)
		}
		if of.MaxReplicas != nil && (*of.MaxReplicas < of.MinReplicas || *of.MaxReplicas > math.MaxInt32) {
			by.refuse(field+".maxReplicas", "%d is below minReplicas, or no number of replicas", *of.MaxReplicas)
		}
		if c.options.Plain && of.MinReplicas > 0 {
			by.refuse(field+".minReplicas", "only this hub has bounds of replicas; leave out --plain")
		}
		if c.options.Plain && of.MaxReplicas != nil {
			by.refuse(field+".maxReplicas", "only this hub has bounds of replicas; leave out --plain")
		}
	}
	return by.refused
}

// unequalled says what of a preference nothing here does.
func (c *converter) unequalled(by *item, p *replicaPreference) {
	by.tell("spec.totalReplicas", "the replicas of the template")
	if p.Spec.Rebalance {
		by.tell("spec.rebalance", "nothing moves replicas that cannot be scheduled away from a cluster by itself: use dynamicWeight in the policy, or a WorkloadRebalancer once")
	} else {
		by.tell("spec.rebalance", "the replicas are divided anew when they are scaled; what runs is not counted first, as it is there")
	}
}

// sharing is the division of the replicas of one object, on its way.
type sharing struct {
	converter  *converter
	item, by   *item
	preference *replicaPreference
	clusters   map[string]clusterPreference
	// own is what the object's selector picks, if the preference asks for that, and bound what
	// the namespace does.
	own, bound reach
}

// ask reads where the object may be at all. Of its own placement the preference respects only
// the selector: it is the preference that names clusters there.
func (s *sharing) ask(f *federated) {
	if s.preference.Spec.IntersectWithClusterSelector {
		s.by.tell("spec.intersectWithClusterSelector", "the policy has the object's selector too")
		s.own = reachOf(placement{ClusterSelector: f.Spec.Placement.ClusterSelector})
	}
	s.bound = s.converter.bounded(s.item, target{}, reach{})
}

// known says whether it can be told which clusters there are. It need not if all that matter are
// named.
func (s *sharing) known(named bool) bool {
	_, star := s.clusters[everyOther]
	named = (named || !star) && s.own.selector == nil && s.bound.selector == nil
	return named || len(s.converter.clusters) > 0
}

// members are the names of the ready clusters that KubeFed divides among, and all that are in the
// object's reach afterwards.
func (s *sharing) members() (among []string, within func(string) bool) {
	of := map[string]map[string]string{}
	for _, m := range s.converter.clusters {
		of[m.name] = m.labels
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
	return among, func(name string) bool { return s.bound.matches(name, of[name]) }
}

// freeze divides so that every cluster keeps what it has: what KubeFed wrote into the object, or
// else what it would come to.
func (s *sharing) freeze(f *federated, d differences, spec *policyv1alpha1.PropagationSpec, obj *unstructured.Unstructured) reach {
	shares := written(f, d)
	if len(shares) > 0 {
		s.own = reach{} // where it runs is where it is to run
	}
	switch {
	case !s.known(len(shares) > 0):
		s.by.refuse("spec.clusters", "nobody knows which clusters there are; add the KubeFedClusters to the files, or use --replicas=weights")
		s.item.refuse("", "its %s is refused", s.by.name)
		return reach{}
	case len(shares) > 0:
		s.by.tell("spec.clusters", "frozen as KubeFed divided last, in the overrides of the object")
	default:
		among, _ := s.members()
		shares = plan(int64(s.preference.Spec.TotalReplicas), among, s.by.key(), s.clusters)
		s.by.tell("spec.clusters", "frozen as KubeFed divides, if everything fits where it is to be")
	}
	_, within := s.members()
	maps.DeleteFunc(shares, func(name string, n int64) bool { return n < 1 || !within(name) })
	var total int64
	for _, n := range shares {
		total += n
	}
	switch {
	case len(shares) == 0:
		return reach{nowhere: true}
	case total > math.MaxInt32:
		s.by.refuse("spec.totalReplicas", "%d replicas run now, which is more than there can be", total)
		return reach{}
	case total != int64(s.preference.Spec.TotalReplicas):
		s.by.tell("spec.totalReplicas", "KubeFed places %d of %d replicas; the template has as many as it places", total, s.preference.Spec.TotalReplicas)
	}
	spec.Placement.ReplicaScheduling = byWeights(shares)
	spec.Placement.ReplicaScheduling.ReplicaBounds = s.frozenBounds(shares, int32(total))
	setReplicas(obj, total)
	return reach{names: slices.Sorted(maps.Keys(shares)), selector: merged(s.own.selector, s.bound.selector)}
}

// written is what KubeFed wrote into an object when it divided last: a number for each cluster
// that it placed the object in. Nothing if it did not.
func written(f *federated, d differences) map[string]int64 {
	if f.Spec.Placement.Clusters == nil {
		return nil
	}
	out := map[string]int64{}
	for _, ref := range *f.Spec.Placement.Clusters {
		n, ok := d.replicas[ref.Name]
		if !ok {
			return nil
		}
		out[ref.Name] = n
	}
	return out
}

// frozenBounds are the bounds of clusters, as far as what they have now is within.
func (s *sharing) frozenBounds(shares map[string]int64, total int32) []policyv1alpha1.ClusterReplicaBounds {
	var parties []division.Party
	var limits []division.Bounds
	var out []policyv1alpha1.ClusterReplicaBounds
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		of, named := s.clusters[name]
		if !named {
			of = s.clusters[everyOther]
		}
		b := boundsOf(policyv1alpha1.ClusterAffinity{ClusterNames: []string{name}}, of)
		limit := division.Bounds{Min: b.MinReplicas, Max: division.Unbounded}
		if b.MaxReplicas != nil {
			limit.Max = *b.MaxReplicas
		}
		parties, limits, out = append(parties, division.Party{Name: name, Weight: shares[name]}), append(limits, limit), append(out, b)
	}
	divided, _ := division.Bounded(total, parties, limits, false)
	if slices.ContainsFunc(divided, func(p division.Party) bool { return int64(p.Share) != shares[p.Name] }) {
		s.by.tell("spec.clusters", "what runs is not within the bounds of all clusters, which are widened to what runs; set them when that may move")
		for i := range out {
			has := int32(shares[out[i].TargetCluster.ClusterNames[0]])
			out[i].MinReplicas = min(out[i].MinReplicas, has)
			if out[i].MaxReplicas != nil {
				out[i].MaxReplicas = new(max(*out[i].MaxReplicas, has))
			}
		}
	}
	return slices.DeleteFunc(out, unbounded)
}

func boundsOf(affinity policyv1alpha1.ClusterAffinity, of clusterPreference) policyv1alpha1.ClusterReplicaBounds {
	b := policyv1alpha1.ClusterReplicaBounds{TargetCluster: affinity, MinReplicas: int32(of.MinReplicas)}
	if of.MaxReplicas != nil {
		b.MaxReplicas = new(int32(*of.MaxReplicas))
	}
	return b
}

func unbounded(b policyv1alpha1.ClusterReplicaBounds) bool {
	return b.MinReplicas == 0 && b.MaxReplicas == nil
}

// weights divides by the weights of the preference.
func (s *sharing) weights(spec *policyv1alpha1.PropagationSpec, obj *unstructured.Unstructured) reach {
	named := slices.DeleteFunc(slices.Sorted(maps.Keys(s.clusters)), func(name string) bool { return name == everyOther })
	where, list, bounds := reach{}, []policyv1alpha1.StaticClusterWeight{}, []policyv1alpha1.ClusterReplicaBounds{}
	add := func(name string, affinity policyv1alpha1.ClusterAffinity) bool {
		of := s.clusters[name]
		if of.Weight == 0 {
			if of.MinReplicas > 0 {
				s.by.refuse("spec.clusters["+name+"].minReplicas", "a cluster of weight 0 gets nothing here; give it a weight")
			}
			return false
		}
		list = append(list, policyv1alpha1.StaticClusterWeight{TargetCluster: affinity, Weight: of.Weight})
		if b := boundsOf(affinity, of); !unbounded(b) {
			bounds = append(bounds, b)
		}
		return true
	}
	var weighing []string
	for _, name := range named {
		if add(name, policyv1alpha1.ClusterAffinity{ClusterNames: []string{name}}) {
			weighing = append(weighing, name)
		} else {
			where.exclude = append(where.exclude, name)
		}
	}
	if _, star := s.clusters[everyOther]; !star || !add(everyOther, policyv1alpha1.ClusterAffinity{ExcludeClusters: named}) {
		where = reach{names: weighing, nowhere: len(weighing) == 0}
	}
	if len(list) == 0 {
		s.by.refuse("spec.clusters", "all weights are 0, so that KubeFed divides nothing; give a weight to the clusters that are meant")
	}
	if s.by.refused {
		s.item.refuse("", "its %s is refused", s.by.name)
		return reach{}
	}
	spec.Placement.ReplicaScheduling = weighted(list)
	spec.Placement.ReplicaScheduling.ReplicaBounds = slices.Clip(bounds)
	setReplicas(obj, int64(s.preference.Spec.TotalReplicas))
	s.compare()
	return where.and(s.own).and(s.bound)
}

// compare says which clusters have more or fewer replicas afterwards.
func (s *sharing) compare() {
	if !s.known(false) {
		s.by.tell("spec.clusters", "divided by the weights. Add the KubeFedClusters to the files to be told which clusters have more or fewer replicas afterwards")
		return
	}
	among, within := s.members()
	before := plan(int64(s.preference.Spec.TotalReplicas), among, s.by.key(), s.clusters)
	var parties []division.Party
	var limits []division.Bounds
	for _, name := range among {
		of, named := s.clusters[name]
		if !named {
			of = s.clusters[everyOther]
		}
		b := boundsOf(policyv1alpha1.ClusterAffinity{}, of)
		limit := division.Bounds{Min: b.MinReplicas, Max: division.Unbounded}
		if b.MaxReplicas != nil {
			limit.Max = *b.MaxReplicas
		}
		if within(name) {
			parties, limits = append(parties, division.Party{Name: name, Weight: of.Weight}), append(limits, limit)
		} else {
			delete(before, name)
		}
	}
	after, _ := division.Bounded(s.preference.Spec.TotalReplicas, parties, limits, false)
	var moves []string
	for _, p := range after {
		if was := before[p.Name]; was != int64(p.Share) {
			moves = append(moves, fmt.Sprintf("%s from %d to %d", p.Name, was, p.Share))
		}
	}
	if len(moves) == 0 {
		s.by.tell("spec.clusters", "divided by the weights, which comes to the same numbers; equal clusters may change places")
		return
	}
	s.by.tell("spec.clusters", "divided by the weights, which moves %s; equal clusters may change places", strings.Join(moves, ", "))
}

func setReplicas(obj *unstructured.Unstructured, n int64) {
	obj.Object["spec"].(map[string]any)["replicas"] = n //nolint:forcetypeassert // replicasOf read it
}
