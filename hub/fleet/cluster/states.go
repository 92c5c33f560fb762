package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/fleet/cluster/health"
)

// clusterStates is what this process knows of each Cluster beyond what is written down.
type clusterStates struct {
	sync.Mutex
	clusters map[string]clusterState
}

type clusterState struct {
	uid    types.UID
	health health.Memory
}

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

// settling says whether a Cluster was not believed at the last look.
func (s *clusterStates) settling(cluster *clusterv1alpha1.Cluster) bool {
	known := s.of(cluster)
	return known != nil && !known.Settled.IsZero()
}

func (s *clusterStates) keep(cluster *clusterv1alpha1.Cluster, memory health.Memory) {
	s.Lock()
	defer s.Unlock()
	s.clusters[cluster.Name] = clusterState{uid: cluster.UID, health: memory}
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
