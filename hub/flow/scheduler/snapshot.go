package scheduler

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// snapshot holds the clusters for decisions, sorted by name. It is updated one cluster at a time by copying, so that readers need no lock.
type snapshot struct {
	mu      sync.Mutex
	current atomic.Pointer[[]*clusterv1alpha1.Cluster]
}

// Clusters returns all clusters, sorted by name. The slice and its objects never change, and callers must not modify them.
func (s *snapshot) Clusters() []*clusterv1alpha1.Cluster {
	if list := s.current.Load(); list != nil {
		return *list
	}
	return nil
}

// Set adds or replaces a cluster. The snapshot keeps the object, which the caller must not modify afterwards.
func (s *snapshot) Set(c *clusterv1alpha1.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.Clusters()
	i, found := searchCluster(before, c.Name)
	after := slices.Clone(before)
	if found {
		after[i] = c
	} else {
		after = slices.Insert(after, i, c)
	}
	s.current.Store(&after)
}

// Remove removes a cluster.
func (s *snapshot) Remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.Clusters()
	i, found := searchCluster(before, name)
	if !found {
		return
	}
	after := slices.Delete(slices.Clone(before), i, i+1)
	s.current.Store(&after)
}

func searchCluster(list []*clusterv1alpha1.Cluster, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(c *clusterv1alpha1.Cluster, name string) int {
		return strings.Compare(c.Name, name)
	})
}
