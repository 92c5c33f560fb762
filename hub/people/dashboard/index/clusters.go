package index

import (
	"cmp"
	"maps"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/people/view/applications"
	"fairlead.dev/hub/people/view/clusters"
)

// PutCluster takes a Cluster that is new or changed.
func (x *Index) PutCluster(c *clusterv1alpha1.Cluster, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if old := x.clusters[c.Name]; old != nil {
		was, is := clusters.Of(clusters.Input{Cluster: old, Now: now}), clusters.Of(clusters.Input{Cluster: c, Now: now})
		if was.State != is.State {
			x.changes.add(Change{At: now, Cluster: c.Name, From: string(was.State), To: string(is.State), Why: is.Why})
		}
	}
	x.clusters[c.Name] = c
	heard, known := applications.FreshnessOf(c), false
	if old, ok := x.heard[c.Name]; ok {
		known = old == heard
	}
	x.heard[c.Name] = heard
	if !known {
		x.rebuildCluster(c.Name, now)
	}
}

// DropCluster takes note that a Cluster is gone.
func (x *Index) DropCluster(name string, now time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.clusters[name] != nil {
		x.changes.add(Change{At: now, Cluster: name, To: Gone})
	}
	delete(x.clusters, name)
	delete(x.heard, name)
	x.rebuildCluster(name, now)
}

// rebuildCluster makes anew what is in a cluster, since what it reported is believed otherwise.
func (x *Index) rebuildCluster(cluster string, now time.Time) {
	for key := range x.at[cluster] {
		x.put(key, x.bindings[key], now)
	}
}

// PutLease takes the lease of an agent, which is named as its cluster; nil drops it.
func (x *Index) PutLease(name string, lease *coordinationv1.Lease) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if lease == nil {
		delete(x.leases, name)
		return
	}
	x.leases[name] = lease
}

// ClusterDetails says what is told of a cluster beside what is on its Cluster.
type ClusterDetails struct {
	// Leases are the leases of the agents, Works what was sent to it.
	Leases, Works bool
}

// Clusters returns all clusters by name, as they are at this time.
func (x *Index) Clusters(now time.Time, with ClusterDetails) []clusters.Cluster {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := make([]clusters.Cluster, 0, len(x.clusters))
	for name := range x.clusters {
		out = append(out, x.cluster(name, now, with))
	}
	slices.SortFunc(out, func(a, b clusters.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// ClusterNames returns the names of all clusters in order.
func (x *Index) ClusterNames() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.clusters))
}

// Cluster returns one as it is at this time; false if there is none of the name.
func (x *Index) Cluster(name string, now time.Time, with ClusterDetails) (clusters.Cluster, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.clusters[name] == nil {
		return clusters.Cluster{}, false
	}
	return x.cluster(name, now, with), true
}

func (x *Index) cluster(name string, now time.Time, with ClusterDetails) clusters.Cluster {
	in := clusters.Input{Cluster: x.clusters[name], Now: now}
	if with.Leases {
		in.Lease = x.leases[name]
	}
	if with.Works {
		in.Works = &clusters.Works{}
		if n := x.works[name]; n != nil {
			*in.Works = *n
		}
	}
	return clusters.Of(in)
}
