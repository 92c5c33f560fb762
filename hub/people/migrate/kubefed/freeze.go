package kubefed

import (
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	"fairlead.dev/common/division"
)

// keepShares divides replicas so that every cluster keeps what it has: what KubeFed wrote into the object, or else what
// KubeFed would compute.
func (s *replicaDivision) keepShares(f *federated, d differences, spec *policyv1alpha1.PropagationSpec, obj *unstructured.Unstructured) reach {
	shares := written(f, d)
	if len(shares) > 0 {
		s.own = reach{} // it stays exactly where it runs
	}
	switch {
	case !s.known(len(shares) > 0):
		s.by.refuse("spec.clusters", "the clusters are unknown; add the KubeFedClusters to the files, or use --replicas=weights")
		s.item.refuse("", "its %s is refused", s.by.name)
		return reach{}
	case len(shares) > 0:
		s.by.tell("spec.clusters", "frozen as KubeFed last divided them, in the overrides of the object")
	default:
		among, _ := s.members()
		shares = plan(int64(s.preference.Spec.TotalReplicas), among, s.by.key(), s.clusters)
		_, star := s.clusters[everyOther]
		for _, name := range among {
			if _, named := s.clusters[name]; named || star {
				shares[name] += 0 // it is known to have none
			}
		}
		s.by.tell("spec.clusters", "frozen as KubeFed would divide them if all replicas fit")
	}
	_, within := s.members()
	s.without(shares, within)
	maps.DeleteFunc(shares, func(name string, n int64) bool { return n < 1 || !within(name) })
	var total int64
	for _, n := range shares {
		total += n
	}
	switch {
	case len(shares) == 0:
		return reach{nowhere: true}
	case total > math.MaxInt32:
		s.by.refuse("spec.totalReplicas", "%d replicas run now, which is more than an object can have", total)
		s.item.refuse("", "its %s is refused", s.by.name)
		return reach{}
	case total != int64(s.preference.Spec.TotalReplicas):
		s.by.tell("spec.totalReplicas", "KubeFed places %d of %d replicas; the template gets the number that is placed", total, s.preference.Spec.TotalReplicas)
	}
	spec.Placement.ReplicaScheduling = byWeights(shares)
	spec.Placement.ReplicaScheduling.ReplicaBounds = s.frozenBounds(shares, int32(total))
	setReplicas(obj, total)
	return reach{names: slices.Sorted(maps.Keys(shares)), selector: merged(s.own.selector, s.bound.selector)}
}

// without reports the clusters that have no share, so that the policy does not name them.
func (s *replicaDivision) without(shares map[string]int64, within func(string) bool) {
	var none []string
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		if shares[name] < 1 && within(name) {
			none = append(none, name)
		}
	}
	if len(none) > 0 {
		s.by.tell("spec.clusters", "%s gets no replicas, and the policy does not name it; the object stays there as it is, and is not managed", strings.Join(none, ", "))
	}
}

// written returns the replicas by cluster that KubeFed wrote into an object when it last divided them; none if it never
// did.
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

// frozenBounds returns the bounds of clusters that their present replicas are within.
func (s *replicaDivision) frozenBounds(shares map[string]int64, total int32) []policyv1alpha1.ClusterReplicaBounds {
	var parties []division.Party
	var limits []division.Bounds
	var out []policyv1alpha1.ClusterReplicaBounds
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		preference, named := s.clusters[name]
		if !named {
			preference = s.clusters[everyOther]
		}
		b := boundsOf(policyv1alpha1.ClusterAffinity{ClusterNames: []string{name}}, preference)
		limit := division.Bounds{Min: b.MinReplicas, Max: division.Unbounded}
		if b.MaxReplicas != nil {
			limit.Max = *b.MaxReplicas
		}
		parties, limits, out = append(parties, division.Party{Name: name, Weight: shares[name]}), append(limits, limit), append(out, b)
	}
	divided, _ := division.Bounded(total, parties, limits, false)
	if slices.ContainsFunc(divided, func(p division.Party) bool { return int64(p.Share) != shares[p.Name] }) {
		s.by.tell("spec.clusters", "the running replicas are not within the bounds of all clusters, so the bounds are widened; set them again when replicas may move")
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
