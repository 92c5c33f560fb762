package failover

import (
	"sync"
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/adjust/failover/evict"
)

// rateLimiter is an evict.RateLimiter for many goroutines, which knows who waits.
type rateLimiter struct {
	mu    sync.Mutex
	limit *evict.RateLimiter
	// waiting are the zones whose rate limit a binding waits for, by cluster.
	waiting map[string]map[string]string
}

func newRateLimiter(perSecond float64) *rateLimiter {
	return &rateLimiter{limit: evict.NewRateLimiter(perSecond), waiting: map[string]map[string]string{}}
}

// ask returns how long the rate limit of a zone makes a binding of a namespace wait before it leaves a
// cluster there; 0 is not at all.
func (l *rateLimiter) ask(zone, namespace, binding, cluster string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	wait := l.limit.Ask(zone, namespace, binding+"/"+cluster, now)
	if wait == 0 {
		delete(l.waiting[binding], cluster)
		return 0
	}
	if l.waiting[binding] == nil {
		l.waiting[binding] = map[string]string{}
	}
	l.waiting[binding][cluster] = zone
	return wait
}

// keep gives up the slots of a binding but those for these clusters: others need not wait
// for one that stays where it is.
func (l *rateLimiter) keep(binding string, clusters map[string]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for cluster, zone := range l.waiting[binding] {
		if _, ok := clusters[cluster]; !ok {
			l.limit.Forget(zone, binding+"/"+cluster)
			delete(l.waiting[binding], cluster)
		}
	}
	if len(l.waiting[binding]) == 0 {
		delete(l.waiting, binding)
	}
}

// zoneOf is what fails together: the region of a cluster.
func zoneOf(c *clusterv1alpha1.Cluster) string {
	if c == nil {
		return ""
	}
	return c.Spec.Provider + "/" + c.Spec.Region
}
