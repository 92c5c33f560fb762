package failover

import (
	"sync"
	"time"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/hub/adjust/failover/evict"
)

// rateLimiter makes an evict.RateLimiter safe for concurrent use, and records who waits.
type rateLimiter struct {
	mu    sync.Mutex
	limit *evict.RateLimiter
	// waiting has, by binding and cluster, the zone whose rate limit the binding waits for.
	waiting map[string]map[string]string
}

func newRateLimiter(perSecond float64) *rateLimiter {
	return &rateLimiter{limit: evict.NewRateLimiter(perSecond), waiting: map[string]map[string]string{}}
}

// ask returns how long the rate limit of a zone makes a binding of a namespace wait before it leaves a cluster there; 0
// means not at all.
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

// keep gives up the slots of a binding except for these clusters: others need not wait for an application that stays.
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

// zoneOf returns the failure zone of a cluster: its provider and region.
func zoneOf(c *clusterv1alpha1.Cluster) string {
	if c == nil {
		return ""
	}
	return c.Spec.Provider + "/" + c.Spec.Region
}
