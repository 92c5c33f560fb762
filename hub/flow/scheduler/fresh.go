package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/flow/scheduler/decide"
	"fairlead.dev/hub/flow/scheduler/hints"
)

// Scheduler answers questions of other stages about decisions.
type Scheduler struct {
	// namespaced places ResourceBindings, wide ClusterResourceBindings.
	namespaced, wide *reconciler
}

// CouldPlaceWithout returns whether a binding could be placed without some clusters. Other stages may call it once the manager has
// started.
func (s *Scheduler) CouldPlaceWithout(ctx context.Context, b kube.Binding, without []string) (bool, error) {
	return s.ask(ctx, b, func(in decide.Input) bool { return decide.CouldPlaceWithout(in, without) })
}

// WouldReturn returns whether a binding would be placed again in a cluster that it is leaving. Other stages may call it once the manager
// has started.
func (s *Scheduler) WouldReturn(ctx context.Context, b kube.Binding, to string) (bool, error) {
	if !hints.Responsible(b) {
		return false, nil // nobody would place it there again, and its copy would wait for ever
	}
	return s.ask(ctx, b, func(in decide.Input) bool { return decide.WouldReturn(in, to) })
}

// ask answers a question about the decision that would be made now. The answer is no for a binding without a placement.
func (s *Scheduler) ask(ctx context.Context, b kube.Binding, question func(decide.Input) bool) (bool, error) {
	if b.BindingSpec().Placement == nil {
		return false, nil
	}
	r := s.namespaced
	if b.GetNamespace() == "" {
		r = s.wide
	}
	in, err := r.gatherFresh(ctx, b)
	if err != nil {
		return false, fmt.Errorf("gathering what decides on %q: %w", b.GetName(), err)
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	in.Memo = &r.asked
	return question(in), nil
}

// gatherFresh gathers the input of a decision made now. It takes the clusters from the cache rather than from the snapshot: other stages
// may ask before the scheduler's handlers receive an event.
func (r *reconciler) gatherFresh(ctx context.Context, b kube.Binding) (decide.Input, error) {
	r.deciding.Lock()
	in, _, err := r.gather(ctx, b, r.clock.Now())
	r.deciding.Unlock()
	if err != nil {
		return in, err
	}
	in.Clusters, err = r.freshClusters(ctx)
	return in, err
}

// fresh is the last result of freshClusters. It is valid until the clusters in the cache or in the snapshot change.
type fresh struct {
	mu      sync.Mutex
	version string
	known   []*clusterv1alpha1.Cluster
	answer  []*clusterv1alpha1.Cluster
}

// freshClusters returns the clusters of the cache, sorted by name. Those that equal an object of the snapshot are that object, because what
// is memoized about a cluster is keyed by the object. When a region is lost, thousands of bindings ask: between two changes of clusters,
// all get the same result.
func (r *reconciler) freshClusters(ctx context.Context) ([]*clusterv1alpha1.Cluster, error) {
	r.fresh.mu.Lock()
	defer r.fresh.mu.Unlock()
	known := r.snapshot.Clusters()
	version, ok := kube.ClustersVersion(ctx, r.hubClient) // before listing: if the list is newer, the next caller lists again
	if ok && version == r.fresh.version && isSameSlice(known, r.fresh.known) {
		return r.fresh.answer, nil
	}
	answer, err := r.listClusters(ctx, known)
	if err != nil {
		return nil, err
	}
	r.fresh.version, r.fresh.known, r.fresh.answer = version, known, answer
	return answer, nil
}

// isSameSlice returns whether two snapshots are the same slice. Snapshots are immutable.
func isSameSlice(a, b []*clusterv1alpha1.Cluster) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// listClusters lists the clusters, reusing the objects of known, the snapshot.
func (r *reconciler) listClusters(ctx context.Context, known []*clusterv1alpha1.Cluster) ([]*clusterv1alpha1.Cluster, error) {
	now, err := kube.Clusters(ctx, r.hubClient)
	if err != nil {
		return nil, err
	}
	others := 0
	for i, c := range now {
		if at, found := searchCluster(known, c.Name); found && known[at].UID == c.UID && known[at].ResourceVersion == c.ResourceVersion {
			now[i] = known[at]
			continue
		}
		others++
	}
	if others == 0 && len(now) == len(known) {
		return known, nil
	}
	slices.SortFunc(now, func(a, b *clusterv1alpha1.Cluster) int { return strings.Compare(a.Name, b.Name) })
	return now, nil
}
