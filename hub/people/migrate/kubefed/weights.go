package kubefed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/division"
)

// weights divides by the weights of the preference.
func (s *replicaDivision) weights(spec *policyv1alpha1.PropagationSpec, obj *unstructured.Unstructured) reach {
	named := slices.DeleteFunc(slices.Sorted(maps.Keys(s.clusters)), func(name string) bool { return name == everyOther })
	where, list, bounds := reach{}, []policyv1alpha1.StaticClusterWeight{}, []policyv1alpha1.ClusterReplicaBounds{}
	add := func(name string, affinity policyv1alpha1.ClusterAffinity) bool {
		preference := s.clusters[name]
		if preference.Weight == 0 {
			if preference.MinReplicas > 0 {
				s.by.refuse("spec.clusters["+name+"].minReplicas", "a cluster of weight 0 gets nothing here; give it a weight")
			}
			return false
		}
		list = append(list, policyv1alpha1.StaticClusterWeight{TargetCluster: affinity, Weight: preference.Weight})
		if b := boundsOf(affinity, preference); !unbounded(b) {
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
		s.by.refuse("spec.clusters", "all weights are 0, so KubeFed divides nothing; give a weight to the clusters that should get replicas")
	}
	if s.by.refused {
		s.item.refuse("", "its %s is refused", s.by.name)
		return reach{}
	}
	spec.Placement.ReplicaScheduling = weighted(list)
	spec.Placement.ReplicaScheduling.ReplicaBounds = slices.Clip(bounds)
	setReplicas(obj, int64(s.preference.Spec.TotalReplicas))
	s.compare()
	where = where.and(s.own).and(s.bound)
	if len(where.names) == 0 && !where.nowhere {
		s.by.tell("spec.clusters[*]", "the policy names no clusters. --apply refuses it while a cluster that it matches is not Ready, but does not know which ones have "+
			"not joined at all: until they do, their replicas go to the others. Apply when `hub clusters` shows all of them")
	}
	return where
}

// compare reports which clusters will have more or fewer replicas.
func (s *replicaDivision) compare() {
	if !s.known(false) {
		s.by.tell("spec.clusters", "divided by the weights. Add the KubeFedClusters to the files to be told which clusters have more or fewer replicas afterwards")
		return
	}
	among, within := s.members()
	before := plan(int64(s.preference.Spec.TotalReplicas), among, s.by.key(), s.clusters)
	var parties []division.Party
	var limits []division.Bounds
	for _, name := range among {
		preference, named := s.clusters[name]
		if !named {
			preference = s.clusters[everyOther]
		}
		b := boundsOf(policyv1alpha1.ClusterAffinity{}, preference)
		limit := division.Bounds{Min: b.MinReplicas, Max: division.Unbounded}
		if b.MaxReplicas != nil {
			limit.Max = *b.MaxReplicas
		}
		if within(name) {
			parties, limits = append(parties, division.Party{Name: name, Weight: preference.Weight}), append(limits, limit)
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
		s.by.tell("spec.clusters", "divided by the weights, with the same result; equal clusters may change places")
		return
	}
	s.by.tell("spec.clusters", "divided by the weights, which moves %s; equal clusters may change places", strings.Join(moves, ", "))
}

func setReplicas(obj *unstructured.Unstructured, n int64) {
	if spec, ok := obj.Object["spec"].(map[string]any); ok { // replicasOf created it if it was missing
		spec["replicas"] = n
	}
}

func boundsOf(affinity policyv1alpha1.ClusterAffinity, preference clusterPreference) policyv1alpha1.ClusterReplicaBounds {
	b := policyv1alpha1.ClusterReplicaBounds{TargetCluster: affinity, MinReplicas: int32(preference.MinReplicas)}
	if preference.MaxReplicas != nil {
		b.MaxReplicas = new(int32(*preference.MaxReplicas))
	}
	return b
}

func unbounded(b policyv1alpha1.ClusterReplicaBounds) bool {
	return b.MinReplicas == 0 && b.MaxReplicas == nil
}
