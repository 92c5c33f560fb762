package failover

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

const (
	// listFor is how long a live list of the Clusters is reused. It is then no older than the first page of a list of
	// one's own would be, and a hub that just became leader has no list yet.
	listFor = time.Second
	// perPage is the page size of that list.
	perPage = 200
)

// liveList is the latest live list of all Clusters. When a cluster goes, all applications that were everywhere leave it
// at once, and need the state of the others: they share one list.
type liveList struct {
	hubReader client.Reader
	clock     clock.PassiveClock

	mu       sync.Mutex
	read     time.Time
	clusters map[string]*clusterv1alpha1.Cluster
}

// get returns what asSeen compares of every Cluster, at most listFor old. Concurrent callers share one list.
func (l *liveList) get(ctx context.Context) (map[string]*clusterv1alpha1.Cluster, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := l.clock.Since(l.read); l.clusters != nil && age >= 0 && age < listFor {
		return l.clusters, nil
	}
	clusters := map[string]*clusterv1alpha1.Cluster{}
	for next, more := "", true; more; more = next != "" {
		var list clusterv1alpha1.ClusterList
		if err := l.hubReader.List(ctx, &list, client.Limit(perPage), client.Continue(next)); err != nil {
			return nil, fmt.Errorf("listing clusters: %w", err)
		}
		for i := range list.Items {
			clusters[list.Items[i].Name] = compared(&list.Items[i])
		}
		next = list.Continue
	}
	l.read, l.clusters = l.clock.Now(), clusters
	return clusters, nil
}

// forget drops the list, because the cache disagrees with it.
func (l *liveList) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clusters = nil
}

// compared returns the parts of a Cluster that asSeen compares, since the full reports of thousands of clusters are
// large.
func compared(live *clusterv1alpha1.Cluster) *clusterv1alpha1.Cluster {
	out := &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: live.Name, UID: live.UID, DeletionTimestamp: live.DeletionTimestamp},
	}
	out.Spec.Taints = live.Spec.Taints
	for i := range live.Status.Conditions {
		if c := &live.Status.Conditions[i]; c.Type == clusterv1alpha1.ClusterReady {
			out.Status.Conditions = []metav1.Condition{{Type: c.Type, Status: c.Status}}
		}
	}
	return out
}
