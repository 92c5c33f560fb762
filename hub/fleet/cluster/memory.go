package cluster

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/fleet/cluster/health"
)

// memories is what this process knows of each Cluster beyond what is written down.
type memories struct {
	sync.Mutex
	clusters map[string]remembered
	// policies are those that cannot be acted on, with the generation that was told of.
	policies map[types.UID]int64
}

type remembered struct {
	uid    types.UID
	health health.Memory
	// complained is what was last said about a removal that does not get on.
	complained waiting
}

func newMemories() *memories {
	return &memories{clusters: map[string]remembered{}, policies: map[types.UID]int64{}}
}

// of returns what is known; nil if nothing is, of this Cluster and not of an earlier
// one of the name.
func (m *memories) of(cluster *clusterv1alpha1.Cluster) *health.Memory {
	m.Lock()
	defer m.Unlock()
	known, ok := m.clusters[cluster.Name]
	if !ok || known.uid != cluster.UID {
		return nil
	}
	return &known.health
}

// settling says whether a Cluster was not believed at the last look.
func (m *memories) settling(cluster *clusterv1alpha1.Cluster) bool {
	known := m.of(cluster)
	return known != nil && !known.Settled.IsZero()
}

func (m *memories) keep(cluster *clusterv1alpha1.Cluster, memory health.Memory) {
	m.Lock()
	defer m.Unlock()
	known := m.clusters[cluster.Name]
	if known.uid != cluster.UID {
		known = remembered{uid: cluster.UID}
	}
	known.health = memory
	m.clusters[cluster.Name] = known
}

// startOver begins a new grace period.
func (m *memories) startOver(cluster *clusterv1alpha1.Cluster, now time.Time) {
	m.Lock()
	defer m.Unlock()
	if known, ok := m.clusters[cluster.Name]; ok && known.uid == cluster.UID {
		known.health.Heard, known.health.Due = now, time.Time{}
		m.clusters[cluster.Name] = known
	}
}

// complain reports whether this was not the last thing said about the Cluster.
func (m *memories) complain(cluster *clusterv1alpha1.Cluster, what waiting) bool {
	m.Lock()
	defer m.Unlock()
	known := m.clusters[cluster.Name]
	if known.complained == what {
		return false
	}
	known.complained = what
	m.clusters[cluster.Name] = known
	return true
}

// complainOf reports whether nothing was said of this generation of a policy.
func (m *memories) complainOf(policy types.UID, generation int64) bool {
	m.Lock()
	defer m.Unlock()
	if m.policies[policy] == generation {
		return false
	}
	m.policies[policy] = generation
	return true
}

func (m *memories) forget(name string) {
	m.Lock()
	defer m.Unlock()
	delete(m.clusters, name)
}
