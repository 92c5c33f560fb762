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
	// listFor is for how long a live list of the Clusters serves once it is read. Whoever lists them himself sees the first page no
	// later, and a hub that has just begun to work has not listed anything yet.
	listFor = time.Second
	// perPage is how many Clusters a page of that list has.
	perPage = 200
)

// liveList is all Clusters as the API showed them last. When a cluster goes, all applications that were everywhere leave it at
// once, and ask for the others: they share a list.
type liveList struct {
	hubReader client.Reader
	clock     clock.PassiveClock

	mu       sync.Mutex
	read     time.Time
	clusters map[string]*clusterv1alpha1.Cluster
}

// get returns what asSeen compares of every Cluster, no older than listFor; whoever asks at the same time waits for one list.
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

// forget has the next one who asks list anew: the cache shows something else than this list.
func (l *liveList) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clusters = nil
}

// compared returns of a Cluster what asSeen compares: a report of thousands of them is large.
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
