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

// PutCluster adds or updates a Cluster.
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

// DropCluster removes a Cluster.
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

// rebuildCluster updates the applications in a cluster: whether their status there counts has changed.
func (x *Index) rebuildCluster(cluster string, now time.Time) {
	for key := range x.at[cluster] {
		x.put(key, x.bindings[key], now)
	}
}

// PutLease sets the lease of an agent, which has the name of its cluster; nil removes it.
func (x *Index) PutLease(name string, lease *coordinationv1.Lease) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if lease == nil {
		delete(x.leases, name)
		return
	}
	x.leases[name] = lease
}

// ClusterDetails selects details of clusters beyond those of the Cluster object.
type ClusterDetails struct {
	// Leases selects the agents' heartbeats, and Works the counts of deliveries.
	Leases, Works bool
}

// Clusters returns all clusters at this time, sorted by name.
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

// ClusterNames returns the sorted names of all clusters.
func (x *Index) ClusterNames() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Sorted(maps.Keys(x.clusters))
}

// Cluster returns a cluster at this time; false if there is none.
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
