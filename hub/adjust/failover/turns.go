package failover

import (
	"sync"
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/adjust/failover/evict"
)

// turns is the pace, for many goroutines.
type turns struct {
	mu   sync.Mutex
	pace *evict.RateLimiter
	// waiting are the zones in which a binding waits for its turn, by cluster.
	waiting map[string]map[string]string
}

func newTurns(perSecond float64) *turns {
	return &turns{pace: evict.NewRateLimiter(perSecond), waiting: map[string]map[string]string{}}
}

// ask returns after how long it is the turn of a binding to leave a cluster in a zone; 0 is
// now.
func (t *turns) ask(zone, binding, cluster string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.pace.Ask(zone, binding+"/"+cluster, now)
	if wait == 0 {
		delete(t.waiting[binding], cluster)
		return 0
	}
	if t.waiting[binding] == nil {
		t.waiting[binding] = map[string]string{}
	}
	t.waiting[binding][cluster] = zone
	return wait
}

// keep gives up the turns of a binding but those for these clusters: others need not wait
// for one that stays where it is.
func (t *turns) keep(binding string, clusters map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for cluster, zone := range t.waiting[binding] {
		if _, ok := clusters[cluster]; !ok {
			t.pace.Forget(zone, binding+"/"+cluster)
			delete(t.waiting[binding], cluster)
		}
	}
	if len(t.waiting[binding]) == 0 {
		delete(t.waiting, binding)
	}
}

// zoneOf is what fails together: the region of a cluster.
func zoneOf(c *clusterv1alpha1.Cluster) string {
	if c == nil {
		return ""
	}
	return c.Spec.Provider + "/" + c.Spec.Region
}
