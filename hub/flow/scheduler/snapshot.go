package scheduler

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// snapshot keeps the clusters as decisions read them: sorted by name, brought up to date one
// cluster at a time, and never changed under a reader.
type snapshot struct {
	mu      sync.Mutex
	current atomic.Pointer[[]*clusterv1alpha1.Cluster]
}

// Clusters returns all clusters by name. Neither the slice nor what is in it changes
// any more, and nobody may change it: it costs nothing to read.
func (s *snapshot) Clusters() []*clusterv1alpha1.Cluster {
	if list := s.current.Load(); list != nil {
		return *list
	}
	return nil
}

// Set adds a cluster, or puts it in the place of what it was. The snapshot keeps it.
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

// Remove takes a cluster out.
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
