package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/fleet/cluster/health"
)

// clusterStates holds what this process remembers of each Cluster in addition to its status.
type clusterStates struct {
	sync.Mutex
	clusters map[string]clusterState
}

type clusterState struct {
	uid    types.UID
	health health.Memory
	last   lastRecord
}

// lastRecord identifies the state of a Cluster and of the policies for which there was nothing to write.
type lastRecord struct {
	// version of the Cluster, and versions of the ClusterTaintPolicies.
	version, policies string
	at                time.Time
}

// recordAgain is the time after which a Cluster is reconciled completely although nothing changed: its capacity baseline changes with time.
const recordAgain = 10 * time.Minute

func newClusterStates() *clusterStates {
	return &clusterStates{clusters: map[string]clusterState{}}
}

// of returns the state of a Cluster; nil if there is none, or only one of an earlier Cluster of the same name.
func (s *clusterStates) of(cluster *clusterv1alpha1.Cluster) *health.Memory {
	s.Lock()
	defer s.Unlock()
	known, ok := s.clusters[cluster.Name]
	if !ok || known.uid != cluster.UID {
		return nil
	}
	return &known.health
}

// isSettling says whether the last decision about a Cluster was that it is still settling.
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

// recorded notes that there was nothing to write about a Cluster in its present state.
func (s *clusterStates) recorded(cluster *clusterv1alpha1.Cluster, policies string, now time.Time) {
	s.Lock()
	defer s.Unlock()
	if known, ok := s.clusters[cluster.Name]; ok && known.uid == cluster.UID {
		known.last = lastRecord{version: cluster.ResourceVersion, policies: policies, at: now}
		s.clusters[cluster.Name] = known
	}
}

// recordedLately says whether, for this version of a Cluster and of the policies, there was nothing to write a short time ago.
func (s *clusterStates) recordedLately(cluster *clusterv1alpha1.Cluster, policies string, now time.Time) bool {
	s.Lock()
	defer s.Unlock()
	known, ok := s.clusters[cluster.Name]
	return ok && known.uid == cluster.UID && known.last.version == cluster.ResourceVersion && cluster.ResourceVersion != "" &&
		known.last.policies == policies && now.Sub(known.last.at) < recordAgain
}

// startOver starts a new grace period.
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
