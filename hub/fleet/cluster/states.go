package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/fleet/cluster/health"
)

// clusterStates holds the state of each Cluster that this process keeps in memory, beyond the Cluster's own status.
type clusterStates struct {
	sync.Mutex
	clusters map[string]clusterState
}

type clusterState struct {
	uid    types.UID
	health health.Memory
	last   lastRecord
}

// lastRecord is by what was found last that there is nothing to write about a Cluster.
type lastRecord struct {
	// version of the Cluster, and those of the ClusterTaintPolicies.
	version, policies string
	at                time.Time
}

// recordAgain is after which time a Cluster is looked at as a whole though nothing changed: what is usual of
// its capacity changes with the days.
const recordAgain = 10 * time.Minute

func newClusterStates() *clusterStates {
	return &clusterStates{clusters: map[string]clusterState{}}
}

// of returns what is known; nil if nothing is, of this Cluster and not of an earlier
// one of the name.
func (s *clusterStates) of(cluster *clusterv1alpha1.Cluster) *health.Memory {
	s.Lock()
	defer s.Unlock()
	known, ok := s.clusters[cluster.Name]
	if !ok || known.uid != cluster.UID {
		return nil
	}
	return &known.health
}

// isSettling says whether a Cluster was not believed at the last look.
func (s *clusterStates) isSettling(cluster *clusterv1alpha1.Cluster) bool {
	known := s.of(cluster)
	return known != nil && !known.Settled.IsZero()
}

func (s *clusterStates) keep(cluster *clusterv1alpha1.Cluster, memory health.Memory) {
	s.Lock()
	defer s.Unlock()
	known := s.clusters[cluster.Name]
	if known.uid != cluster.UID {
		known = clusterState{uid: cluster.UID}
	}
	known.health = memory
	s.clusters[cluster.Name] = known
}

// recorded remembers that there was nothing to write about a Cluster as it is.
func (s *clusterStates) recorded(cluster *clusterv1alpha1.Cluster, policies string, now time.Time) {
	s.Lock()
	defer s.Unlock()
	if known, ok := s.clusters[cluster.Name]; ok && known.uid == cluster.UID {
		known.last = lastRecord{version: cluster.ResourceVersion, policies: policies, at: now}
		s.clusters[cluster.Name] = known
	}
}

// recordedLately says whether there was nothing to write about this version of a Cluster by these policies.
func (s *clusterStates) recordedLately(cluster *clusterv1alpha1.Cluster, policies string, now time.Time) bool {
	s.Lock()
	defer s.Unlock()
	known, ok := s.clusters[cluster.Name]
	return ok && known.uid == cluster.UID && known.last.version == cluster.ResourceVersion && cluster.ResourceVersion != "" &&
		known.last.policies == policies && now.Sub(known.last.at) < recordAgain
}

// startOver begins a new grace period.
func (s *clusterStates) startOver(cluster *clusterv1alpha1.Cluster, now time.Time) {
	s.Lock()
	defer s.Unlock()
	if known, ok := s.clusters[cluster.Name]; ok && known.uid == cluster.UID {
		known.health.Heard, known.health.Due = now, time.Time{}
		s.clusters[cluster.Name] = known
	}
}

func (s *clusterStates) forget(name string) {
	s.Lock()
	defer s.Unlock()
	delete(s.clusters, name)
}
